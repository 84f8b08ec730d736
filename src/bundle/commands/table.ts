import { printable, printableLines } from "../../core/text.ts";
import type { Member } from "../bundle.ts";

/** Uncompressed bytes that the platform takes of a Worker: https://developers.cloudflare.com/workers/platform/limits/#worker-size */
export const WORKER_BYTES = 64 * 1024 * 1024;

export const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(bytes < 102_400 ? 1 : 0)} KB`;
const percent = (bytes: number, of: number) => `${((100 * bytes) / of).toFixed(1)} %`;

const isRestored = ({ manifest }: Member["found"], { unrestorable }: Member["prepared"]) =>
  unrestorable === undefined && manifest.isolation !== "fresh";

/** Bytes of what is bundled for this servlet alone: servlets in TypeScript share the engine. */
export const preparedBytes = ({ source }: Member["found"], { patch, wasm }: Member["prepared"]) =>
  (patch?.bytes.length ?? 0) + (source.kind === "typescript" ? 0 : wasm.length);

/** The table of the bundle for the terminal. */
export function table(members: readonly Member[]): string {
  const count = (list: unknown[] | undefined) => (list === undefined ? "?" : String(list.length));
  const rows = members.map(({ found, dialect, prepared, size, lists }) => [
    printable(found.name),
    dialect,
    count(lists?.tools),
    count(lists && [...lists.resources, ...lists.resourceTemplates]),
    count(lists?.prompts),
    isRestored(found, prepared) ? "restored" : "new",
    kilobytes(size.before),
    kilobytes(preparedBytes(found, prepared)),
    kilobytes(size.gzip),
  ]);
  const head = [
    "servlet",
    "dialect",
    "tools",
    "resources",
    "prompts",
    "instance",
    "wasm",
    "prepared",
    "gzip",
  ];
  const widths = head.map((title, at) =>
    Math.max(...[head, ...rows].map((row) => row[at]!.length), title.length),
  );
  const line = (row: string[]) =>
    row
      .map((cell, at) => (at < 2 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join("  ")
      .trimEnd();
  // Servlets share some: an engine, its base.
  const files = new Map(
    members.flatMap(({ prepared: { path, wasm, base, patch }, archives }) =>
      [{ path, bytes: wasm }, base, patch, ...archives]
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
    line(head),
    ...rows.map(line),
    "",
    `${members.length} ${members.length === 1 ? "servlet" : "servlets"}, ${kilobytes(bytes)} with what they share: ${percent(bytes, WORKER_BYTES)} of what a Worker may have`,
    ...warnings,
  ].join("\n");
}
