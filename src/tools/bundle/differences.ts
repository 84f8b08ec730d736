/** Describes the differences between two versions of a servlet. */
import { diff } from "node:util";
import type { Build } from "../../server/features/installs/build.ts";
import { canonicalJson } from "../../server/kernel/core/digest.ts";
import type { Lists } from "../../server/kernel/core/model.ts";

/** Descriptions of a servlet's entries and permissions: lines of text by title. */
export type BuildLines = ReadonlyMap<string, string[]>;

const linesOf = (entry: object) =>
  JSON.stringify(JSON.parse(canonicalJson(entry)), null, 2)
    .split("\n")
    .slice(1, -1);

/** The entries of these lists. */
export const listLinesOf = ({ tools, resources, resourceTemplates, prompts }: Lists): BuildLines =>
  new Map([
    ...tools.map((one): [string, string[]] => [`tool ${one.name}`, linesOf(one)]),
    ...resources.map((one): [string, string[]] => [`resource ${one.uri}`, linesOf(one)]),
    ...resourceTemplates.map((one): [string, string[]] => [
      `resource template ${one.uriTemplate}`,
      linesOf(one),
    ]),
    ...prompts.map((one): [string, string[]] => [`prompt ${one.name}`, linesOf(one)]),
  ]);

/** Everything in a build except its code; digests stand for the documents of its views. */
export const buildLinesOf = ({ manifest, lists, parts, skills }: Build): BuildLines =>
  new Map([
    ...(skills?.skills ?? []).map(({ path, frontmatter }): [string, string[]] => [
      `skill ${path}`,
      [
        ...linesOf(frontmatter),
        ...skills!.files
          .filter((file) => file.path.startsWith(`${path}/`))
          .map((file) => `file ${file.path} ${file.digest}`),
      ],
    ]),
    ...Object.entries(parts.views ?? {}).map(([name, digest]): [string, string[]] => [
      `view ${name}`,
      [`document ${digest}`],
    ]),
    ...Object.entries(manifest).map(([key, value]): [string, string[]] => [
      `manifest ${key}`,
      linesOf({ [key]: value }),
    ]),
    ...(lists === undefined ? [] : listLinesOf(lists)),
  ]);

/** Entries that were removed, added or changed, as the lines of a diff. */
export function compare(before: BuildLines, after: BuildLines): string[] {
  const all = [...new Set([...before.keys(), ...after.keys()])];
  const changes = all.flatMap((what) => {
    const old = before.get(what);
    const now = after.get(what);
    if (old === undefined) return [`+ ${what}`, ...now!.map((line) => `+ ${line}`)];
    if (now === undefined) return [`- ${what}`];
    const lines = changedLines(old, now);
    return lines.length === 0 ? [] : [`  ${what}`, ...lines];
  });
  return changes.length > 0 ? changes : ["  It offers what it has offered; only its code differs."];
}

/** Maximum number of lines to compare: memory grows with the square of the lines that differ. */
const COMPARED = 2000;

function changedLines(old: string[], now: string[]): string[] {
  const mark = (sign: string, lines: string[]) => lines.map((line) => `${sign} ${line}`);
  if (old.join("\n") === now.join("\n")) return [];
  if (Math.max(old.length, now.length) > COMPARED) return [...mark("-", old), ...mark("+", now)];
  return diff(old, now).flatMap(([kind, line]) =>
    kind === 0 ? [] : mark(kind > 0 ? "-" : "+", [line]),
  );
}
