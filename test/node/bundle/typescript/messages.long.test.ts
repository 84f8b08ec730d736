import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { KIT, servletFolder, textOf, tool } from "./writing.ts";

/** Messages of the bundle step about servlets in TypeScript that are wrong. */
const folder = servletFolder();

async function messageOf(files: Record<string, string>): Promise<string> {
  const path = await folder.write(files);
  const error: unknown = await loadServlet(path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  return (error as Error).message;
}

/** The refusal of several servlets, whose types are checked together. */
async function refusalOf(files: Record<string, string>): Promise<string> {
  await folder.write(files, ".");
  const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
  return makeBundle({ ...options, folders: [folder.path()] }).then(
    () => "nothing was refused",
    String,
  );
}

describe("an error at build time names its place", () => {
  test.each<[what: string, source: string, message: RegExp]>([
    ["a syntax error", `${KIT}export default defineServlet({`, /servlet\.js:2:\d+/],
    [
      "no export",
      `${KIT}defineServlet({ tools: { t: { description: "", handler: () => "" } } });`,
      /mine\/servlet\.js: [\s\S]*no default export[\s\S]*export default defineServlet/,
    ],
    [
      "an export that is no servlet",
      `${KIT}\n  export default 7;`,
      /mine\/servlet\.js:3:3: the default export is not what defineServlet returns/,
    ],
    [
      "an export beside the servlet",
      `${KIT}const made = defineServlet({ tools: { t: { description: "", handler: () => "" } } });
const other = { made };
export { other as default };`,
      /mine\/servlet\.js:4:16: the default export is not what defineServlet returns/,
    ],
    [
      "a module of Node",
      tool("return readFileSync.name;", 'import { readFileSync } from "node:fs";\n'),
      /"fs" is a module of Node[\s\S]*servlet\.js:2:29:[\s\S]*edge-servlets\/files/,
    ],
    [
      "a module of Node within another",
      tool("return readFile.name;", 'import { readFile } from "fs/promises";\n'),
      /"fs\/promises" is a module of Node[\s\S]*servlet\.js:2:25:[\s\S]*edge-servlets\/files/,
    ],
    [
      "a package that is not installed",
      tool("return leftPad.name;", 'import leftPad from "left-pad-of-nobody";\n'),
      /servlet\.js:2:20:[\s\S]*npm install left-pad-of-nobody$/,
    ],
    [
      "what is for tests",
      tool("return loadServlet.name;", 'import { loadServlet } from "edge-servlets/testing";\n'),
      /edge-servlets\/api and edge-servlets\/remote[\s\S]*servlet\.js:2:28/,
    ],
    [
      "top-level await",
      tool('return "";', "const n = await Promise.resolve(1);\n"),
      /module scope runs once[\s\S]*servlet\.js:2:10:[\s\S]*Await in a handler/,
    ],
    [
      "an error while it is loaded",
      tool('return "";', '\nfunction early() {\n  throw new Error("too early");\n}\nearly();\n'),
      /could not be loaded: Error: too early\n +at early \(\S*mine\/servlet\.js:4:\d+\)\n +at <anonymous> \(\S*mine\/servlet\.js:6:1\)$/,
    ],
    [
      "an error of a value that is none",
      tool('return "";', "throw null;\n"),
      /could not be loaded: null/,
    ],
    [
      "an object that is thrown",
      tool('return "";', "throw { code: 7, why: null };\n"),
      /could not be loaded: \{"code":7,"why":null\}/,
    ],
    [
      "a pattern with many groups",
      tool('return "";', `new RegExp("()".repeat(255));\n`),
      /SyntaxError: too many captures[\s\S]*servlet\.js:2:\d+[\s\S]*at most 254 groups here.*packages\.md/,
    ],
    [
      "a pattern with many groups of one name",
      tool(
        'return "";',
        `new RegExp(Array.from({ length: 257 }, (_, at) => \`(?<a>\${at})\`).join("|"));\n`,
      ),
      /too many captures[\s\S]*same name too: write \(\?:…\)/,
    ],
    ...["/a-b/v", "/a&&b/v", "/x::y/v", "/[a-z]-[0-9]/v", 'new RegExp("a/b", "v")'].map(
      (pattern): [string, string, RegExp] => [
        `the pattern ${pattern}`,
        tool('return "";', `${pattern}.test("");\n`),
        /SyntaxError: invalid[\s\S]*With the flag v, -, \/ and doubled signs[\s\S]*write \\x2d/,
      ],
    ),
    [
      "a host function at module scope",
      tool('return "";', 'void fetch("https://api.example");\ncrypto.randomUUID();\n'),
      /only inside a handler[\s\S]*mine\/servlet\.js:3:\d+/,
    ],
    ["an endless module scope", tool('return "";', "for (;;) {}\n"), /does not come to an end/],
    [
      "a schema that is not an object schema",
      `${KIT}export default defineServlet({ tools: { t: { description: "", input: { type: "string" }, handler: () => "" } } });`,
      /\bt\b[\s\S]*object/,
    ],
  ])("%s", async (_what, source, message) => {
    // JavaScript is not type-checked, which takes longest.
    const said = await messageOf({ "servlet.js": source });
    expect(said).toMatch(message);
    expect(said).toContain("mine");
  });

  test("a type error, in each servlet that has one", async () => {
    const said = await refusalOf({
      "wrong/servlet.ts": tool('const n: number = "one"; return String(n);'),
      "twice/servlet.ts": `${KIT}const handler = () => "";
export default defineServlet({ tools: { t: { handler }, t: { handler } } });`,
    });
    expect(said).toMatch(/wrong\/servlet\.ts\(\d+,\d+\): error TS2322/);
    expect(said).toMatch(/twice\/servlet\.ts\(3,\d+\): error TS1117/);
    expect(said).not.toContain("must return something");
  });

  test("nothing that a tool, an asynchronous one or one way through it returns", async () => {
    const handlers = {
      plain: "handler(_args, context) { context.progress(1); }",
      asynchronous: "async handler(_args, context) { context.progress(1); }",
      partly: 'async handler(_args, { id }) { if (id) return "" }',
    };
    const said = await refusalOf(
      Object.fromEntries(
        Object.entries(handlers).map(([name, handler]) => [
          `${name}/servlet.ts`,
          `${KIT}export default defineServlet({\n  tools: { t: { description: "", ${handler} } },\n});`,
        ]),
      ),
    );
    for (const name of Object.keys(handlers))
      expect(said).toMatch(new RegExp(`${name}/servlet\\.ts\\(3,\\d+\\): error TS2322`));
    expect(said).toContain("The handler of a tool must return something: null");
  });

  test("a servlet whose file has another name", async () => {
    const said = await messageOf({ "index.ts": tool('return "";') });
    expect(said).toMatch(/mine\/index\.ts: it is a servlet, but only servlet\.ts is read as one/);
  });
});

describe("what a servlet lacks is named, with what to use", () => {
  test("globals, by the type check", async () => {
    const said = await messageOf({
      "servlet.ts": tool(
        'return Buffer.from("x").length + process.pid + document.title;',
        'import type { Stats } from "node:fs";\nexport type Size = Stats["size"];\n',
      ),
    });
    expect(said).toMatch(/ts\(2,28\): [^\n]* name 'node:fs'\. .*edge-servlets\/files/);
    expect(said).toMatch(/ts\(11,16\): [^\n]* name 'Buffer'\. .*Uint8Array has toBase64/);
    expect(said).toMatch(/ts\(11,42\): [^\n]* name 'process'\. .*env_vars/);
    expect(said).toMatch(/ts\(11,56\): [^\n]* name 'document'\. A servlet does not have it/);
    expect(said).not.toContain("@types/node");
  });

  test("the types of a package, with what is read", async () => {
    const source = tool("return twice(2);", 'import { twice } from "@some/twice";\n');
    const files = {
      "node_modules/@some/twice/package.json": '{ "name": "@some/twice", "version": "1.0.0" }',
      "node_modules/@some/twice/index.js": "export const twice = (n) => 2 * n;",
      "servlet.ts": source,
    };
    const said = await messageOf(files);
    expect(said).toMatch(/TS7016[^]*npm i --save-dev @types\/some__twice`, and save again/);
    const [, line = ""] = /write `([^`]*)` to some-twice\.d\.ts/.exec(said) ?? [];
    const [, reference = ""] = /begins with: (.*)$/m.exec(said) ?? [];
    const path = await folder.write({
      "some-twice.d.ts": line,
      "servlet.ts": `${reference}\n${source}`,
    });
    const { result } = await (await loadServlet(path)).callTool("try_it");
    expect(textOf(result)).toBe("4");
  });

  test("a setting, in a test", async () => {
    const path = await folder.write({
      "servlet.ts": tool('return "";'),
      "servlet.json": '{ "env_vars": { "key": "${MY_API_KEY}" } }',
    });
    const call = (await loadServlet(path)).callTool("try_it");
    await expect(call).rejects.toThrow(/mine has no list of tools, .* MY_API_KEY, .* is not set/);
  });

  test("globals, in JavaScript at module scope", async () => {
    const said = await messageOf({
      "servlet.js": tool("return key;", "const key = process.env.KEY;\n"),
    });
    expect(said).toMatch(/process is not defined\n +at .*servlet\.js:2:\d+\)\n.*env_vars/);
  });

  test("Intl", async () => {
    const said = await messageOf({
      "servlet.ts": tool('return new Intl.NumberFormat("de").format(1);'),
    });
    expect(said).toMatch(/mine\/servlet\.ts:9:20: there is no Intl in a servlet/);
  });

  test("Intl is no fault where the servlet asks for it, or a package brings it", async () => {
    const format = 'return new Intl.NumberFormat("de").format(1);';
    const asks = tool(`if (typeof Intl === "undefined") return "none"; ${format}`);
    const asking = await loadServlet(await folder.write({ "servlet.js": asks }));
    expect((await asking.callTool("try_it")).result.content).toMatchObject([{ text: "none" }]);

    const brings = `globalThis.Intl = { NumberFormat: class { format(n) { return "n" + n; } } };\n`;
    const brought = await folder.write(
      {
        "servlet.js": tool(format, 'import "./intl.js";\n'),
        "intl.js": brings,
      },
      "other",
    );
    const bringing = await loadServlet(brought);
    expect((await bringing.callTool("try_it")).result.content).toMatchObject([{ text: "n1" }]);
  });
});
