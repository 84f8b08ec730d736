import { describe, expect, test } from "vitest";
import type { Profiles } from "../../../src/server/kernel/servlets/profiles.ts";
import { callOf, prepare, textIn, type Json } from "../../worker/calls/client.ts";
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

  test("refuse a stale cursor, with what to do", async () => {
    const { result } = await call("list_resources", { cursor: "nonsense" });
    expect(result).toMatchObject({ isError: true });
    expect(textIn({ status: 200, result: result! })).toContain("List again without one");
  });
});
