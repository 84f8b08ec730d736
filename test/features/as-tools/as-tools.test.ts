import { describe, expect, test } from "vitest";
import type { Profiles } from "../../../src/server/kernel/servlets/profiles.ts";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  newAddress,
  prepare,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import { resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { browser } from "../../worker/pages/browser.ts";
import { at, namesAt, profiled } from "../../worker/profiles.ts";

/** Resources and prompts as tools. */
prepare();

const profiles: Profiles = {
  "": { as_tools: ["resources", "prompts"] },
  reading: { servlets: ["http-status"], as_tools: ["resources"] },
  plain: { servlets: ["http-status", "hello"] },
};
const server = profiled({}, profiles);
const call = (name: string, args: Json = {}, of = server) => callOf(name, args, { server: of });
const TOOLS = ["list_resources", "read_resource", "list_prompts", "get_prompt"];

test("an endpoint has the tools that its profile says", async () => {
  const toolsOf = async (of = server) =>
    (await namesAt(of)).tools.filter((name) => TOOLS.includes(name));
  expect(await toolsOf()).toEqual(TOOLS);
  expect(await toolsOf(at("reading", server))).toEqual(TOOLS.slice(0, 2));
  expect(await toolsOf(at("plain", server))).toEqual([]);
  expect(await toolsOf(profiled({}, {}))).toEqual([]);
  const { error } = await call("get_prompt", { name: "x" }, at("reading", server));
  expect(error?.message).toMatch(/Unknown tool: get_prompt/);
});

describe("the tools", () => {
  test("list resources and templates, and read them", async () => {
    const page = JSON.parse(textIn(await call("list_resources")));
    const names = page.listed.map(({ uri, uriTemplate }: Json) => uri ?? uriTemplate);
    expect(names).toEqual(expect.arrayContaining(["http-status://index", "http-status://{code}"]));
    expect(textIn(await call("read_resource", { uri: "http-status://404" }))).toContain(
      "Not Found",
    );
    const { result } = await call("read_resource", { uri: "nothing://here" });
    expect(result).toMatchObject({ isError: true });
    expect(textIn({ status: 200, result: result! })).toContain("nothing://here");
  });

  test("list prompts, and return their messages", async () => {
    const page = JSON.parse(textIn(await call("list_prompts")));
    expect(page.listed.map(({ name }: Json) => name)).toContain("explain_status");
    const got = await call("get_prompt", { name: "explain_status", arguments: { code: "404" } });
    expect(textIn(got)).toMatch(/^user: .*404/);
    expect((await call("get_prompt", { name: "no_such" })).result).toMatchObject({ isError: true });
    const wrong = await call("get_prompt", { name: "explain_status", arguments: { code: 1 } });
    expect(wrong.result).toMatchObject({ isError: true });
  });

  test("reach only what the profile has", async () => {
    const reading = at("reading", server);
    const page = JSON.parse(textIn(await call("list_resources", {}, reading)));
    const uris = page.listed.map(({ uri, uriTemplate }: Json) => uri ?? uriTemplate);
    expect(uris.every((uri: string) => uri.startsWith("http-status:"))).toBe(true);
    const { result } = await call("read_resource", { uri: "note://all" }, reading);
    expect(result).toMatchObject({ isError: true });
  });

  test("reach only what the caller's scopes grant", async () => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("ada"));
    const hash = new Uint8Array(digest).toHex();
    const keys = { API_KEYS: JSON.stringify({ ada: { hash, scopes: ["notes:*"] } }) };
    const sent = { server: profiled(keys, profiles), headers: { authorization: "Bearer ada" } };
    const page = JSON.parse(textIn(await callOf("list_resources", {}, sent)));
    expect(page.listed.length).toBeGreaterThan(0);
    expect(JSON.stringify(page)).not.toContain("http-status:");
    for (const [name, args] of [
      ["read_resource", { uri: "http-status://404" }],
      ["read_resource", { uri: "http-status://index" }],
      ["get_prompt", { name: "explain_status", arguments: { code: "404" } }],
    ] as const) {
      const { status, error } = await callOf(name, args, sent);
      expect([status, error?.message]).toEqual([403, expect.stringContaining("lacks the scope")]);
    }
  });

  test("are for clients: no servlet may call them", { tags: ["state", "tool-calls"] }, async () => {
    const code = "await tools.read_resource({ uri: 'http-status://404' })";
    const { result } = await call("run_code", { code });
    expect(textIn({ status: 200, result: result! })).toContain(
      "may not call read_resource, which is a tool of the server itself: only clients may.",
    );
  });

  test("refuse a URI that is too long to look for", async () => {
    const { result } = await call("read_resource", { uri: `http-status://${"4".repeat(200_000)}` });
    expect(result).toMatchObject({ isError: true });
    expect(textIn({ status: 200, result: result! })).toMatch(/^The URI has \d+ characters/);
  });

  test.each([
    ["read_resource", { uri: "note://999999" }, "There is no note 999999. See list_notes."],
    ["get_prompt", { name: "explain_status", arguments: { code: "9" } }, /no registered .* 9\./],
  ] as const)("give a servlet's error to the model: %s", async (name, args, message) => {
    const { result } = await call(name, args);
    expect(result).toMatchObject({ isError: true });
    expect(textIn({ status: 200, result: result! })).toMatch(message);
  });

  test("refuse a stale cursor, with what to do", async () => {
    const { result } = await call("list_resources", { cursor: "nonsense" });
    expect(result).toMatchObject({ isError: true });
    expect(textIn({ status: 200, result: result! })).toContain("List again without one");
  });
});

const ASKING = [
  ["read_resource", { uri: "plan://resource" }, "A resource for Ada"],
  ["get_prompt", { name: "plan_prompt" }, "user: A prompt for Ada"],
] as const;

describe("what asks the user", () => {
  test.each(ASKING)(
    "goes on with the answer: %s",
    { tags: ["carried"] },
    async (name, args, text) => {
      const round = await beginTool(name, args, { server: at("plans", profiled()) });
      expect(textIn(await goOn(round, { ask_1: accept("Ada", "name") }))).toBe(text);
    },
  );

  test.each(ASKING)("goes on by a link: %s", { tags: ["people"] }, async (name, args, text) => {
    const sent = { server: at("plans", profiled({ LINKS: "on" })), capabilities: {} };
    const { id, url } = (await callOf(name, args, sent)).result!["structuredContent"];
    await browser().answer(url, { f0: "Ada" });
    expect(textIn(await callOf("get_result", { id }, sent))).toBe(text);
  });

  describe.each<[string, { stored?: false }]>([
    ["that has an object", {}],
    ["without one yet", { stored: false }],
  ])("goes on in a session %s", { tags: ["sessions"] }, (_which, options) => {
    test.each(ASKING)("%s", async (name, args, text) => {
      const sent = {
        server: at("plans", profiled()),
        headers: { "cf-connecting-ip": newAddress() },
      };
      const client = await SessionClient.begin({ ...sent, ...options });
      const heard = async ({ id }: Json) => client.answer(id, accept("Ada", "name"));
      const { result } = await resultIn(await client.call(name, args), heard);
      expect(result).toMatchObject({ content: [{ text }] });
    });
  });
});
