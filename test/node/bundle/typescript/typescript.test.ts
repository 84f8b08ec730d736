import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeBundle } from "../../../../src/bundle/bundle.ts";
import { loadServlet } from "../../../../src/testing/index.ts";

/** Servlets in TypeScript: what the compiler makes of them, and what it says of those that are wrong. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "typescript-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const KIT = 'import { defineServlet } from "edge-servlets/servlet";\n';

async function write(source: string, more: Record<string, string> = {}): Promise<string> {
  await mkdir(join(folder, "mine"));
  for (const [name, text] of Object.entries({ "servlet.ts": source, ...more })) {
    await writeFile(join(folder, "mine", name), text);
  }
  return join(folder, "mine");
}

/** A servlet with one tool, whose handler has this body. */
const tool = (body: string, before = "") =>
  `${KIT}${before}
export default defineServlet({
  tools: {
    try_it: {
      description: "Tries",
      async handler(_args, context) {
        void context;
        ${body}
      },
    },
  },
});
`;

async function call(source: string, script = {}, more: Record<string, string> = {}) {
  const servlet = await loadServlet(await write(source, more));
  return servlet.callTool("try_it", {}, script);
}

const textOf = ({ content }: { content: unknown }) => (content as { text: string }[])[0]?.text;

describe("an error at build time names its place", () => {
  test.each<[what: string, source: string, message: RegExp]>([
    ["a syntax error", `${KIT}export default defineServlet({`, /servlet\.ts:2:\d+/],
    [
      "a type error",
      tool('const n: number = "one"; return String(n);'),
      /servlet\.ts\(\d+,\d+\): error TS2322/,
    ],
    ["no export", KIT, /servlet/],
    ["an export that is no servlet", "export default 7;", /defineServlet/],
    [
      "a dependency that needs Node",
      tool("return readFileSync.name;", 'import { readFileSync } from "node:fs";\n'),
      /node:fs[\s\S]*servlet\.ts:2/,
    ],
    [
      "an error while it is loaded",
      tool('return "";', 'throw new Error("too early");\n'),
      /could not be loaded[\s\S]*too early/,
    ],
    ["an endless module scope", tool('return "";', "for (;;) {}\n"), /does not come to an end/],
    [
      "two tools of one name",
      `${KIT}const handler = () => "";
export default defineServlet({ tools: { t: { handler }, t: { handler } } });`,
      /servlet\.ts\(3,\d+\): error TS1117/,
    ],
    [
      "a schema that is not an object schema",
      `${KIT}export default defineServlet({ tools: { t: { description: "", input: { type: "string" }, handler: () => "" } } });`,
      /\bt\b[\s\S]*object/,
    ],
  ])("%s", async (_what, source, message) => {
    const path = await write(source);
    const error: unknown = await loadServlet(path).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(error).toMatchObject({ message: expect.stringContaining("mine") });
  });
});

describe("an error at run time is an answer that a model can read", () => {
  test.each<[what: string, body: string, message: RegExp]>([
    ["an error", 'throw new Error("the moon is wrong");', /^the moon is wrong$/],
    ["a promise that cannot settle", 'await new Promise(() => {}); return "";', /never settle/],
    ["a BigInt", "return { n: 10n };", /BigInt/i],
    ["a cycle", "const a: Record<string, unknown> = {}; a.a = a; return a;", /circular|cycle/i],
    [
      "memory without end",
      'const all: string[] = []; for (;;) all.push("x".repeat(1 << 20) + all.length); return "";',
      /memory/,
    ],
    [
      "endless recursion",
      "const f = (): number => f() + 1; return String(f());",
      /recursed|stack/i,
    ],
  ])("%s", async (_what, body, message) => {
    const { result } = await call(tool(body), {}, { "servlet.json": '{ "memory_limit": "8Mi" }' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(message);
  });

  test("a rejection that nobody handles is in the log", async () => {
    const { logs, result } = await call(
      tool('void Promise.reject(new Error("unheard")); return "fine";'),
    );
    expect(logs.join("\n")).toContain("unheard");
    expect(textOf(result)).toBe("fine");
  });

  test("the stack in the log leads to the author's file and line", async () => {
    const { logs } = await call(tool('throw new Error("here");'));
    expect(logs.join("\n")).toMatch(/mine\/servlet\.ts:9\b/);
  });
});

describe("a servlet under test", () => {
  test("is answered from a script, and tells what it asked", async () => {
    const { result, asked, notifications } = await call(
      tool(`
        context.progress(1, 2, "half");
        const { action, content } = await context.elicit({
          message: "Really?",
          schema: { type: "object", properties: { sure: { type: "boolean" } } },
        });
        return JSON.stringify({ action, content });`),
      { answers: { "elicitation/create": [{ action: "accept", content: { sure: true } }] } },
    );
    expect(JSON.parse(textOf(result)!)).toEqual({ action: "accept", content: { sure: true } });
    expect(asked).toMatchObject([{ method: "elicitation/create", params: { message: "Really?" } }]);
    expect(notifications).toMatchObject([
      { method: "notifications/progress", params: { progress: 1, total: 2, message: "half" } },
    ]);
  });

  test("has the network and the clock of its script", async () => {
    const { result } = await call(
      tool(`
        const before = Date.now();
        await context.sleep(60_000);
        const response = await fetch("https://api.example/things", { method: "POST", body: "in" });
        return JSON.stringify({
          waited: Date.now() - before,
          status: response.status,
          body: await response.text(),
        });`),
      {
        now: 1_000_000,
        fetch: async (request: Request) =>
          new Response(`${request.method} ${request.url} ${await request.text()}`, { status: 201 }),
      },
      { "servlet.json": '{ "allowed_hosts": ["api.example"] }' },
    );
    expect(JSON.parse(textOf(result)!)).toEqual({
      waited: 60_000,
      status: 201,
      body: "POST https://api.example/things in",
    });
  });

  test("starts anew in each call: nothing is left, nothing random is shared", async () => {
    const servlet = await loadServlet(
      await write(
        tool(
          "calls++; return [calls, Math.random(), crypto.randomUUID()].join(' ');",
          "let calls = 0;\n",
        ),
      ),
    );
    const said = async () => textOf((await servlet.callTool("try_it")).result)!.split(" ");
    const [first, second] = [await said(), await said()];
    expect([first[0], second[0]]).toEqual(["1", "1"]);
    expect(first[1]).not.toBe(second[1]);
    expect(first[2]).not.toBe(second[2]);
  });
});

test("ten small servlets share one engine, and are small enough for the free tier", async () => {
  for (let at = 0; at < 10; at++) {
    await mkdir(join(folder, `s${at}`));
    const source = tool(`return "number ${at}";`).replace("try_it", `try_${at}`);
    await writeFile(join(folder, `s${at}`, "servlet.ts"), source);
  }
  const members = await makeBundle({ folders: [folder], cache: ".bundle", progress: () => {} });
  const engines = new Map(members.map(({ prepared }) => [prepared.path, prepared.wasm]));
  expect(engines.size).toBe(1);
  const [engine] = engines.values();
  const gzip = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }).length;
  const patches = members.map(({ prepared }) => prepared.patch!.bytes);
  expect(engine!.length + patches[0]!.length).toBeLessThan(900 * 1024);
  expect(gzip(engine!) + gzip(patches[0]!)).toBeLessThan(370 * 1024);
  expect(gzip(engine!) + patches.reduce((sum, patch) => sum + gzip(patch), 0)).toBeLessThan(
    1024 * 1024,
  );
});

test("two bundles that are made at once do not share a type check", async () => {
  const at = async (name: string, body: string) => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "servlet.ts"), tool(body));
    const options = { folders: [join(folder, name)], cache: ".bundle", progress: () => {} };
    return makeBundle(options);
  };
  const [good, bad] = await Promise.allSettled([
    at("good", 'return "fine";'),
    at("bad", 'const n: number = "one"; return String(n);'),
  ]);
  expect([good.status, bad.status]).toEqual(["fulfilled", "rejected"]);
});
