import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { hashOf, type Build } from "../../../../src/server/features/installs/build.ts";
import { limits } from "../../../../src/server/features/installs/limits.ts";
import type { CallToolResult } from "../../../../src/server/kernel/core/model.ts";
import { assembled } from "../../../node/bundle/wasm/wat-guests.ts";
import { built, Operator, request, serveInstalling } from "../../../node/http/installing.ts";

/** Each is refused with a message that says what to do, changes nothing, and others are still served. */

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

type Built = Awaited<ReturnType<typeof built>>;
let server: Awaited<ReturnType<typeof serveInstalling>>;
let operator: Operator;
let words: Built;
let state: unknown;

const source = (
  tool: string,
  reply = tool,
) => `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  ${tool}: { description: "Replies.", input: { type: "object", properties: {} }, handler: () => "${reply}" },
} });`;

/** The reply of a tool, to a caller that may use all. */
async function call(name: string) {
  const asked = { method: "tools/call", params: { name, arguments: {} } };
  const { content } = (await request(server.url, asked, bearer("boss"))) as CallToolResult;
  return (content as { text: string }[])[0]!.text;
}

/** All that installs change. */
async function seen() {
  const listed = await request(server.url, { method: "tools/list" }, bearer("boss"));
  const { tools } = listed as { tools: { name: string }[] };
  return {
    servlets: (await operator.json("GET", "servlet/"))["servlets"],
    versions: (await operator.json("GET", "servlet/words"))["versions"],
    tools: tools.map(({ name }) => name),
    reply: await call("say"),
  };
}

beforeAll(async () => {
  server = await serveInstalling({
    API_KEYS: JSON.stringify({
      boss: { hash: sha256("boss"), scopes: ["operator", "*:*"] },
      guest: { hash: sha256("guest"), scopes: ["*:*"] },
      anybody: sha256("anybody"),
    }),
  });
  operator = new Operator(server.url, bearer("boss"));
  words = await built("words", source("say", "hello"));
  await operator.put(words);
  await vi.waitUntil(async () => (await call("say").catch(String)) === "hello", 15_000);
  state = await seen();
});
afterAll(() => server.close());
afterEach(async ({ expect: demand }) => demand(await seen()).toEqual(state));

/** The status of a refusal, and its message. */
async function refused(
  method: string,
  path: string,
  body?: Parameters<Operator["send"]>[2],
  as = operator,
) {
  const response = await as.send(method, path, body);
  const text = await response.text();
  const read = text === "" ? {} : (JSON.parse(text) as { error?: string });
  return `${response.status} ${read.error ?? text}`;
}

/** A build of one module with these bytes, without lists. */
async function buildWith(module: Uint8Array<ArrayBuffer>, more: Partial<Build> = {}) {
  const parts = { module: sha256(module) };
  const build = {
    ...words.build,
    name: "other",
    parts,
    hash: await hashOf(parts),
    exports: ["call"],
    lists: { tools: [], prompts: [], resources: [], resourceTemplates: [] },
    definitions: {},
    ...more,
  } as Build;
  return { build, code: new Map([[parts.module, module]]) };
}

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const EMPTY = new Uint8Array(HEADER);
/** Imports e.x. */
const IMPORTING = new Uint8Array([...HEADER, 1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, 0x65, 1, 0x78, 0, 0]);

describe("a part is refused", () => {
  test.each([
    [
      "with another digest",
      sha256("other"),
      "bytes",
      /^400 .*do not match the digest.*Send it again/,
    ],
    ["without bytes", sha256(""), "", /^400 .*(empty|Content-Length)/],
    ["whose name is not a digest", "words", "bytes", /^400 .*Expected part\/SHA256/],
  ])("%s", async (_, digest, body, error) => {
    expect(await refused("PUT", `part/${digest}`, body)).toMatch(error);
  });

  test("that is too large, before it is read", async () => {
    const { hostname, port } = server.url;
    const headers = { ...bearer("boss"), "content-length": limits.partBytes + 1 };
    const path = `/operator/part/${sha256("large")}`;
    const sending = httpRequest({ hostname, port, path, method: "PUT", headers });
    sending.flushHeaders();
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    expect(await textOf(response)).toMatch(/\(limit \d+\)/);
    sending.destroy();
  });

  test("that is cut off", async () => {
    const bytes = new Uint8Array(100_000).fill(7);
    const digest = sha256(bytes);
    const socket = connect(Number(server.url.port), server.url.hostname);
    await once(socket, "connect");
    socket.write(
      `PUT /operator/part/${digest} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer boss\r\ncontent-length: ${bytes.length}\r\n\r\n`,
    );
    // What was written arrives before the end.
    await new Promise((written) => socket.write(bytes.subarray(0, 50_000), written));
    socket.destroy();
    await once(socket, "close");
    const { build } = await buildWith(bytes);
    expect(await operator.json("PUT", "servlet/other", build)).toEqual({ missing: [digest] });
  });

  test("that has no Content-Length", async () => {
    const bytes = new TextEncoder().encode("bytes");
    const response = await fetch(new URL(`/operator/part/${sha256(bytes)}`, server.url), {
      method: "PUT",
      headers: bearer("boss"),
      body: new Blob([bytes]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("Send it as Content-Length");
  });
});

test("a name of the bundle is refused before any part is asked for", async () => {
  const { build } = await buildWith(new Uint8Array([...HEADER, 0, 2, 1, 0x62]), { name: "hello" });
  expect(await refused("PUT", "servlet/hello", build)).toMatch(
    /^409 The name hello belongs to a servlet of the bundle/,
  );
});

test("what another operator has changed meanwhile is not replaced", async () => {
  const later = await built("words", source("say", "goodbye"));
  for (const [digest, { bytes }] of later.code) await operator.json("PUT", `part/${digest}`, bytes);
  const changed =
    /^409 Another operator has changed words meanwhile: version 1 is served now\. .*try again/;
  expect(await refused("PUT", "servlet/words?seen=0", later.build)).toMatch(changed);
  expect(await refused("PUT", "servlet/words?seen=2", later.build)).toMatch(changed);
  expect(await refused("POST", "servlet/words?seen=2", { rollback: 1 })).toMatch(changed);
  expect(await refused("DELETE", "servlet/words?seen=2")).toMatch(changed);
  // The same build again is no change.
  expect(await operator.json("PUT", "servlet/words?seen=0", words.build)).toMatchObject({
    isNew: false,
  });
});

describe("code is refused", () => {
  test.each([
    ["that is no wasm", new TextEncoder().encode("not wasm"), /^400 .*cannot be loaded/],
    ["that imports what is not offered", IMPORTING, /^400 .*imports e\.x, which is not offered/],
    ["that has not the exports that the build names", EMPTY, /^400 .*does not export call/],
  ])("%s", async (_, module, error) => {
    const { build, code } = await buildWith(module);
    for (const path of ["servlet/other", "build/other"]) {
      for (const [digest, bytes] of code) await operator.json("PUT", `part/${digest}`, bytes);
      expect(await refused("PUT", path, build)).toMatch(error);
    }
  });
});

describe("code that was not prepared is refused", () => {
  const FUNCTIONS = ["edge_alloc", "edge_free", "edge_input", "edge_length"]
    .map((name) => `(func (export "${name}"))`)
    .join(" ");
  const KERNEL = `${FUNCTIONS} (memory (export "edge_memory") 1)`;
  const FUEL = '(global (export "edge_fuel") (mut i64) (i64.const 0))';
  const CALL = '(func (export "call") (result i32) (i32.const 0))';
  test.each([
    ["a plugin as it was built", `(memory (export "memory") 1) ${CALL}`, /global edge_fuel/],
    ["one that counts, and has no kernel", `${FUEL} ${CALL}`, /memory edge_memory/],
    ["one whose fuel is a function", `${KERNEL} (func (export "edge_fuel")) ${CALL}`, /edge_fuel/],
    [
      "one whose fuel is constant",
      `${KERNEL} (global (export "edge_fuel") i64 (i64.const 0)) ${CALL}`,
      /edge_fuel is not a mutable i64/,
    ],
    [
      "one whose fuel is an i32",
      `${KERNEL} (global (export "edge_fuel") (mut i32) (i32.const 0)) ${CALL}`,
      /edge_fuel is not a mutable i64/,
    ],
    [
      "one whose memory has no bound",
      `${KERNEL} ${FUEL} (memory (export "memory") 1) ${CALL}`,
      /global edge_pages/,
    ],
    [
      "one whose marks stand for other bytes",
      `${KERNEL} ${FUEL} (memory (export "memory") 1) (global (export "edge_pages") (mut i32) (i32.const 1)) (memory (export "edge_marks") 1) ${CALL}`,
      /it has edge_marks, and this server edge_marks_1024/,
    ],
    [
      "one that computes as it is loaded",
      `${KERNEL} ${FUEL} ${CALL} (func $begin (loop (br 0))) (start $begin)`,
      /has a start function/,
    ],
  ])("%s", async (_, fields, error) => {
    const { build, code } = await buildWith(await assembled(fields, "multimemory"));
    for (const [digest, bytes] of code) await operator.json("PUT", `part/${digest}`, bytes);
    for (const [method, path] of [
      ["PUT", "servlet/other"],
      ["PUT", "build/other"],
      ["POST", "replay/other"],
    ] as const) {
      const said = await refused(method, path, build);
      expect(said).toMatch(/^400 .*was not prepared/);
      expect(said).toMatch(error);
    }
  });
});

const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
const tool = (more: object) => ({
  tools: [{ name: "t", inputSchema: { type: "object", properties: {} }, ...more }],
});
const lists = (more: object) => ({
  lists: { tools: [], prompts: [], resources: [], resourceTemplates: [], ...more },
});

describe("a build is refused", () => {
  test.each<[string, object, RegExp]>([
    ["that is an array", [], /^400 /],
    ["that lacks members", {}, /^400 The build is not valid/],
    ["with a hash of other parts", { hash: sha256("x") }, /hash does not match parts/],
    ["with an invalid digest", { parts: { module: "x" } }, /^400 .*parts.module must be a SHA-256/],
    ["with unknown members", { colour: "red" }, /^400 .*colour/],
    ["of another name", { name: "another" }, /^400 .*another, but the path names/],
    ["whose name has a slash", { name: "a/b" }, /^400 .*name must be the name of a servlet/],
    ["of an unknown dialect", { dialect: "x" }, /^400 .*dialect/],
    ["whose manifest is a number", { manifest: 5 }, /^400 .*manifest/],
    [
      "whose manifest has a number for hosts",
      { manifest: { allowed_hosts: 5 } },
      /^400 .*manifest.allowed_hosts/,
    ],
    [
      "whose manifest has an unknown member",
      { manifest: { colour: 5 } },
      /^400 .*manifest.*colour/,
    ],
    [
      "whose manifest has an invalid pattern",
      { manifest: { skip_tools: ["("] } },
      /^400 .*skip_tools/,
    ],
    [
      "whose manifest has a wrong memory limit",
      { manifest: { memory_limit: "lots" } },
      /^400 .*memory_limit/,
    ],
    ["whose lists are a number", { lists: 5 }, /^400 .*lists/],
    ["whose lists are incomplete", { lists: { tools: [] } }, /^400 .*lists/],
    ["whose tools are a number", lists({ tools: 5 }), /^400 .*tools/],
    ["whose tools are numbers", lists({ tools: [5] }), /^400 .*tools/],
    [
      "whose tool has no name",
      lists({ tools: [{ inputSchema: { type: "object" } }] }),
      /^400 .*tools/,
    ],
    ["whose tool has a number for a name", lists(tool({ name: 5 })), /^400 .*tools/],
    ["whose tool has a number for a description", lists(tool({ description: 5 })), /^400 .*tools/],
    ["whose tool has no schema", lists({ tools: [{ name: "t" }] }), /^400 .*inputSchema/],
    [
      "whose schema has a number for properties",
      lists(tool({ inputSchema: { type: "object", properties: 5 } })),
      /^400 .*inputSchema/,
    ],
    [
      "whose schema has an invalid pattern",
      lists(tool({ inputSchema: { type: "object", properties: { a: { pattern: "(" } } } })),
      /^400 .*inputSchema/,
    ],
    [
      "whose schema nests endlessly",
      lists(tool({ inputSchema: { type: "object", properties: { a: deep(5000) } } })),
      /^(400|413) /,
    ],
    ["whose resource has no URI", lists({ resources: [{ name: "r" }] }), /^400 .*resources/],
    [
      "whose template is too long",
      lists({ resourceTemplates: [{ name: "r", uriTemplate: "x".repeat(100_000) }] }),
      /^400 .*resourceTemplates/,
    ],
    ["whose prompt is null", lists({ prompts: [null] }), /^400 .*prompts/],
    [
      "that is too large",
      lists(tool({ description: "x".repeat(limits.buildBytes) })),
      /^413 .*too large/,
    ],
    ["whose definitions are numbers", { definitions: { t: 5 } }, /^400 .*definitions/],
    ["whose exports are numbers", { exports: [5] }, /^400 .*exports/],
  ])("%s", async (_, change, error) => {
    const build =
      Object.keys(change).length > 0 ? { ...words.build, name: "other", ...change } : change;
    expect(await refused("PUT", "servlet/other", build)).toMatch(error);
    expect(await refused("PUT", "build/other", build)).toMatch(/^4/);
  });

  test.each([
    [
      "state, and memory that cannot be kept",
      { state: "caller" },
      { restorable: false },
      /cannot be kept/,
    ],
    ["folders and no state", { allowed_paths: ["data:/data"] }, {}, /needs manifest.state/],
    ["a folder twice", { state: "caller", allowed_paths: ["a:/x", "b:/x"] }, {}, /allowed_paths/],
  ])("that has %s", async (_, manifest, more, message) => {
    const build = { ...words.build, ...more, name: "other", manifest };
    const said = await refused("PUT", "servlet/other", build);
    expect(said).toMatch(/^400 /);
    expect(said).toMatch(message);
  });

  test("that has files for a folder that it does not have", async () => {
    const { build: known } = words;
    const parts = { ...known.parts, files: { data: known.parts.module } };
    const build = { ...known, name: "other", manifest: { state: "caller" }, parts };
    expect(await refused("PUT", "servlet/other", build)).toMatch(/^400 .*data is not in allowed/);
  });

  test("that clashes with a servlet of the bundle, or with another that is installed", async () => {
    const bundled = { ...words.build, name: "hello", manifest: { skip_tools: ["say"] } };
    expect(await refused("PUT", "servlet/hello", bundled)).toMatch(/^409 .*under another name/);
    const own = { ...bundled, name: "server-operator" };
    expect(await refused("PUT", "servlet/server-operator", own)).toMatch(
      /^409 .*under another name/,
    );
    const same = { ...words.build, name: "other" };
    expect(await refused("PUT", "servlet/other", same)).toMatch(/^409 .*words also has say/);
  });

  test("whose parts are missing", async () => {
    const { build } = await buildWith(new TextEncoder().encode("never sent"));
    const { module } = build.parts;
    expect(await operator.json("PUT", "servlet/other", build)).toEqual({ missing: [module] });
    expect(await operator.json("PUT", "build/other", build)).toMatchObject({ missing: [module] });
    expect(await operator.json("POST", "replay/other", build)).toEqual({ missing: [module] });
  });

  test("that is not JSON", async () => {
    expect(await refused("PUT", "servlet/other", "{")).toMatch(/^4\d\d .*Content-Type/);
  });
});

describe("an operator is refused", () => {
  test.each([
    [
      "POST",
      "servlet/words",
      { rollback: 99 },
      /^400 There is no version 99 of words\. Versions that are kept: 1\./,
    ],
    ["POST", "servlet/words", { rollback: null }, /^400 .*Expected \{"rollback": VERSION\}/],
    ["POST", "servlet/words", { rollback: "1" }, /^400 .*Expected \{"rollback": VERSION\}/],
    ["POST", "servlet/nothing", { rollback: 1 }, /^400 No version of nothing is kept/],
    ["DELETE", "servlet/nothing", undefined, /^400 No servlet nothing is installed/],
    ["DELETE", "build/nothing", undefined, /^400 No build of nothing is published/],
    ["DELETE", "servlet/hello", undefined, /^400 No servlet hello is installed/],
    ["DELETE", "part/x", undefined, /^405 DELETE is not supported at part\. Use PUT/],
    ["PUT", "servlet/a/b", {}, /^404 .*one of state, /],
  ])("%s %s", async (method, path, body, error) => {
    expect(await refused(method, path, body)).toMatch(error);
  });

  test.each([
    ["without the scope", bearer("guest"), 403],
    ["whose key has no scopes", bearer("anybody"), 403],
    ["with a wrong key", bearer("wrong"), 401],
    ["without credentials", {}, 401],
  ])("%s", async (_, headers, status) => {
    const other = new Operator(server.url, headers);
    for (const [method, path, body] of [
      ["PUT", "servlet/words", { ...words.build, manifest: { prefix: "x" } }],
      ["PUT", "build/words", words.build],
      ["DELETE", "build/words", undefined],
      ["PUT", `part/${sha256("x")}`, "x"],
      ["POST", "replay/words", words.build],
      ["POST", "servlet/words", { rollback: 1 }],
      ["GET", "servlet/", undefined],
      ["DELETE", "servlet/words", undefined],
    ] as const) {
      expect(await refused(method, path, body, other)).toMatch(new RegExp(`^${status} .*\\w`));
    }
  });
});

describe("at once", () => {
  test("the same install ten times makes one version, and two others make two in some order", async () => {
    const one = await built("pair", source("pair", "one"));
    const two = await built("pair", source("pair", "two"));
    for (const { code } of [one, two]) {
      for (const [digest, { bytes }] of code) await operator.json("PUT", `part/${digest}`, bytes);
    }
    const put = ({ build }: Built) => operator.json("PUT", "servlet/pair", build);
    const ten = await Promise.all(Array.from({ length: 10 }, () => put(one)));
    expect(ten.map(({ version }) => version)).toEqual(Array(10).fill(1));
    expect(ten.filter(({ isNew }) => isNew)).toHaveLength(1);
    const both = await Promise.all([put(two), put(one)]);
    expect(both.map(({ hash }) => hash)).toEqual([two.build.hash, one.build.hash]);
    const { versions, current } = await operator.json("GET", "servlet/pair");
    const numbers = (versions as { version: number }[]).map(({ version }) => version);
    expect(numbers[0]).toBe(current);
    expect(numbers.length).toBe(Math.max(...both.map(({ version }) => version as number)));
    await operator.json("DELETE", "servlet/pair");
    // Each isolate serves it for a while still.
    await expect.poll(seen, { timeout: 15_000, interval: 50 }).toEqual(state);
  });
});
