import type { Lists } from "../../server/kernel/core/model.ts";
import { printable, printableLines } from "../../server/kernel/core/text.ts";
import { isForModels } from "../../server/kernel/core/views.ts";
import { tokensOf } from "../../server/kernel/servlets/concerns.ts";
import { catalogOf, type Member } from "../bundle/bundle.ts";
import { isInterpreted } from "../bundle/source.ts";

/**
 * Limits of the platform in November 2026: uncompressed bytes of a Worker, and CPU time of a request on the free plan.
 * https://developers.cloudflare.com/workers/platform/limits/
 */
export const WORKER_BYTES = 64 * 1024 * 1024;
export const FREE_CPU_MS = 10;

export const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(bytes < 102_400 ? 1 : 0)} KB`;
const percent = (bytes: number, of: number) => `${((100 * bytes) / of).toFixed(1)} %`;

const isRestored = ({ manifest }: Member["found"], { unrestorable }: Member["prepared"]) =>
  unrestorable === undefined && manifest.isolation !== "fresh";

/** Bytes that are bundled for this servlet alone, without an interpreter, which its servlets share. */
export const preparedBytes = ({ source }: Member["found"], { patch, wasm }: Member["prepared"]) =>
  (patch?.bytes.length ?? 0) + (isInterpreted(source) ? 0 : wasm.length);

/**
 * An estimate of the tokens that the tools of these lists, as clients see them, add to a conversation; Infinity if a
 * schema is too large.
 */
export const tokensOfTools = ({ tools }: Lists): number =>
  tools.filter(isForModels).reduce((sum, tool) => sum + (tokensOf(tool) ?? Infinity), 0);

const HEAD = "servlet dialect tools tokens resources prompts instance wasm prepared gzip".split(
  " ",
);

/** Rows as lines with aligned columns: the first `left` columns to the left, the others to the right. */
export function aligned(rows: readonly string[][], left = Infinity): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at < left ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join("  ")
      .trimEnd(),
  );
}

/** The table of the bundle for the terminal. */
export function table(members: readonly Member[]): string {
  const count = (list: unknown[] | undefined) => (list === undefined ? "?" : String(list.length));
  const rows = members.map((member) => {
    const { found, dialect, prepared, size, lists } = member;
    return [
      printable(found.name),
      dialect,
      count(lists?.tools),
      lists === undefined ? "?" : String(tokensOfTools(catalogOf([member]).lists)),
      count(lists && [...lists.resources, ...lists.resourceTemplates]),
      count(lists?.prompts),
      isRestored(found, prepared) ? "restored" : "new",
      kilobytes(size.before),
      kilobytes(preparedBytes(found, prepared)),
      kilobytes(size.gzip),
    ];
  });
  // Count a shared file once, such as an interpreter.
  const files = new Map(
    members.flatMap(
      ({ prepared: { path, wasm, base, packages, patch }, archives, views, skills }) =>
        [{ path, bytes: wasm }, base, packages, patch, skills, ...archives, ...views]
          .filter((file) => file !== undefined)
          .map((file) => [file.path, file.bytes.length]),
    ),
  );
  const bytes = [...files.values()].reduce((sum, one) => sum + one, 0);
  const warnings = members.flatMap(({ found, warnings: own }) =>
    own.map((one) => printableLines(`warning: ${found.name}: ${one}`)),
  );
  return [
    "",
    ...aligned([HEAD, ...rows], 2),
    "",
    `${members.length} ${members.length === 1 ? "servlet" : "servlets"}, ${kilobytes(bytes)} with what they share: ${percent(bytes, WORKER_BYTES)} of what a Worker may have`,
    ...warnings,
  ].join("\n");
}
