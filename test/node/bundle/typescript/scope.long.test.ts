import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { servletFolder, textOf, tool } from "./writing.ts";

/** Module scope: warnings about time and chance in it, stacks that lead to it, and state that calls leave in it. */
const folder = servletFolder();

/** The warnings of the bundle step; rejects where it refuses the servlet. */
async function warningsOf(before: string, more: Record<string, string> = {}): Promise<string[]> {
  const path = await folder.write({ "servlet.js": tool('return "";', before), ...more });
  const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
  const [member] = await makeBundle({ ...options, folders: [path] });
  return member!.warnings;
}

const packaged = (name: string, text: string, more: object = {}) => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, main: "index.js", ...more }),
  [`node_modules/${name}/index.js`]: text,
});
const stamper = packaged(
  "stamper",
  "export const at = Date.now();\nexport const other = Math.random();\nexport const stamp = () => new Date();\n",
  { type: "module" },
);
const seeded = packaged("seeded", "const seed = Math.random();\nmodule.exports = { seed };\n");

describe("what differs from call to call, and is asked for once at module scope, is told of", () => {
  test.each([
    [
      "const started = Date.now();",
      /mine\/servlet\.js:2:\d+: Date\.now\(\) at .* the time 0, in 1970/,
    ],
    ["const salt = [Math.random()];", /mine\/servlet\.js:2:\d+: Math\.random\(\) .* one number/],
    ["globalThis.since = new Date();", /mine\/servlet\.js:2:\d+: new Date\(\) at module scope/],
    [
      "class Day extends Date {}\nconst day = new Day();",
      /mine\/servlet\.js:[23]:\d+: new Date\(\)/,
    ],
    ["const t = performance.now();", /mine\/servlet\.js:2:\d+: Date\.now\(\)/],
  ])("%s", async (line, warning) => {
    const [first, ...others] = await warningsOf(`${line}\nglobalThis.kept = 1;\n`);
    expect(first).toMatch(warning);
    expect(first).toMatch(/runs once, when the servlet is built.*call it in a handler$/);
    expect(others).toEqual([]);
  });

  test("in the author's own lines each, and for each package once", async () => {
    const before = `import { at, stamp } from "stamper";
import seeded from "seeded";
const mine = stamp();
globalThis.all = [at, seeded.seed, mine, Date.now()];
`;
    const warnings = await warningsOf(before, { ...stamper, ...seeded });
    expect(warnings.toSorted()).toEqual([
      expect.stringMatching(/mine\/servlet\.js:4:\d+: new Date\(\) at module scope/),
      expect.stringMatching(/mine\/servlet\.js:5:\d+: Date\.now\(\) at module scope/),
      expect.stringMatching(/^the package seeded calls Math\.random\(\) when it is imported/),
      expect.stringMatching(/^the package stamper calls Date\.now\(\) when it is imported/),
    ]);
  });

  test("but not a date that is given, nor what a handler does", async () => {
    const before = `const day = new Date(2026, 1, 1), is = day instanceof Date, utc = Date.UTC(2026);
const later = () => Date.now() + Math.random();
globalThis.all = [day, is, utc, later];
`;
    expect(await warningsOf(before)).toEqual([]);
  });
});

describe("fetch() at module scope is refused when the bundle is made", () => {
  test.each([
    ["alone", 'const answer = fetch("https://api.example");\n', "2"],
    ["handled", '\nfetch("https://api.example").catch(() => {});\n', "3"],
    [
      "in a function",
      'async function load() {\n  try {\n    await fetch("https://a.b");\n  } catch {}\n}\nload();\n',
      "4",
    ],
  ])("%s", async (_, before, line) => {
    const warnings = warningsOf(before);
    await expect(warnings).rejects.toThrow(/fetch\(\) works only inside a handler/);
    await expect(warnings).rejects.toThrow(new RegExp(`mine/servlet\\.js:${line}:`));
  });

  test("in a package", async () => {
    const loading = packaged("loading", 'export const all = fetch("https://a.example");\n', {
      type: "module",
    });
    const warnings = warningsOf('import { all } from "loading";\nglobalThis.all = all;\n', loading);
    await expect(warnings).rejects.toThrow(/fetch\(\) works only.*[^]*loading\/index\.js:1:/);
  });
});

/** Calls a tool whose handler has this body, from line 8 on. */
async function called(body: string, before = "", manifest = "{}") {
  const files = { "servlet.js": tool(body, before), "servlet.json": manifest };
  const servlet = await loadServlet(await folder.write(files));
  const { result, logs } = await servlet.callTool("try_it");
  return { text: textOf(result), logs: logs.join("\n") };
}

describe("timers that a call leaves behind", () => {
  test("are named in the log, where they were set", async () => {
    const { text, logs } = await called(
      'setTimeout(() => {}, 9e9);\nfor (const ms of [9e9]) setInterval(String, ms);\nreturn "done";',
    );
    expect(text).toBe("done");
    expect(logs).toMatch(
      /has ended before 2 of its timers, which are dropped: await them, or clear/,
    );
    expect(logs).toMatch(/setTimeout\n +at .*mine\/servlet\.js:9\b/);
    expect(logs).toMatch(/setInterval\n +at .*mine\/servlet\.js:10\b/);
  });

  test.each([
    ["cleared", 'clearTimeout(setTimeout(() => {}, 9e9)); return "done";'],
    ["awaited", 'await new Promise((done) => setTimeout(done, 5)); return "done";'],
    ["the kit's own", 'void AbortSignal.timeout(9e9); return "done";'],
  ])("but not those that are %s", async (_, body) => {
    expect(await called(body)).toEqual({ text: "done", logs: "" });
  });
});

test.each(["GET", "POST", "PUT"])(
  "a failed %s has a stack that leads to its line",
  async (method) => {
    const body = method === "GET" ? "" : ', body: "x"';
    const { text, logs } = await called(
      `\nawait fetch("https://api.example", { method: "${method}"${body} });\nreturn "";`,
    );
    expect(text).toMatch(/api\.example/);
    expect(logs).toMatch(/mine\/servlet\.js:10\b/);
  },
);

test("a stack costs a call little, however long its script is", async () => {
  const names = Array.from({ length: 4000 }, (_, at) => `f${at}`);
  const before = `${names.map((name, at) => `function ${name}() {\n  // ${at}\n\n  return ${at};\n}\n`).join("")}
globalThis.all = [${names.join()}];
function broken() {
  throw new Error("it is broken");
}
`;
  // A twentieth of what the mapping of one stack took before.
  const { text, logs } = await called("broken();", before, '{"compute_limit": 0.01}');
  expect(text).toBe("it is broken");
  const line = before.slice(0, before.indexOf("throw new")).split("\n").length + 1;
  expect(logs).toMatch(new RegExp(`at broken \\(\\S*mine/servlet\\.js:${line}\\b`));
});
