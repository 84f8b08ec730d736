/** Writes docs/gallery.md from the servlets of plugins/: their tools, tokens, sizes and costs. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isForModels } from "../../../src/server/kernel/core/views.ts";
import { tokensOf } from "../../../src/server/kernel/servlets/concerns.ts";
import { catalogOf, makeBundle, type Member } from "../../../src/tools/bundle/bundle.ts";
import { costOf } from "../../../src/tools/commands/cost.ts";
import { currentWorkspace } from "../../../src/tools/commands/folders.ts";
import { code, replaced, table } from "./tables.ts";

const PAGE = "docs/gallery.md";
/** A figure that differs by less than this part of it stays, so that the page does not follow each change of a compiler. */
const TOLERANCE = 0.15;

/** The page as it should be. Builds the servlets, and calls their tools. */
export async function galleryPage(): Promise<string> {
  const before = await readFile(PAGE, "utf8");
  const members = await makeBundle({ ...currentWorkspace(), progress: () => {} });
  const made: string[] = [];
  for (const member of members) made.push(await entryOf(member));
  return replaced(before, "gallery", steadied(made.join("\n\n"), before));
}

async function entryOf(member: Member): Promise<string> {
  const { found, size } = member;
  const { name, manifest, source } = found;
  const hosts = manifest.allowed_hosts ?? [];
  const { tools: all, resources, resourceTemplates, prompts } = catalogOf([member]).lists;
  const tools = all.filter(isForModels);
  const tokens = new Map(tools.map((tool) => [tool, tokensOf(tool) ?? 0]));
  const costs = (await costOf(member)).tools;
  const rows = tools.map((tool) => {
    const { fuel, problem } = costs.find((one) => one.tool === tool.name)!;
    const us = problem === undefined && fuel !== undefined ? figure(fuel / 1000) : "–";
    return [code(tool.name), firstSentence(tool.description), String(tokens.get(tool)), us];
  });
  const others = [
    ...counted(
      resources.filter(({ uri }) => !uri.startsWith("ui://")),
      "resource",
    ),
    ...counted(resourceTemplates, "template of resources"),
    ...counted(prompts, "prompt"),
  ];
  const sum = [...tokens.values()].reduce((total, one) => total + one, 0);
  const facts = [
    `[${LANGUAGES[source.kind] ?? source.kind}](../plugins/${name})`,
    `${sum} tokens`,
    `${figure(size.gzip / 1024)} KB`,
    ...(others.length === 0 ? [] : [`also has ${others.join(", ")}`]),
    ...(manifest.state === undefined ? [] : ["keeps [state](state.md)"]),
    ...(hosts.length === 0 ? [] : [`reaches ${hosts.map(code).join(", ")}`]),
  ];
  const picture = `pictures/${name}.png`;
  return [
    `## ${name}`,
    `${manifest.description ?? ""} ${code(`npx edge-servlets add ${name}`)}`,
    `${facts.join("; ")}.`,
    table(["tool", "what it does", "tokens", "µs"], rows),
    ...(existsSync(join("docs", picture)) ? [`![The view of ${name}](${picture})`] : []),
  ].join("\n\n");
}

const LANGUAGES: Partial<Record<string, string>> = {
  typescript: "TypeScript",
  python: "Python",
  assemblyscript: "AssemblyScript",
  c: "C",
};

const counted = ({ length }: readonly unknown[], what: string): string[] =>
  length === 0 ? [] : [`${length} ${what}${length === 1 ? "" : "s"}`];

/** A number with two significant digits. */
const figure = (value: number): string =>
  Number(value.toPrecision(2)).toLocaleString("en", { useGrouping: false });

const firstSentence = (text = ""): string =>
  /^.*?[.!?](?= \p{Lu}|$)/su.exec(text.replaceAll(/\s+/g, " "))?.[0] ?? text;

const NUMBER = /(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)/g;

/** The text, where each line is the one of `before` that differs in figures alone, and by less than the tolerance. */
function steadied(text: string, before: string): string {
  const formOf = (line: string) => line.replaceAll(NUMBER, "#");
  const figuresOf = (line: string) => (line.match(NUMBER) ?? []).map(Number);
  let section = "";
  const keyed = (all: string): [string, string][] =>
    all.split("\n").map((line) => {
      if (line.startsWith("## ")) section = line;
      return [`${section}\n${formOf(line)}`, line];
    });
  const known = new Map(keyed(before));
  return keyed(text)
    .map(([key, line]) => {
      const old = known.get(key) ?? line;
      const figures = figuresOf(line);
      const isNear = figuresOf(old).every(
        (one, at) => Math.abs(one - figures[at]!) <= TOLERANCE * Math.max(one, figures[at]!),
      );
      return isNear ? old : line;
    })
    .join("\n");
}
