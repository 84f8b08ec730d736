import { features } from "../../all-features.ts";
import { env } from "cloudflare:workers";
import MiniSearch from "minisearch";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { declarationOf } from "../../../src/server/features/search/declaration.ts";
import type { Tool } from "../../../src/server/kernel/core/model.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  ABLE,
  accept,
  beginTool,
  callOf,
  goOn,
  prepare,
  refused,
  send,
  TASKS,
  textIn,
} from "../../worker/calls/client.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { at, namesAt, profiled } from "../../worker/profiles.ts";
import { resultIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin } from "../../worker/mcp/legacy/session-steps.ts";

/** Tools that are not listed are found by words, and called as if they were. */
prepare();

const server = profiled();
const searched = { server: at("searched", server) };

const search = async (query: unknown, more: object = {}, sent: object = searched) =>
  textIn(await callOf("search_tools", { query, ...more }, sent));
const call = (name: string, args: object = {}, sent: object = searched) =>
  callOf("call_tool", { name, arguments: args }, sent);

describe("an endpoint whose tools are searched", () => {
  test("lists those that it names, and the two by which others are found and called", async () => {
    const { tools, prompts } = await namesAt(searched.server);
    expect(tools).toEqual(["greet", "search_tools", "call_tool"]);
    expect(prompts).toContain("explain_status");
  });

  test("is the whole server where its profile says so; others have no such tools", async () => {
    expect((await namesAt(server)).tools).not.toContain("search_tools");
    expect(await callOf("call_tool", { name: "greet" }, { server })).toMatchObject(
      refused(/Unknown tool: call_tool/),
    );
    const whole = profiled({}, { "": { tools: "search", listed: ["*:greet"] } });
    expect((await namesAt(whole)).tools).toEqual(["greet", "search_tools", "call_tool"]);
    expect(await search("look up a status code", {}, { server: whole })).toContain(
      "lookup_status(",
    );
  });

  test("calls tools that are not listed directly, too", async () => {
    expect(textIn(await callOf("lookup_status", { code: 404 }, searched))).toContain("404");
  });
});

describe("a search", () => {
  test("finds by names, descriptions, arguments and similar words, and writes functions", async () => {
    expect(await search("note")).toMatch(
      /add_note\(args: \{[^]*text: string;[^]*tags\?: string\[\];/,
    );
    expect(await search("listStatuses")).toMatch(/^[^]*list_statuses\(args: \{\}\): Promise</);
    expect(await search("statusess")).toContain("list_statuses");
    expect(await search("x_mcp region")).toContain("test_x_mcp_header");
  });

  test("finds no words that differ in more than two characters: long ones would take seconds", async () => {
    expect(await search("lxstxstatuses")).toContain("list_statuses(");
    expect(await search("lxstxstxtuses")).not.toContain("list_statuses(");
  });

  test("writes JSON Schemas where those are asked for, and how many", async () => {
    const found = await search("note", { format: "json", limit: 2 });
    const all = found.split("\n\n").map((one) => JSON.parse(one));
    expect(all).toHaveLength(2);
    expect(all[0]).toMatchObject({ name: expect.stringContaining("note"), inputSchema: {} });
  });

  test("says what a tool needs, and finds skills", { tags: ["skills"] }, async () => {
    // The protocol takes a tool for destructive that does not say otherwise.
    expect(await search("delete_note", { limit: 1 })).toMatch(
      /\(may delete or overwrite\) \*\/\ndelete_note\(/,
    );
    expect(await search("add_note", { limit: 1 })).not.toContain("may delete");
    expect(await search("guides through the board")).toContain("skill://viewing/guide/SKILL.md");
  });

  test(
    "finds nothing that the caller may not use, nor its pinned arguments",
    { tags: ["views"] },
    async () => {
      expect(await search("echo factor translate")).not.toMatch(/echo|factor|translate/);
      expect(await search("rounds")).not.toContain("key");
      expect(await search("search tools call")).not.toMatch(/search_tools\(|call_tool\(/);
      const app = { server: profiled({}, { "": { tools: "search" } }) };
      expect(await search("move view card", { limit: 20 }, app)).not.toMatch(/^move\(/m);
    },
  );

  test.each([
    "constructor",
    "__proto__",
    "hasOwnProperty toString valueOf",
    "(a+)+$ .* [",
    "\0\u{1F600}\ud800",
    " ",
    "-",
  ])("by an odd word is a search: %j", async (query) => {
    expect(typeof (await search(query))).toBe("string");
  });

  test.each([["x".repeat(401)], ["y".repeat(900_000)], [""], [1], [null], [{}]])(
    "by %.9s… is refused",
    async (query) => {
      const { result } = await callOf("search_tools", { query }, searched);
      expect(result).toMatchObject({ isError: true });
    },
  );

  test("of 10 MB is refused as any request of that size", async () => {
    const { status } = await callOf("search_tools", { query: "x".repeat(10_000_000) }, searched);
    expect(status).toBe(413);
  });

  test("makes the index once, however many search at first", async () => {
    const add = vi.spyOn(MiniSearch.prototype, "add");
    const app = { server: at("searched", profiled()) };
    await Promise.all(["note", "status", "greet"].map((query) => search(query, {}, app)));
    const ids = add.mock.calls.map(([document]) => document.id);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("over tools that mean no good is bounded", async () => {
    const hello = bundle.servlets.find(({ name }) => name === "hello")!;
    const words = (nth: number) =>
      Array.from({ length: 5000 }, (_, one) => (nth * 5000 + one).toString(36)).join(" ");
    const tools = ["constructor", "__proto__", "toString", ...Array(400).keys()].map((name) => ({
      name: String(name),
      description: words(Number(name) || 0),
      inputSchema: {
        type: "object" as const,
        properties: Object.fromEntries([
          ["*/ evil", { description: "*/ x" }],
          ["__proto__x", {}],
        ]),
      },
    }));
    const servlet = { ...hello, lists: { ...hello.lists!, tools: tools as Tool[] } };
    const profiles = { "": { tools: "search" as const } };
    const app = { server: createApp(new Kernel({ features, servlets: [servlet], profiles }, env)) };
    const add = vi.spyOn(MiniSearch.prototype, "add");
    const found = await search("constructor zz9 xyzzy", { limit: 20 }, app);
    // To make the index and to search it takes time by how many words are different.
    expect((add.mock.contexts.at(-1) as MiniSearch).termCount).toBeLessThan(13_000);
    expect(found).toContain("constructor(args");
    expect(found.length).toBeLessThan(200_000);
    expect(found).not.toContain("*/ x");
  });
});

describe("call_tool", () => {
  test("has the result of the tool, and its checks", async () => {
    expect(textIn(await call("lookup_status", { code: 404 }))).toContain("404");
    const unfit = await call("lookup_status", { code: "four" });
    expect(unfit.result).toMatchObject({ isError: true });
    expect(textIn(unfit)).toContain("do not match the input schema of lookup_status");
    const structured = await call("plan", steps({ do: "config" }));
    expect(structured.result!["structuredContent"]).toMatchObject({ said: ["hi"] });
  });

  test.each([
    ["echo", /Unknown tool: echo\..*Find it by search_tools/],
    ["call_tool", /does not call itself/],
    ["constructor", /Unknown tool/],
    ["__proto__", /Unknown tool/],
    ["move", /Unknown tool: move/],
  ])("says why it does not call %s", { tags: ["views"] }, async (name, message) => {
    const answer = await call(name, { name: "greet" });
    expect(answer.result).toMatchObject({ isError: true });
    expect(textIn(answer)).toMatch(message);
  });

  test.each([{}, { name: 1 }, { name: "greet", arguments: "x" }, { name: "greet", arguments: [] }])(
    "wants a name and an object: %j",
    async (args) => {
      const answer = await callOf("call_tool", args, searched);
      expect(answer.result).toMatchObject({ isError: true });
    },
  );

  test.each([
    [{ name: "greet", arguments: "Ada" }, /schema of call_tool: `arguments` must be/],
    [{ name: 1 }, /schema of call_tool: `name` must be/],
    [{}, /schema of call_tool: `name` is required/],
  ])("says what is wrong with its own arguments: %j", async (args, message) => {
    expect(textIn(await callOf("call_tool", args, searched))).toMatch(message);
  });

  test("takes arguments as JSON text, as a direct call does", async () => {
    const args = { name: "greet", arguments: '{"name": "Ada"}' };
    expect(textIn(await callOf("call_tool", args, searched))).toContain("Hello, Ada!");
  });

  test("takes null for no arguments, as a direct call does", async () => {
    const args = { name: "list_statuses", arguments: null };
    expect((await callOf("call_tool", args, searched)).result).not.toHaveProperty("isError");
  });

  test("does not propose the tool that it does not call", async () => {
    expect(textIn(await call("move"))).not.toContain("Did you mean move?");
  });

  test("has no pinned arguments, whatever patterns fit it", async () => {
    const profile = { servlets: ["hello"], tools: "search" as const };
    const pins = { "*:*": { name: "Ada", query: "x", limit: 1, arguments: {} } };
    const app = { server: at("a", profiled({}, { a: { ...profile, arguments: pins } })) };
    expect(textIn(await callOf("call_tool", { name: "greet" }, app))).toContain("Ada");
    expect(await search("greet", {}, app)).toContain("greet(args: {})");
  });

  test("finds the tool of an older build, with which its call goes on", async () => {
    const profiles = { "": { tools: "search" as const } };
    const { deployment } = new Kernel({ ...bundle, profiles }, env);
    const old = bundle.servlets.find(({ name }) => name === "hello")!;
    const servlets = [...deployment.own!.keys()];
    const later = new Registry({ servlets }, { ...deployment, oldBuild: async () => old });
    const input = { name: "greet", arguments: { name: "Ada" } };
    const registry = await later.at({
      head: { version: 1, hash: old.hash, input: "", seed: "", time: 0 },
    });
    const entry = await registry.resolve({ kind: "tool", name: "call_tool", input });
    expect(entry.servlet).toBe(old);
  });

  test(
    "asks the client, and goes on, with the arguments that are given",
    { tags: ["carried"] },
    async () => {
      const args = { name: "rounds", arguments: { rounds: 1 } };
      const round = await beginTool("call_tool", args, searched);
      expect(Object.keys(round.requests)).toEqual(["pinned"]);
      expect(textIn(await goOn(round, { pinned: accept("Bob", "name") }))).toBe("Bob");
      const other = { arguments: { name: "rounds", arguments: { rounds: 2 } } };
      expect(await goOn(round, { pinned: accept("Bob", "name") }, other)).toMatchObject(
        refused(/another call/),
      );
      const pinned = await call("rounds", { rounds: 1, key: "mine" });
      expect(textIn(pinned)).toContain("`key` is set by the server");
    },
  );

  test("becomes a task", { tags: ["tasks"] }, async () => {
    const sent = { ...searched, capabilities: { ...ABLE, ...TASKS } };
    const { taskId } = (await call("plan_required", steps(ELICIT), sent)).result!;
    const view = async () => (await send("tasks/get", { taskId }, sent)).result!;
    await expect.poll(async () => (await view())["inputRequests"]).toMatchObject({ ask_1: {} });
    await send("tasks/update", { taskId, inputResponses: { ask_1: accept("Bob") } }, sent);
    await expect.poll(async () => (await view())["status"]).toBe("completed");
    expect(saidIn(await view())).toEqual(["Bob"]);
  });

  test("sends progress, in a session too", { tags: ["sessions"] }, async () => {
    const client = await begin({ server: searched.server });
    const heard: string[] = [];
    const args = { name: "plan", arguments: steps({ do: "progress", message: "half" }, ELICIT) };
    const response = await client.call("call_tool", args, { _meta: { progressToken: "p" } });
    const { result } = await resultIn(response, async ({ id, method, params }) => {
      heard.push(`${method} ${params.progressToken ?? ""} ${params.message}`);
      if (method === "elicitation/create") await client.answer(id, accept("Bob"));
    });
    expect(heard).toEqual(["notifications/progress p half", "elicitation/create  Who?"]);
    expect(JSON.stringify(result)).toContain("Bob");
  });

  test(
    "is a task of a session whose client wants that, whatever the tool is",
    { tags: ["sessions"] },
    async () => {
      const client = await begin({ server: searched.server });
      const params = {
        name: "call_tool",
        arguments: { name: "greet", arguments: { name: "Ada" } },
      };
      const task = { ttl: 60_000 };
      const made = await resultIn(await client.request("tools/call", { ...params, task }));
      const { taskId } = made["result"].task;
      const { result } = await resultIn(await client.request("tasks/result", { taskId }));
      expect(result.content[0].text).toContain("Ada");
      const direct = { name: "greet", arguments: { name: "Ada" }, task };
      expect(await resultIn(await client.request("tools/call", direct))).toHaveProperty("error");
    },
  );

  test("are no tools of Open Tool Calling", async () => {
    const app = profiled({}, { "": { tools: "search" } });
    const response = await app.fetch(new Request("http://localhost:8787/tools"));
    expect(await response.text()).not.toMatch(/call_tool|search_tools/);
  });

  test("needs no header of the tool that it calls", async () => {
    expect((await call("test_x_mcp_header", { region: "eu" })).error).toBeUndefined();
    expect((await callOf("test_x_mcp_header", { region: "eu" }, searched)).error).toBeDefined();
  });

  test("needs the scope of the tool that it calls", async () => {
    const key = "scoped";
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)),
    ).toHex();
    const API_KEYS = JSON.stringify({ [key]: { hash, scopes: ["hello:*"] } });
    const app = profiled({ API_KEYS }, { "": { tools: "search" } });
    const sent = { server: app, headers: { authorization: `Bearer ${key}` } };
    expect(textIn(await call("greet", { name: "Ada" }, sent))).toContain("Ada");
    expect((await call("lookup_status", { code: 404 }, sent)).status).toBe(403);
    expect(await search("status code note", {}, sent)).not.toMatch(/status|note/);
  });
});

describe("a declaration", () => {
  const declared = (inputSchema: object, most = 8000) =>
    declarationOf({ name: "t", inputSchema } as Tool, most);

  test.each<[object, string]>([
    [{ type: "object" }, "{}"],
    [
      { type: "object", properties: { a: { type: ["string", "null"] } } },
      "{\n  a?: string | null;\n}",
    ],
    [
      { type: "object", properties: { "a-b": { enum: ["x", 1, null] } }, required: ["a-b"] },
      '{\n  "a-b": "x" | 1 | null;\n}',
    ],
    [
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/tree" } },
        $defs: { tree: { type: "array", items: { $ref: "#/$defs/tree" } } },
      },
      "{\n  a?: Array<Array<unknown[]>>;\n}",
    ],
    [
      {
        type: "object",
        properties: { a: { type: "integer", description: "x */ y\nz", default: 5 } },
      },
      "{\n  /** x * / y z Default: 5 */\n  a?: number;\n}",
    ],
    [
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/__proto__" }, b: { $ref: "https://x" } },
      },
      "{\n  a?: unknown;\n  b?: unknown;\n}",
    ],
    [
      { type: "object", properties: { a: { anyOf: [{ type: "string" }, { const: 3 }] } } },
      "{\n  a?: string | 3;\n}",
    ],
    [
      { type: "object", additionalProperties: { type: "number" } },
      "{\n  [name: string]: number;\n}",
    ],
  ])("of %j", (schema, type) => {
    expect(declared(schema)).toBe(`t(args: ${type}): Promise<unknown>`);
  });

  test("is bounded", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 1000 }, (_, one) => [`a${one}`, { type: "string" }]),
    );
    expect(declared({ type: "object", properties: wide }, 200)).toBe(
      "t(args: object): Promise<unknown>",
    );
    const self = {
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 60 }, (_, one) => [`a${one}`, { $ref: "#" }]),
      ),
    };
    expect(declared(self).length).toBeLessThan(10_000);
  });

  test.each<[string, object]>([
    ["members with long descriptions", { $ref: "#", description: "x".repeat(200) }],
    ["members with long values", { $ref: "#", default: "x".repeat(10_000) }],
    ["types again and again", { type: Array<string>(20).fill("object"), $ref: "#" }],
  ])("is bounded where a schema refers to itself: %s", (_what, member) => {
    const names = Array.from({ length: 60 }, (_, one) => [`a${one}${"y".repeat(1000)}`, member]);
    const self = { type: "object", properties: Object.fromEntries(names) };
    expect(declared(self)).toBe("t(args: object): Promise<unknown>");
  });
});
