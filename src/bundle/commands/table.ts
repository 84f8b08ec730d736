import { printable, printableLines } from "../../text.ts";
import type { Member } from "../bundle.ts";

/** Compressed script sizes that the platform takes: https://developers.cloudflare.com/workers/platform/limits/#worker-size */
const FREE_BYTES = 3 * 1024 * 1024;
const PAID_BYTES = 10 * 1024 * 1024;

export const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(bytes < 102_400 ? 1 : 0)} KB`;
const percent = (bytes: number, of: number) => `${((100 * bytes) / of).toFixed(1)} %`;

const isRestored = ({ manifest }: Member["found"], { unrestorable }: Member["prepared"]) =>
  unrestorable === undefined && manifest.isolation !== "fresh";

/** Bytes of what is bundled for this servlet alone: servlets in TypeScript share the engine. */
const preparedBytes = ({ source }: Member["found"], { patch, wasm }: Member["prepared"]) =>
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
  const gzip = members.reduce((sum, { size }) => sum + size.gzip, 0);
  const warnings = members.flatMap(({ found, warnings: own }) =>
    own.map((one) => printableLines(`warning: ${found.name}: ${one}`)),
  );
  return [
    "",
    line(head),
    ...rows.map(line),
    "",
    `${members.length} ${members.length === 1 ? "servlet" : "servlets"}, ${kilobytes(gzip)} gzipped: ${percent(gzip, FREE_BYTES)} of what a free Worker may have, ${percent(gzip, PAID_BYTES)} of a paid one's`,
    ...warnings,
  ].join("\n");
}
