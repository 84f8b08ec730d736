import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../../src/tools/testing/index.ts";
import { KIT, servletFolder, textOf, tool } from "./writing.ts";

/** Servlets in TypeScript: what the compiler makes of them, and what they answer when they fail. */
const folder = servletFolder();

/** The bodies of the handlers of one servlet's tools: each is called in an instance of its own. */
const HANDLERS = {
  error: 'throw new Error("the moon is wrong");',
  never: 'await new Promise(() => {}); return "";',
  bigint: "return { n: 10n };",
  cycle: "const a: Record<string, unknown> = {}; a.a = a; return a;",
  memory:
    'const all: string[] = []; for (;;) all.push("x".repeat(1 << 20) + all.length); return "";',
  recursion: "const f = (): number => f() + 1; return String(f());",
  rejection: 'void Promise.reject(new Error("unheard")); return "fine";',
  locale: 'return new Date().toLocaleDateString("de-DE", { weekday: "long" });',
  asks: `
    context.progress(1, 2, "half");
    const { action, content } = await context.elicit({
      message: "Really?",
      schema: { type: "object", properties: { sure: { type: "boolean" } } },
    });
    return JSON.stringify({ action, content });`,
  fetches: `
    const before = Date.now();
    await context.sleep(60_000);
    const response = await fetch("https://api.example/things", { method: "POST", body: "in" });
    return JSON.stringify({
      waited: Date.now() - before,
      status: response.status,
      body: await response.text(),
    });`,
  counts: "calls++; return [calls, Math.random(), crypto.randomUUID()].join(' ');",
};

const SOURCE = `${KIT}
let calls = 0;
export default defineServlet({ tools: {
${Object.entries(HANDLERS)
  .map(
    ([name, body]) =>
      `  ${name}: { description: "", async handler(_args, context) { void context; ${body} } },\n`,
  )
  .join("")}
} });
`;

/** The line of the source with this text. */
const lineOf = (text: string) => SOURCE.slice(0, SOURCE.indexOf(text)).split("\n").length;

let servlet: ServletUnderTest;
beforeAll(async () => {
  const path = await mkdtemp(join(tmpdir(), "typescript-"));
  await mkdir(join(path, "mine"));
  const manifest = { memory_limit: "8Mi", allowed_hosts: ["api.example"] };
  await writeFile(join(path, "mine/servlet.ts"), SOURCE);
  await writeFile(join(path, "mine/servlet.json"), JSON.stringify(manifest));
  servlet = await loadServlet(join(path, "mine"));
  await rm(path, { recursive: true });
});
const call = (name: keyof typeof HANDLERS, script: Script = {}) =>
  servlet.callTool(name, {}, script);

describe("an error at run time is an answer that a model can read", () => {
  test.each<[name: keyof typeof HANDLERS, message: RegExp]>([
    ["error", /^the moon is wrong$/],
    ["never", /never settle/],
    ["bigint", /BigInt/i],
    ["cycle", /circular|cycle/i],
    ["memory", /memory/],
    ["recursion", /recursed|stack/i],
  ])("%s", async (name, message) => {
    const { result } = await call(name);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(message);
  });

  test("a rejection that nobody handles is in the log", async () => {
    const { logs, result } = await call("rejection");
    expect(logs.join("\n")).toContain("unheard");
    expect(textOf(result)).toBe("fine");
  });

  test("the stack in the log leads to the author's file and line, also where the script has fewer lines", async () => {
    const { logs } = await call("error");
    expect(logs.join("\n")).toMatch(new RegExp(`mine/servlet\\.ts:${lineOf(HANDLERS.error)}\\b`));
  });

  test("a number or a date is formatted for no locale, rather than for a wrong one", async () => {
    const { logs, result } = await call("locale");
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/^toLocaleDateString formats for no locale here/);
    expect(logs.join("\n")).toMatch(new RegExp(`mine/servlet\\.ts:${lineOf(HANDLERS.locale)}\\b`));
  });
});

describe("a servlet under test", () => {
  test("is answered from a script, and tells what it asked", async () => {
    const { result, asked, notifications } = await call("asks", {
      answers: { "elicitation/create": [{ action: "accept", content: { sure: true } }] },
    });
    expect(JSON.parse(textOf(result)!)).toEqual({ action: "accept", content: { sure: true } });
    expect(asked).toMatchObject([{ method: "elicitation/create", params: { message: "Really?" } }]);
    expect(notifications).toMatchObject([
      { method: "notifications/progress", params: { progress: 1, total: 2, message: "half" } },
    ]);
  });

  test("has the network and the clock of its script", async () => {
    const { result } = await call("fetches", {
      now: 1_000_000,
      fetch: async (request: Request) =>
        new Response(`${request.method} ${request.url} ${await request.text()}`, { status: 201 }),
    });
    expect(JSON.parse(textOf(result)!)).toEqual({
      waited: 60_000,
      status: 201,
      body: "POST https://api.example/things in",
    });
  });

  test("starts anew in each call: nothing is left, nothing random is shared", async () => {
    const said = async () => textOf((await call("counts")).result)!.split(" ");
    const [first, second] = [await said(), await said()];
    expect([first[0], second[0]]).toEqual(["1", "1"]);
    expect(first[1]).not.toBe(second[1]);
    expect(first[2]).not.toBe(second[2]);
  });
});

test("ten small servlets share one interpreter, and are small enough for the free tier", async () => {
  for (let at = 0; at < 10; at++) {
    const source = tool(`return "number ${at}";`).replace("try_it", `try_${at}`);
    await folder.write({ "servlet.ts": source }, `s${at}`);
  }
  const members = await makeBundle({
    folders: [folder.path()],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const interpreters = new Map(members.map(({ prepared }) => [prepared.path, prepared.wasm]));
  expect(interpreters.size).toBe(1);
  const [interpreter] = interpreters.values();
  const gzip = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }).length;
  const patches = members.map(({ prepared }) => prepared.patch!.bytes);
  expect(interpreter!.length + patches[0]!.length).toBeLessThan(900 * 1024);
  expect(gzip(interpreter!) + gzip(patches[0]!)).toBeLessThan(370 * 1024);
  expect(gzip(interpreter!) + patches.reduce((sum, patch) => sum + gzip(patch), 0)).toBeLessThan(
    1024 * 1024,
  );
});

test("two bundles that are made at once do not share a type check", async () => {
  const at = async (name: string, body: string) => {
    const path = await folder.write({ "servlet.ts": tool(body) }, name);
    const options = { folders: [path], languages: LANGUAGES, cache: ".bundle", progress: () => {} };
    return makeBundle(options);
  };
  const [good, bad] = await Promise.allSettled([
    at("good", 'return "fine";'),
    at("bad", 'const n: number = "one"; return String(n);'),
  ]);
  expect([good.status, bad.status]).toEqual(["fulfilled", "rejected"]);
});
