import { describe, expect, test } from "vitest";
import {
  accept,
  begin,
  beginTool,
  callOf,
  clock,
  goOn,
  goOnAsked,
  limited,
  prepare,
  ROOTS,
  SAID,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import {
  ASKING,
  catching,
  HOUR,
  planned,
  saidIn,
  steps,
  type Asking,
} from "../../worker/calls/plans.ts";

/** Calls that go back to their client for input. */
prepare();

describe("a servlet that asks and waits", () => {
  test.each<Asking>([
    [
      { do: "elicit", message: "Size?" },
      { method: "elicitation/create", params: { mode: "form", message: "Size?" } },
      accept("m"),
      "m",
    ],
    [
      { do: "elicit" },
      { method: "elicitation/create" },
      { action: "decline", content: { value: "unsaid" } },
      "decline",
    ],
    ...ASKING,
    [{ do: "roots" }, { method: "roots/list", params: {} }, ROOTS, ROOTS.roots],
  ])("%j", async (step, request, answer, said) => {
    const round = await planned(step);
    expect(round.requests).toEqual({ ask_1: expect.objectContaining({}) });
    expect(round.requests["ask_1"]).toMatchObject(request);
    expect(round.requests["ask_1"]).not.toHaveProperty("deadline");
    expect(saidIn(await goOn(round, { ask_1: answer }))).toEqual([said]);
  });

  test("is given what it asked for before, and the same random numbers and times", async () => {
    const all = [{ do: "elicit", message: "1" }, { do: "random" }, { do: "sample" }];
    const first = await planned({ do: "config" }, ...all, { do: "elicit", message: "2" });
    expect(Object.keys(first.requests)).toEqual(["ask_2"]);
    clock.aheadMs += HOUR;
    const second = await goOnAsked(first, { ask_2: accept("one") });
    expect(Object.keys(second.requests)).toEqual(["ask_3"]);
    clock.aheadMs += HOUR;
    const third = await goOnAsked(second, { ask_3: SAID });
    clock.aheadMs += HOUR;
    const { result } = await goOn(third, { ask_4: accept("two") });
    const { said, ids, times } = result!["structuredContent"];
    expect(said).toEqual(["hi", "one", true, SAID.content, "two"]);
    expect(new Set(ids).size).toBe(5);
    const later = times.map((time: number) => Math.round((time - times[0]) / HOUR));
    expect(later).toEqual([0, 1, 1, 2, 3]);
  });

  test("asks under its own keys, and gets what it asked for bit by bit", async () => {
    const first = await planned({ do: "inputs", keys: ["a", "b", "c"] });
    expect(Object.keys(first.requests)).toEqual(["a", "b", "c"]);
    const second = await goOnAsked(first, { b: accept("B") });
    expect(Object.keys(second.requests)).toEqual(["a", "c"]);
    const third = await goOnAsked(second, {});
    expect(Object.keys(third.requests)).toEqual(["a", "c"]);
    const fourth = await goOnAsked(third, { c: accept("C"), unasked: accept("X") });
    const answer = await goOn(fourth, { a: accept("A") });
    expect(saidIn(answer)).toEqual([{ a: accept("A"), b: accept("B"), c: accept("C") }]);
  });

  test("uses answers that came before it asked, each once", async () => {
    const asks = steps({ do: "elicit" }, { do: "inputs", keys: ["a", "b"] });
    const early = { ask_1: accept("one"), a: accept("A"), ask_7: accept("never") };
    const params = { name: "plan", arguments: asks, inputResponses: early };
    const round = await begin("tools/call", params);
    expect(Object.keys(round.requests)).toEqual(["b"]);
    const answer = await goOn(round, { b: accept("B") });
    expect(saidIn(answer)).toEqual(["one", { a: accept("A"), b: accept("B") }]);
  });

  test("in a prompt", async () => {
    const round = await begin("prompts/get", { name: "plan_prompt" });
    expect(textIn(await goOn(round, { ask_1: accept("Ada", "name") }))).toBe("A prompt for Ada");
  });

  test("in a resource", async () => {
    const round = await begin("resources/read", { uri: "plan://resource" });
    const answer = await goOn(round, { ask_1: accept("Ada", "name") });
    expect(textIn(answer)).toBe("A resource for Ada");
    expect(answer.result).toMatchObject({ resultType: "complete", ttlMs: 0 });
    expect(round.result).not.toHaveProperty("ttlMs");
  });

  test("when the user answers after the deadline, or not at all, the form is cancelled", async () => {
    const timed = { do: "elicit", timeout: 60_000 };
    const inTime = await planned(timed);
    clock.aheadMs += 59_000;
    expect(saidIn(await goOn(inTime, { ask_1: accept("early") }))).toEqual(["early"]);
    const late = await planned(timed);
    clock.aheadMs += 61_000;
    expect(saidIn(await goOn(late, { ask_1: accept("late") }))).toEqual(["cancel"]);
    expect(saidIn(await goOn(late, { ask_1: { action: "nonsense" } }))).toEqual(["cancel"]);
    expect(saidIn(await goOn(late, {}))).toEqual(["cancel"]);
  });

  test("a deadline beyond any number is none: its answer is taken", async () => {
    const text = '{"message":"Who?","requestedSchema":{"properties":{}},"timeout":1e999}';
    const headers = { "mcp-param-through": "elicit" };
    const round = await beginTool("told", { through: "elicit", text }, { headers });
    const answer = await goOn(round, { ask_1: { action: "accept", content: {} } });
    expect(textIn(answer)).toContain("accept");
  });
});

describe("a model's image", () => {
  const ask = (content: object) => {
    const text = JSON.stringify({ messages: [{ role: "user", content }], maxTokens: 5 });
    const headers = { "mcp-param-through": "sample" };
    return ["told", { through: "sample", text }, { headers }] as const;
  };

  test.each<[content: object, sent: object]>([
    [
      { type: "image", data: "data:image/jpg;base64,aG\nk" },
      { type: "image", data: "aGk=", mimeType: "image/jpeg" },
    ],
    [
      [
        { type: "text", text: "a b" },
        { type: "audio", data: "_-8", mimeType: "audio/wav" },
      ],
      [
        { type: "text", text: "a b" },
        { type: "audio", data: "/+8=", mimeType: "audio/wav" },
      ],
    ],
    [
      { type: "tool_use", id: "a", input: {} },
      { type: "tool_use", id: "a", input: {} },
    ],
  ])("%j is asked about as every client reads it", async (content, sent) => {
    const { requests } = await beginTool(...ask(content));
    expect(requests["ask_1"].params.messages).toEqual([{ role: "user", content: sent }]);
  });

  test("that is not base64 is refused by name", async () => {
    const answer = await callOf(...ask({ type: "image", data: "?" }));
    expect(answer.error?.message ?? textIn(answer)).toContain(
      "an image block's data is not base64",
    );
  });
});

describe("a servlet that returns what it asks", () => {
  test("gets its state back", async () => {
    const first = await beginTool("rounds", { rounds: 2 });
    expect(first.requests["name"].params.message).toBe("Name 1?");
    expect(first.state).not.toContain("[]");
    const second = await goOnAsked(first, { name: accept("Ada", "name") });
    expect(second.requests["name"].params.message).toBe("Name 2?");
    const answer = await goOn(second, { name: accept("Bob", "name") });
    expect(textIn(answer)).toBe("Ada and Bob");
  });

  test("in a prompt", async () => {
    const round = await begin("prompts/get", { name: "test_input_required_result_prompt" });
    const answer = await goOn(round, { user_context: accept("tea", "context") });
    expect(textIn(answer)).toBe("Use this context: tea");
  });

  test("bit by bit", async () => {
    const first = await beginTool("test_input_required_result_multiple_inputs");
    const second = await goOnAsked(first, { user_name: accept("Ada", "name") });
    expect(Object.keys(second.requests).toSorted()).toEqual(["client_roots", "greeting"]);
    const answer = await goOn(second, { greeting: SAID, client_roots: ROOTS });
    expect(textIn(answer)).toBe("aye Ada has file:///a.");
  });
});

test.each<[step: Json, capabilities: Json, required: Json]>([
  [{ do: "elicit" }, {}, { elicitation: {} }],
  [{ do: "elicit" }, { sampling: {}, elicitation: true }, { elicitation: {} }],
  [{ do: "elicit_url" }, { elicitation: {} }, { elicitation: { url: {} } }],
  [{ do: "elicit_url" }, { elicitation: { form: {} } }, { elicitation: { url: {} } }],
  [{ do: "sample" }, { elicitation: {} }, { sampling: {} }],
  [{ do: "roots" }, {}, { roots: {} }],
  [{ do: "inputs", keys: ["a"] }, { roots: {} }, { elicitation: {} }],
])("%j is not asked of a client with %j", async (step, capabilities, required) => {
  const { status, error } = await callOf("plan", steps(step), { capabilities });
  expect(status).toBe(400);
  expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: required } });
});

test.each<[step: Json, capabilities: Json]>([
  [{ do: "elicit" }, { sampling: {} }],
  [{ do: "elicit_url" }, { elicitation: {} }],
  [{ do: "sample" }, {}],
  [{ do: "roots" }, {}],
  [{ do: "inputs", keys: ["a"] }, {}],
])("a servlet that handles it goes on where %j cannot be asked", async (step, capabilities) => {
  const answer = await callOf("plan", steps(catching(step), { do: "config" }), { capabilities });
  expect(saidIn(answer)).toEqual(["cannot-ask", "hi"]);
});

test.each([
  ["elicit", '{"message":"?"}', "elicitation"],
  ["sample", "{}", "sampling"],
  ["inputs", '{"where":{"method":"roots/list"}}', "roots"],
])("a guest that knows results only cannot go on: %s", async (through, text, capability) => {
  const headers = { "mcp-param-through": through };
  const { error } = await callOf("told", { through, text }, { capabilities: {}, headers });
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { [capability]: {} } },
  });
});

test("a servlet may ask under any key", async () => {
  const keys = ["__proto__", "constructor", ""];
  const round = await planned({ do: "inputs", keys });
  const answers = Object.fromEntries(keys.map((key) => [key, accept(`to ${key}`)]));
  expect(saidIn(await goOn(round, answers))).toEqual([answers]);
});

test("answers that are too large together are refused", async () => {
  limited({ hostBytes: 1_000_000 });
  const large = accept("x".repeat(600_000));
  const round = await goOnAsked(await planned({ do: "inputs", keys: ["a", "b"] }), { a: large });
  const { error } = await goOn(round, { b: large });
  expect(error).toMatchObject({
    code: -32602,
    message: expect.stringContaining("must not exceed 1000000 characters together"),
  });
  expect(saidIn(await goOn(round, { b: accept("B") }))).toEqual([{ a: large, b: accept("B") }]);
});

test("checking all answers of a request takes no more steps than checking one may", async () => {
  const schema = { type: "object", properties: { value: { type: "string", pattern: "^(a|b)*$" } } };
  const answers = (keys: string[]) =>
    Object.fromEntries(keys.map((key) => [key, accept("ab".repeat(150))]));
  const keys = Array.from({ length: 20 }, (_, at) => `key ${at}`);
  const [one, all] = [
    await planned({ do: "inputs", keys: ["a"], schema }),
    await planned({ do: "inputs", keys, schema }),
  ];
  limited({ checkSteps: 2000 });
  expect((await goOn(one, answers(["a"]))).error).toBeUndefined();
  expect((await goOn(all, answers(keys))).error).toMatchObject({
    message: expect.stringContaining("takes more than 2000 steps to check"),
  });
});

test("null for an optional member of a form is left out", async () => {
  const round = await beginTool("request_approval", { what: "Paint the bridge", amount: null });
  expect(round.requests["ask_1"].params.message).toBe("Please approve: Paint the bridge");
  const refused = await goOn(round, { ask_1: { action: "accept", content: { approve: null } } });
  expect(refused.error?.message).toMatch(/does not fit what was asked: `approve` .*boolean/);
  const content = { approve: true, note: null };
  const { result } = await goOn(round, { ask_1: { action: "accept", content } });
  expect(result!["structuredContent"]).toMatchObject({ outcome: "approved", note: "" });
});

test("returned requests are not sent to a client that cannot answer them either", async () => {
  const { error } = await callOf("rounds", { rounds: 1 }, { capabilities: { sampling: {} } });
  expect(error?.code).toBe(-32021);
});
