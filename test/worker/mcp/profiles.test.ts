import { describe, expect, test } from "vitest";
import { callOf, prepare, send, type Sent, textIn } from "../calls/client.ts";
import { at, namesAt, profiled } from "../profiles.ts";
import { post } from "../server.ts";

/** Each profile is an endpoint, at which there is what it names, and nothing that began elsewhere. */
prepare();

const server = profiled();
const support: Sent = { server: at("support", server) };
const whole: Sent = { server };

describe("the endpoint of a profile", () => {
  test("lists what the profile names", async () => {
    const { tools, prompts, resources, templates } = await namesAt(support.server!);
    expect(tools.toSorted()).toEqual([
      "echo_input",
      "greet",
      "lookup_status",
      "plan",
      "plan_always",
      "plan_back",
      "plan_back_always",
      "plan_never",
      "plan_required",
      "rounds",
      "rounds_always",
    ]);
    expect(prompts).toEqual(["explain_status"]);
    expect(resources).toEqual(["http-status://index"]);
    expect(templates).toEqual(["http-status://{code}"]);
  });

  test("introduces itself, without a line of the whole server's", async () => {
    const { result } = await send("server/discover", {}, { ...support });
    expect(result).toMatchObject({ instructions: expect.stringMatching(/^Greet first\./) });
    expect(result!["_meta"]["io.modelcontextprotocol/serverInfo"]).toMatchObject({
      title: "Support",
      description: "What support needs.",
    });
    // Those of servlets that are offered follow.
    expect(result!["instructions"]).toContain("durable: Plan first.");
    const secretive = profiled({ SERVER_INSTRUCTIONS: "Use the vault." });
    const others = await send("server/discover", {}, { server: at("plans", secretive) });
    expect(JSON.stringify(others.result)).not.toContain("vault");
    const { result: all } = await send("server/discover", {}, { server: secretive });
    expect(all!["instructions"]).toContain("vault");
  });

  test.each([
    ["tools/call", { name: "echo", arguments: { text: "x" } }, /Unknown tool: echo/],
    ["tools/call", { name: "list_statuses" }, /Unknown tool: list_statuses/],
    ["prompts/get", { name: "plan_prompt" }, /Unknown prompt: plan_prompt/],
    ["resources/read", { uri: "note://all" }, /not found/i],
    ["resources/read", { uri: "plan://resource" }, /not found/i],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "plan_prompt" }, argument: { name: "x", value: "" } },
      /Unknown prompt/,
    ],
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "note://{id}" }, argument: { name: "id", value: "" } },
      /Unknown resource template/,
    ],
  ])("knows nothing beyond it: %s %j", async (method, params, message) => {
    const { error } = await send(method, params, { ...support });
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(error!.data?.scope).toBeUndefined();
  });

  test("does not guess names that it does not have", async () => {
    const { error } = await send("tools/call", { name: "list_statuse" }, { ...support });
    expect(error!.message).not.toContain("list_statuses");
  });

  test("of an unknown profile is none", async () => {
    const response = await post({}, {}, at("nobody", server));
    expect(response.status).toBe(404);
    for (const name of ["constructor", "__proto__", "server-card/x"]) {
      const { status } = await server.fetch(
        new Request(`http://localhost:8787/mcp/${name}`, { method: "GET" }),
      );
      expect(status).toBe(404);
    }
  });
});

describe("a pinned argument", () => {
  test("is given, and not shown", async () => {
    expect(textIn(await callOf("greet", {}, support))).toContain("Ada");
    const { result } = await send("tools/list", {}, support);
    const greet = result!["tools"].find(({ name }: { name: string }) => name === "greet");
    expect(greet.inputSchema.properties).toEqual({});
    expect(greet.inputSchema.required ?? []).toEqual([]);
    expect(textIn(await callOf("greet", { name: "Eve" }, whole))).toContain("Eve");
  });

  test.each([["Eve"], ["Ada"], [null], [{}]])("is refused by name: %j", async (name) => {
    const { result } = await callOf("greet", { name }, support);
    expect(result).toMatchObject({ isError: true });
    expect(result!["content"][0].text).toContain("`name` is set by the server");
  });

  test("is not replaced by what a client writes beside the arguments", async () => {
    const pinned = { name: "Eve" };
    const params = { name: "greet", arguments: {}, pinned, ref: { pinned }, input: pinned };
    expect(textIn(await send("tools/call", params, { ...support, meta: { pinned } }))).toContain(
      "Ada",
    );
    const polluted = JSON.parse('{"__proto__": {"name": "Eve"}}') as object;
    const answer = await send("tools/call", { name: "greet", arguments: polluted }, support);
    expect(JSON.stringify(answer)).not.toContain("Eve");
  });
});
