import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { makeBundle } from "../../../../src/bundle/bundle.ts";
import { loadServlet } from "../../../../src/testing/index.ts";
import { KIT, servletFolder, textOf, tool } from "./writing.ts";

/** Servlets in TypeScript: what the compiler makes of them, and what they answer when they fail. */
const folder = servletFolder();

async function call(source: string, script = {}, more: Record<string, string> = {}) {
  const servlet = await loadServlet(await folder.write({ "servlet.ts": source, ...more }));
  return servlet.callTool("try_it", {}, script);
}

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

  test("also where many lines of the source are one of the script", async () => {
    const { logs } = await call(`${KIT}export default defineServlet({ tools: {
  other: { description: "", handler: () => "" },
  try_it: { description: "", handler: () => { throw new Error("here"); } },
} });
`);
    expect(logs.join("\n")).toMatch(/mine\/servlet\.ts:4\b/);
  });

  test("a number or a date is formatted for no locale, rather than for a wrong one", async () => {
    const { logs, result } = await call(
      tool('return new Date().toLocaleDateString("de-DE", { weekday: "long" });'),
    );
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/^toLocaleDateString formats for no locale here/);
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
      await folder.write({
        "servlet.ts": tool(
          "calls++; return [calls, Math.random(), crypto.randomUUID()].join(' ');",
          "let calls = 0;\n",
        ),
      }),
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
    const source = tool(`return "number ${at}";`).replace("try_it", `try_${at}`);
    await folder.write({ "servlet.ts": source }, `s${at}`);
  }
  const members = await makeBundle({
    folders: [folder.path()],
    cache: ".bundle",
    progress: () => {},
  });
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
    const path = await folder.write({ "servlet.ts": tool(body) }, name);
    const options = { folders: [path], cache: ".bundle", progress: () => {} };
    return makeBundle(options);
  };
  const [good, bad] = await Promise.allSettled([
    at("good", 'return "fine";'),
    at("bad", 'const n: number = "one"; return String(n);'),
  ]);
  expect([good.status, bad.status]).toEqual(["fulfilled", "rejected"]);
});
