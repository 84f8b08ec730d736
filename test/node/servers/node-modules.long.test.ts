import { createHash, createHmac } from "node:crypto";
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { folderOf, serverOf } from "./made.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";

const server = (
  scope: string,
  tool: string,
) => `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
${scope}
const server = new McpServer({ name: "node", version: "1.0.0" });
server.registerTool("use", { description: "Uses it" }, async () => ({ content: [{ type: "text", text: JSON.stringify(${tool}) }] }));
await server.connect(new StdioServerTransport());
`;

/** What the tool of a server gives whose module scope and answer are these. */
async function used(scope: string, tool: string, files: Record<string, string> = {}) {
  const servlet = await serverOf({ ...files, "src/index.ts": server(scope, tool) });
  const { result } = await servlet.callTool("use");
  const [block] = result.content as { text: string }[];
  if (result.isError === true) throw new Error(block!.text);
  return JSON.parse(block!.text) as unknown;
}

test("paths, URLs, texts, events and assertions", async () => {
  const scope = `import path, { join } from "path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { EventEmitter } from "events";
import { format, promisify } from "util";
import assert from "node:assert";
import { AsyncLocalStorage } from "async_hooks";
import os from "os";
import qs from "querystring";
import { setTimeout as wait } from "timers/promises";
const here = path.dirname(fileURLToPath(import.meta.url));
const isMain = import.meta.url === pathToFileURL(process.argv[1]).href;
const events = new EventEmitter();
let heard = 0;
events.on("a", (by) => (heard += by));
const store = new AsyncLocalStorage();`;
  const tool = `[join(here, "..", "x.txt"), isMain, (events.emit("a", 2), heard), format("%s-%d", "a", 1), store.run(5, () => store.getStore()),
    (() => { try { assert.strictEqual(1, 2); } catch (error) { return error.code; } })(), qs.stringify({ a: [1, 2] }), typeof os.EOL,
    Buffer.from("hi").toString("base64"), typeof promisify, await wait(1, "waited"), process.platform]`;
  expect(await used(scope, tool)).toEqual([
    "/servlet/x.txt",
    true,
    2,
    "a-1",
    5,
    "ERR_ASSERTION",
    "a=1&a=2",
    "string",
    "aGk=",
    "function",
    "waited",
    "linux",
  ]);
});

test("hashes, HMAC and random values are those of Node", async () => {
  const scope = `import crypto, { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";`;
  const tool = `[["md5", "sha1", "sha256", "sha512"].map((name) => createHash(name).update("a").update(Buffer.from("b")).digest("hex")),
    createHmac("sha256", "key").update("text").digest("base64"), crypto.createHash("sha256").update("ÿ", "latin1").digest("hex"),
    randomBytes(8).length, randomUUID().length, timingSafeEqual(Buffer.from("a"), Buffer.from("a")), crypto.randomInt(5, 6)]`;
  expect(await used(scope, tool)).toEqual([
    ["md5", "sha1", "sha256", "sha512"].map((name) => createHash(name).update("ab").digest("hex")),
    createHmac("sha256", "key").update("text").digest("base64"),
    createHash("sha256").update("ÿ", "latin1").digest("hex"),
    8,
    36,
    true,
    5,
  ]);
});

test("files of the package that its code names are there, others say why they are not", async () => {
  const scope = `import { readFileSync, existsSync, readdirSync, writeFileSync } from "fs";
import { readFile } from "fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import data from "./data.json" with { type: "json" };
const require = createRequire(import.meta.url);
const { version } = require("../package.json");
const __dirname = dirname(fileURLToPath(import.meta.url));
const own = JSON.parse(readFileSync(join(__dirname, "..", "package.json"), "utf-8"));
const failing = (work) => { try { return work(); } catch (error) { return [error.code, error.message]; } };`;
  const tool = `[version, own.name, data.a, await readFile(join(__dirname, "../prompts/hello.md"), "utf8"), readdirSync(join(__dirname, "../prompts")).toSorted(),
    existsSync("/etc/passwd"), failing(() => readFileSync(join(__dirname, "secret" + ".txt"))), failing(() => writeFileSync("./x", "y"))]`;
  const files = {
    "package.json": '{ "name": "mine", "version": "1.2.3", "type": "module" }',
    "src/data.json": '{ "a": 1 }',
    "src/secret.txt": "secret",
    "prompts/hello.md": "# Hello",
    "prompts/deep/other.md": "# Other",
  };
  expect(await used(scope, tool, files)).toEqual([
    "1.2.3",
    "mine",
    1,
    "# Hello",
    ["deep", "hello.md"],
    false,
    ["ENOENT", expect.stringContaining("its path has to be written in the code")],
    ["ENOENT", expect.stringContaining("/servlet/x")],
  ]);
});

test("what cannot be is refused where it is imported at the top, and throws in a branch", async () => {
  const folder = await folderOf({
    "src/index.ts": server(`import { spawn } from "node:child_process";`, "typeof spawn"),
  });
  await expect(loadServlet(folder)).rejects.toThrow(
    /"child_process" is a module of Node.*src\/index\.ts:3:\d+.*cannot start programs/s,
  );
  const scope = `const start = async () => { const { spawn } = await import("child_process"); return spawn; };`;
  await expect(used(scope, `await start()`)).rejects.toThrow(
    /"child_process" is a module of Node\. /,
  );
});

test("timers of module scope are not waited for", async () => {
  const scope = `setInterval(() => console.log("tick"), 1000).unref();
const later = setTimeout(() => console.log("late"), 10);
clearTimeout(later);`;
  expect(await used(scope, "1")).toBe(1);
});

test("a file that is too large is left out, and others of its folder are not", async () => {
  const scope = `import { readdirSync } from "node:fs";`;
  const files = { "data/a.bin": "a".repeat((1 << 20) + 1), "data/b.txt": "b" };
  expect(await used(scope, `readdirSync("data")`, files)).toEqual(["b.txt"]);
});

test.each([
  `import { __dirname } from "./places.ts";`,
  `const { __dirname } = await import("./places.ts");`,
])("a module may have a __dirname of its own: %s", async (scope) => {
  const files = { "src/places.ts": `export const __dirname = "/own";` };
  expect(await used(scope, "__dirname", files)).toBe("/own");
});

test.each([
  ["const = 1;", /index\.ts:3/],
  [`import "./absent.js";`, /Could not resolve "\.\/absent\.js"/],
])("a server that cannot be bundled is refused, and not passed over: %s", async (scope, why) => {
  await expect(used(scope, "1")).rejects.toThrow(why);
});

test("texts that are imported are those of their files", async () => {
  const scope = `import page from "./page.html"; import note from "./note.md";`;
  const files = { "src/page.html": "<p>", "src/note.md": "# Note" };
  expect(await used(scope, "[page, note]", files)).toEqual(["<p>", "# Note"]);
});

test("a package.json that is not JSON is refused", async () => {
  await expect(used("", "1", { "package.json": "{ no" })).rejects.toThrow(
    /package\.json: it is not JSON/,
  );
});

test("a module scope that keeps the servlet from being made is refused", async () => {
  await expect(used("Object.freeze(globalThis);", "1")).rejects.toThrow(
    /index\.ts: it could not be loaded: its module scope changes globals/,
  );
});

test("createRequire() may be called where it is made", async () => {
  const scope = `import { createRequire } from "node:module";
const { version } = createRequire(import.meta.url)("../package.json");`;
  const files = { "package.json": '{ "type": "module", "version": "1.2.3" }' };
  expect(await used(scope, "version", files)).toBe("1.2.3");
});

test("zlib packs and unpacks as Node does, and says what it has not", async () => {
  const text = "servlets ".repeat(100);
  const scope = `import zlib, { gunzipSync, inflateRawSync } from "node:zlib";
import { promisify } from "node:util";
const caught = (work) => { try { return work(); } catch (error) { return [error.code, error.message]; } };
const inflate = promisify(zlib.inflate);`;
  const given = [gzipSync(text), deflateSync(text), deflateRawSync(text)].map((one) =>
    JSON.stringify(one.toString("base64")),
  );
  const tool = `[
    gunzipSync(Buffer.from(${given[0]}, "base64")).toString(), (await inflate(Buffer.from(${given[1]}, "base64"))).toString(),
    inflateRawSync(Buffer.from(${given[2]}, "base64")).toString(),
    zlib.gzipSync(${JSON.stringify(text)}).toString("base64"), zlib.deflateSync("a", { level: 9 }).toString("base64"),
    caught(() => gunzipSync(Buffer.from("no")))[0], caught(() => zlib.createGzip())[1],
    await new Promise((resolve) => zlib.unzip("no", (error) => resolve(error.code)))]`;
  const [one, two, three, packed, short, bad, stream, called] = (await used(
    scope,
    tool,
  )) as string[];
  expect([one, two, three]).toEqual([text, text, text]);
  expect(gunzipSync(Buffer.from(packed!, "base64")).toString()).toBe(text);
  expect(inflateSync(Buffer.from(short!, "base64")).toString()).toBe("a");
  expect([bad, called]).toEqual(["Z_DATA_ERROR", "Z_DATA_ERROR"]);
  expect(stream).toMatch(/zlib.createGzip is not available.*zlib.gzipSync/);
});

/** A package beside a server. */
const installed = (name: string, text: string, more: object = {}) => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({
    name,
    version: "1.0.0",
    main: "index.js",
    ...more,
  }),
  [`node_modules/${name}/index.js`]: text,
});

test("what packages import and do not use does no harm; where it is used, it says what it is", async () => {
  const scope = `import { startAll, optional, place } from "arguments";
import { createReadStream, existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { createRequire } from "node:module";
import { InMemoryTaskStore, NeverThere } from "@modelcontextprotocol/sdk/experimental/tasks";
import fetch, { Headers } from "node-fetch";
const require = createRequire(import.meta.url);
const version = ["nowhere.json", "../package.json"].flatMap((name) => { try { return require(name).version; } catch { return []; } });
const said = (work) => { try { return work(); } catch (error) { return error.message; } };`;
  const tool = `[said(() => startAll()), said(() => createReadStream("a")), said(() => new InMemoryTaskStore()), typeof NeverThere,
    existsSync("/etc/passwd"), await optional().catch((error) => error.code), typeof place, version,
    parseArgs({ options: { port: { type: "string", default: "1" }, host: { type: "string" } } }).values,
    typeof fetch, new Headers({ a: "b" }).get("a")]`;
  const files = {
    ...installed(
      "arguments",
      `import { spawn } from "node:child_process";
import net from "node:net";
import { Transform } from "node:stream";
export class Lines extends Transform {}
export const startAll = () => (net.isIP("1") ? 1 : spawn("ls"));
export const optional = () => import("not-installed-anywhere");
export const place = import.meta.url;`,
      { type: "module" },
    ),
    "package.json": '{ "type": "module", "version": "1.2.3", "main": "src/index.ts" }',
  };
  expect(await used(scope, tool, files)).toEqual([
    expect.stringMatching(/"net" of Node\.isIP is not available in a servlet/),
    expect.stringMatching(/createReadStream of a module of Node is not available/),
    expect.stringMatching(/InMemoryTaskStore of the SDK is not available/),
    "function",
    false,
    "ERR_MODULE_NOT_FOUND",
    "string",
    ["1.2.3"],
    { port: "1" },
    "function",
    "b",
  ]);
});
