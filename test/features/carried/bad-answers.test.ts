import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  goOnAsked,
  limited,
  prepare,
  refused,
  ROOTS,
  SAID,
  server as usual,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import { planned, saidIn, steps } from "../../worker/calls/plans.ts";
import { outcomeOf } from "../../../src/server/kernel/servlets/servlet.ts";
import { answerOf, post } from "../../worker/server.ts";

/** Answers that a client brings and that are not what was asked for. */
prepare();

describe("answers", () => {
  test.each<[what: unknown]>([[null], [7], ["x"], [[]], [true], [0], [""]])(
    "that are %j are refused",
    async (responses) => {
      const round = await planned({ do: "elicit" });
      const answer = await goOn(round, responses);
      expect(answer).toMatchObject(refused(/^params\.inputResponses must be an object/));
      const early = await goOn(round, responses, { requestState: undefined });
      expect(early).toMatchObject(refused(/^params\.inputResponses must be an object/));
    },
  );

  test.each<[answer: unknown]>([[null], [7], ["accept"], [[]], [true]])(
    "of which one is %j are refused",
    async (answer) => {
      const round = await planned({ do: "elicit" });
      const wrong = refused(/^params\.inputResponses\.ask_1 must be an object/);
      expect(await goOn(round, { ask_1: answer })).toMatchObject(wrong);
    },
  );

  test("to a form without fields need no content", async () => {
    const round = await planned({
      do: "inputs",
      keys: ["sure"],
      schema: { type: "object", properties: {} },
    });
    const { result } = await goOn(round, { sure: { action: "accept" } });
    expect(JSON.stringify(result)).toContain(String.raw`\"action\":\"accept\"`);
  });

  const form = { do: "elicit" };
  test.each<[step: Json, answer: Json, message: RegExp]>([
    [form, {}, /must have an action/],
    [form, { action: "yes" }, /must have an action: accept, decline or cancel/],
    [form, { action: ["accept"], content: { value: "x" } }, /must have an action/],
    [form, { action: "accept" }, /must have content/],
    [form, { action: "accept", content: "x" }, /must have content/],
    [form, { action: "accept", content: {} }, /does not fit what was asked: .*value/],
    [form, { action: "accept", content: { value: 7 } }, /does not fit what was asked/],
    [form, { action: "accept", content: { value: null } }, /does not fit what was asked/],
    [form, SAID, /must have an action/],
    [{ do: "elicit_url" }, { action: "open" }, /must have an action/],
    [{ do: "sample" }, {}, /must be a message with role and content/],
    [{ do: "sample" }, { role: "assistant" }, /must be a message/],
    [{ do: "sample" }, accept("x"), /must be a message/],
    [{ do: "sample" }, { role: "assistant", content: "aye" }, /must be a message/],
    [{ do: "sample" }, { role: 7, content: SAID.content }, /must be a message/],
    [{ do: "sample" }, { role: "assistant", content: [SAID.content, "aye"] }, /must be a message/],
    [{ do: "sample" }, { role: "assistant", content: null }, /must be a message/],
    [{ do: "roots" }, {}, /must have roots/],
    [{ do: "roots" }, { roots: {} }, /must have roots/],
    [{ do: "roots" }, { roots: [7] }, /must have roots/],
    [{ do: "roots" }, { roots: [{ name: "no uri" }] }, /must have roots/],
  ])("to %j that are %j are refused, and can be mended", async (step, answer, message) => {
    const round = await planned(step);
    const wrong = await goOn(round, { ask_1: answer });
    expect(wrong).toMatchObject(refused(message));
    expect(wrong.error?.message).toMatch(/^params\.inputResponses\.ask_1 /);
    const right = { elicit: accept("x"), elicit_url: accept("x"), sample: SAID, roots: ROOTS };
    const { result } = await goOn(round, { ask_1: right[step["do"] as "roots"] });
    expect(result).toMatchObject({ resultType: "complete" });
  });

  test.each<[what: string, responses: Json]>([
    ["none", {}],
    ["other keys", { ask_2: accept("x"), name: accept("y"), "": accept("z") }],
    ["keys that all objects have", { constructor: accept("x"), toString: accept("y") }],
  ])("%s: it is asked again", async (_what, responses) => {
    const round = await planned({ do: "elicit", message: "Who?" });
    const { result } = await goOn(round, responses);
    expect(result).toMatchObject({ resultType: "input_required" });
    expect(result!["inputRequests"]).toEqual(round.requests);
    const again = { ...round, state: result!["requestState"] };
    expect(saidIn(await goOn(again, { ask_1: accept("x") }))).toEqual(["x"]);
  });

  test("to keys that all objects have are taken for what they are", async () => {
    const keys = ["constructor", "toString", "hasOwnProperty"];
    const round = await planned({ do: "inputs", keys });
    expect(Object.keys(round.requests)).toEqual(keys);
    const given = Object.fromEntries(keys.map((key) => [key, accept(key)]));
    expect(saidIn(await goOn(round, given))).toEqual([given]);
  });

  test("that nobody asked for are not in the result", async () => {
    const round = await planned({ do: "inputs", keys: ["a"] });
    const answer = await goOn(round, { a: accept("A"), b: accept("B"), ask_1: accept("C") });
    expect(saidIn(answer)).toEqual([{ a: accept("A") }]);
  });

  test("that are huge reach the servlet", async () => {
    const round = await planned({ do: "elicit" }, { do: "elicit" });
    const huge = "ü".repeat(900_000);
    const { result } = await goOn(round, { ask_1: accept(huge) });
    expect(result!["requestState"].length).toBeLessThan(limits.carriedStateBytes * 2);
    const last = { ...round, state: result!["requestState"] };
    expect(saidIn(await goOn(last, { ask_2: accept("x") }))).toEqual([huge, "x"]);
  });

  test("that are larger than a request may be are refused, and its state is still good", async () => {
    const round = await planned({ do: "elicit" });
    const { status, error } = await goOn(round, { ask_1: accept("x".repeat(limits.bodyBytes)) });
    expect([status, error?.code]).toEqual([413, -32600]);
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
  });

  test("that came before, and are wrong, are refused", async () => {
    const params = { name: "plan", arguments: steps({ do: "elicit" }) };
    const answer = await goOn(
      { ...(await planned({ do: "elicit" })), params },
      { ask_1: { action: "yes" } },
      { requestState: undefined },
    );
    expect(answer).toMatchObject(refused(/ask_1 must have an action/));
  });
});

const ODD = { toString: 1, valueOf: 1 };

test.each([
  ["sample", { messages: [{ role: "user", content: { type: ODD, text: "x" } }], maxTokens: 5 }],
  ["sample", { messages: [{ role: ODD, content: [{ type: ODD }] }], maxTokens: ODD }],
  ["elicit", { message: ODD, requestedSchema: { type: "object", properties: { a: ODD } } }],
  ["elicit", { mode: "url", message: "?", url: ODD, elicitationId: ODD }],
  ["elicit", { mode: ODD, message: "?", requestedSchema: ODD }],
  ["inputs", { inputRequests: { a: { method: ODD, params: { mode: ODD } } }, requestState: ODD }],
  ["secret", { service: ODD, user: ODD }],
  ["token", { account: ODD, token_endpoint: ODD, scopes: [ODD] }],
  ["http", { url: ODD, method: ODD, headers: { a: ODD } }],
  ["fetch", { url: ODD, method: ODD, headers: [[ODD, ODD]] }],
  ["progress", { progress: ODD, total: ODD, message: ODD }],
  ["message", { level: ODD, data: ODD, logger: ODD }],
  ["updated", { uri: ODD }],
  ["completed", { elicitationId: ODD }],
])("values that are no text are no fault of the server: through %s, %j", async (through, asked) => {
  const headers = { "mcp-param-through": through };
  const answer = await callOf("told", { through, text: JSON.stringify(asked) }, { headers });
  expect(answer.error?.code).not.toBe(-32603);
});

test.each([
  ["true", "`required` must be an array of strings"],
  ['[],"$ref":"#/nope"', "`$ref` leads to #/nope, which is not in the schema; nothing is fetched"],
])(
  "a form whose schema is not valid is not asked: the fault is the servlet's: required %s",
  async (required, why) => {
    const text = `{"message":"?","requestedSchema":{"properties":{},"required":${required}}}`;
    const headers = { "mcp-param-through": "elicit" };
    const answer = await callOf("told", { through: "elicit", text }, { headers });
    expect(answer.result).toMatchObject({ resultType: "complete", isError: true });
    expect(textIn(answer)).toBe(
      `The servlet asked for input, but the requestedSchema of ask_1 cannot be used: ${why}. Give it a valid JSON Schema.`,
    );
  },
);

test("nor is one that is returned", () => {
  const params = { message: "?", requestedSchema: { type: 7 } };
  const inputRequests = { a: { method: "elicitation/create", params } };
  const output = JSON.stringify({ resultType: "input_required", inputRequests });
  expect(() => outcomeOf({ kind: "returned", output, fuelUsed: 0 }, (read) => read)).toThrow(
    /the requestedSchema of a cannot be used: `type` must/,
  );
});

test("a message of a session that cannot be read is refused under its id", async () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {} };
  const opened = await post(
    { jsonrpc: "2.0", id: 0, method: "initialize", params },
    { "mcp-protocol-version": "2025-11-25" },
    usual,
  );
  await opened.text();
  const headers = {
    "mcp-protocol-version": "2025-11-25",
    "mcp-session-id": opened.headers.get("mcp-session-id")!,
  };
  const body = { jsonrpc: "2.0", id: "x", method: "tools/list", params: [] };
  expect(await answerOf(await post(body, headers, usual))).toMatchObject({ status: 400, id: "x" });
});

describe("a servlet that returns what it asks for ever is stopped", () => {
  test("in a call that goes back and forth", async () => {
    limited({ inputRounds: 3 });
    let round = await beginTool("rounds", { rounds: 10 });
    for (let at = 0; at < 2; at++) round = await goOnAsked(round, { name: accept("Ada", "name") });
    const { error } = await goOn(round, { name: accept("Ada", "name") });
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/too often in one call \(limit 3\)/),
    });
  });
});
