/** The report of the command `import`. */
import { join } from "node:path";
import { printableText } from "../../core/text.ts";
import { sourceInManifest } from "../sources/origin.ts";
import type { Plan } from "../hyper-mcp/plan.ts";
import { DOCS } from "../own.ts";

interface Result {
  folder: string;
  /** Settings outside of any plugin that could not be mapped. */
  unmapped: readonly string[];
  isDryRun: boolean;
}

const HEAD = ["plugin", "folder", "hosts", "secrets", "files", "state"];

/** The table of the servlets, the secrets to set, and what was not mapped. */
export function importReport(
  plans: readonly Plan[],
  { folder, unmapped, isDryRun }: Result,
): string {
  const list = (texts: readonly string[] = []) => texts.join(", ") || "-";
  const rows = plans.map(({ name, manifest, secrets }) => [
    name,
    join(folder, name),
    list(manifest.allowed_hosts),
    list([...new Set(secrets.map(({ variable }) => variable))]),
    list(manifest.allowed_paths),
    manifest.state ?? "-",
  ]);
  const widths = HEAD.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]!.length)),
  );
  const line = (row: string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join("  ")
      .trimEnd();
  const notes = [
    ...unmapped,
    ...plans.flatMap(({ name, unmapped: own }) => own.map((text) => `${name}: ${text}`)),
  ];
  return printableText(
    [
      ...(isDryRun ? ["Nothing is written. These servlets would be:", ""] : []),
      line(HEAD),
      ...rows.map(line),
      ...(isDryRun ? plans.flatMap((plan) => ["", ...manifestOf(plan, folder)]) : []),
      ...section("Set the secrets, with the values that hyper-mcp had:", commands(plans)),
      ...section(
        "Not mapped, or different here:",
        notes.map((text) => `  ${text}`),
      ),
      "",
      `Different for all: ${DOCS}/hyper-mcp.md`,
    ].join("\n"),
  );
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", title, "", ...lines];

function commands(plans: readonly Plan[]): string[] {
  const sources = new Map<string, Set<string>>();
  for (const { name, secrets } of plans) {
    for (const { variable, from } of secrets) {
      const all = sources.get(variable) ?? new Set();
      sources.set(variable, all.add(`${name}: ${from}`));
    }
  }
  return [...sources].map(
    ([variable, from]) => `  npx wrangler secret put ${variable}   # ${[...from].join("; ")}`,
  );
}

const manifestOf = ({ name, source, manifest }: Plan, folder: string): string[] => [
  `${join(folder, name, "servlet.json")}:`,
  JSON.stringify({ source: sourceInManifest(source, join(folder, name)), ...manifest }, null, 2),
];
