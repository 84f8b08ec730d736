import { glob, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { publicLimits } from "../../../src/server/kernel/core/limits.ts";
import { manifestSchema } from "../../../src/server/kernel/servlets/manifest.ts";
import { context } from "../../../src/kit/context.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";
import { settingNames } from "../../../src/tools/bundle/features.ts";
import { linksIn } from "../../../package/links.ts";
import { allPages, brokenLinks, type Page } from "./pages.ts";
import { PAGES, renewed } from "./reference.ts";
import { copyOfProject, place } from "./shell.ts";

const pages = await allPages();
const textOf = (path: string) => pages.find((page) => page.path === path)!.text;

test.each(PAGES)("the tables of %s are up to date (npm run docs)", async (path) => {
  expect(textOf(path)).toBe(await renewed(path));
});

test("the tables have every limit, every key, and the settings whose names are reserved", () => {
  const missing = (text: string, names: string[]) =>
    names.filter((name) => !text.includes(`\`${name}\``));
  expect(missing(textOf("docs/configuration.md"), Object.keys(publicLimits))).toEqual([]);
  const [, settings = ""] = textOf("docs/configuration.md").split(/<!-- \/?settings\b.*-->\n/);
  const rows = [...settings.matchAll(/^\| (`[^|]*)/gm)].flatMap(([, cell]) => cell!.match(/\w+/g)!);
  expect(rows.toSorted()).toEqual(settingNames().toSorted());
  expect(missing(textOf("docs/manifest.md"), Object.keys(manifestSchema().shape))).toEqual([]);
});

test("plugins/README.md lists servlets that are there", async () => {
  const folders = await Array.fromAsync(glob("plugins/*/"), (path) => basename(path));
  const listed = textOf("plugins/README.md").matchAll(/^\| `([\w-]+)`/gm);
  expect(folders).toEqual(expect.arrayContaining([...listed].map(([, name]) => name)));
});

test("the pages of docs/compare compare the same points, and say the same of this server", () => {
  const tables = pages
    .filter(({ path }) => path.startsWith("docs/compare/"))
    .map(({ text }) => text.match(/^\|.*$/gm)!.slice(2))
    .map((rows) => rows.map((row) => row.split(" | ")).map(([point, , here]) => [point, here]));
  expect(tables.length).toBeGreaterThan(3);
  for (const table of tables) expect(table).toEqual(tables[0]);
});

test("messages of the commands name documents where a project has them", async () => {
  const wrong: string[] = [];
  for await (const file of glob("src/{languages,tools}/**/*.ts")) {
    const code = (await readFile(file, "utf8")).replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "");
    for (const [name] of code.matchAll(/(?<![\w/}-])docs\/[\w-]+\.md/g))
      wrong.push(`${file}: ${name}`);
  }
  expect(wrong).toEqual([]);
});

test("README.md is short", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(150);
});

test("docs/self-hosting.md has every option of npm start", async () => {
  const [, usage] = /const USAGE = `([^`]*)`/.exec(
    await readFile("src/tools/host/options.ts", "utf8"),
  )!;
  const options = usage!.match(/^--[a-z-]+/gm)!;
  expect(options.length).toBeGreaterThan(9);
  const table = textOf("docs/self-hosting.md")
    .match(/^\| `--.*$/gm)!
    .join("\n");
  expect(options.filter((option) => !new RegExp(`\`${option}[ \`]`).test(table))).toEqual([]);
});

const files = await Array.fromAsync(glob("{src,test,plugins,docs,.github}/**/*"));

describe.each(pages)("$path", ({ path, text }: Page) => {
  const prose = text.replaceAll(/^```[^]*?^```/gm, "");

  test("links to what is there", async () => {
    expect(await brokenLinks(linksIn(text), path)).toEqual([]);
  });

  test.runIf(path.startsWith("src/"))("names files of its room that are there", () => {
    const named = [
      ...prose.matchAll(/(?<=(?:^|[`, *(])(?![`/]))((?:[\w-]+\/)*[\w-]+\.(?:ts|wat))\b/g),
    ].map(([, name]) => name!);
    const here = files.filter((file) => file.startsWith(dirname(path)));
    const isThere = (name: string) =>
      files.includes(name) || here.some((file) => file.endsWith(`/${name}`));
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });

  test("names files that are there", () => {
    const drawn = [...text.matchAll(/^```mermaid[^]*?^```/gm)].flatMap(
      ([drawing]) => drawing.match(/src\/[\w./-]+\b/g) ?? [],
    );
    const written = [...prose.matchAll(/`((?:src|test|plugins)\/[\w./*-]+)`/g)];
    const named = [...drawn, ...written.map(([, name]) => name!)];
    const isThere = (name: string) =>
      files.some((file) => file === name.replace(/\/$/, "") || file.startsWith(name));
    expect(named.filter((name) => !isThere(name) && !/NAME|plugins\/shout/.test(name))).toEqual([]);
  });
});

test("docs/architecture.md names functions that are in their files", async () => {
  const named = [...textOf("docs/architecture.md").matchAll(/\*\*`(\w+)`\*\* \(`([^`]+)`\)/g)];
  expect(named.length).toBeGreaterThan(4);
  for (const [, name, file] of named) {
    expect(await readFile(file!, "utf8")).toMatch(new RegExp(`export .*\\b${name}\\b`));
  }
});

describe("docs/writing-servlets.md", () => {
  const text = textOf("docs/writing-servlets.md");

  test("has every member of the context, as a heading", () => {
    const headings = new Set(
      [...text.matchAll(/^### (.*)$/gm)].flatMap(([, heading]) =>
        heading!.replaceAll(/\([^)]*\)/g, "").split(", "),
      ),
    );
    expect(Object.keys(context).filter((name) => !headings.has(name))).toEqual([]);
  });

  test("says what is there in a guest, and what is not", async () => {
    const listed = (what: string) =>
      [
        ...text
          .split(`<!-- ${what} -->`)[1]!
          .split("<!--")[0]!
          .matchAll(/`(\w+)`/g),
      ].map(([, name]) => name!);
    const names = { there: listed("there"), missing: listed("not there") };
    const folder = await copyOfProject(".bundle/docs/guest");
    const probe = `import { defineServlet } from "edge-servlets/servlet";
const types = { ${[...names.there, ...names.missing].map((name) => `${name}: typeof ${name}`).join(", ")} };
export default defineServlet({ tools: { probe: { handler: () => types } } });
`;
    // JavaScript: its types are not checked, which know what is not there.
    await place(folder, {
      section: "",
      language: "js",
      file: "plugins/probe/servlet.js",
      text: probe,
    });
    const { result } = await (await loadServlet(join(folder, "plugins/probe"))).callTool("probe");
    const types = result.structuredContent as Record<string, string>;
    expect(names.there.filter((name) => types[name] === "undefined")).toEqual([]);
    expect(names.missing.filter((name) => types[name] !== "undefined")).toEqual([]);
    expect(names.there.length + names.missing.length).toBeGreaterThan(20);
  });
});
