import { describe, expect, test } from "vitest";
import { answerOf, eventsOf, post } from "../server.ts";

const request = (method: string, params: object = {}, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

const ask = async (method: string, params: object = {}, version = "2025-11-25") =>
  answerOf(await post(request(method, params), { "mcp-protocol-version": version }));

describe("initialize", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
    "agrees on %s",
    async (version) => {
      const { result } = await answerOf(
        await post(request("initialize", { protocolVersion: version })),
      );
      expect(result).toMatchObject({
        protocolVersion: version,
        serverInfo: { name: "edge-servlets" },
        capabilities: { tools: {} },
      });
    },
  );

  test("offers the newest where the client's is unknown", async () => {
    const { result } = await answerOf(
      await post(request("initialize", { protocolVersion: "1.0" })),
    );
    expect(result?.["protocolVersion"]).toBe("2025-11-25");
  });
});

test("ping gives nothing", async () => {
  expect((await ask("ping")).result).toEqual({});
});

test("a client that never initialises is served", async () => {
  const { result } = await answerOf(
    await post(request("tools/call", { name: "greet", arguments: { name: "Ada" } })),
  );
  expect(result).toEqual({ content: [{ type: "text", text: "Hello, Ada!" }] });
});

test("errors of a request come with 200, and a missing resource is -32002", async () => {
  const missing = await ask("resources/read", { uri: "http-status://999" });
  expect({ status: missing.status, code: missing.error?.code }).toEqual({
    status: 200,
    code: -32002,
  });
  const unknown = await ask("nope");
  expect({ status: unknown.status, code: unknown.error?.code }).toEqual({
    status: 200,
    code: -32601,
  });
});

test("logging/setLevel takes levels only", async () => {
  expect((await ask("logging/setLevel", { level: "info" })).result).toEqual({});
  expect((await ask("logging/setLevel", { level: "loud" })).error?.code).toBe(-32602);
});

test("progress and logs come on the stream of the call", async () => {
  const events = await eventsOf(
    await post(request("tools/call", { name: "chatter", _meta: { progressToken: "p" } })),
  );
  const methods = events.map(({ method }) => method);
  expect(methods.filter((method) => method === "notifications/progress")).toHaveLength(4);
  expect(methods.filter((method) => method === "notifications/message")).toHaveLength(3);
  expect(events.at(-1).result.content[0].text).toBe("said");
});

test("a guest that asks gets an error: the client cannot be asked", async () => {
  const { result } = await ask("tools/call", {
    name: "test_elicitation",
    arguments: { message: "?" },
  });
  expect(result).toMatchObject({ isError: true });
  expect(result?.["content"][0].text).toMatch(/cannot be asked: .* no session/);
});

describe("batches", () => {
  const batch = [
    request("ping", {}, "a"),
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { nonsense: true, id: "b" },
    request("tools/call", { name: "greet", arguments: { name: "Ada" } }, 3),
  ];

  test("are part of 2025-03-26: each request has its answer", async () => {
    const either: Record<string, string>[] = [{}, { "mcp-protocol-version": "2025-03-26" }];
    for (const headers of either) {
      const answers = (await (await post(batch, headers)).json()) as any[];
      expect(answers.map(({ id }) => id)).toEqual(["a", "b", 3]);
      expect(answers[1].error.code).toBe(-32600);
      expect(answers[2].result.content[0].text).toBe("Hello, Ada!");
    }
  });

  test("with nothing to answer are accepted", async () => {
    const response = await post([{ jsonrpc: "2.0", method: "notifications/initialized" }]);
    expect(response.status).toBe(202);
  });

  test.each([
    ["another revision", batch, "2025-11-25"],
    ["none in it", [], "2025-03-26"],
    [
      "too many in it",
      Array.from({ length: 51 }, (_, id) => request("ping", {}, id)),
      "2025-03-26",
    ],
  ])("are refused: %s", async (_why, body, version) => {
    const { status, error } = await answerOf(await post(body, { "mcp-protocol-version": version }));
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32600 });
  });
});
