import { describe, expect, test } from "vitest";
import { accept, prepare, SAID, type Json } from "../../worker/calls/client.ts";
import { catching, ELICIT, log, saidIn, steps } from "../../worker/calls/plans.ts";
import { Events, messageIn, resultIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin, planned, request } from "../../worker/mcp/legacy/session-steps.ts";

/** Answers that are not as they should be, and clients that are not to be asked. */
prepare();

describe("an answer", () => {
  test.each([[1], [0], [-1], ["1"], ["ask_1"], [2 ** 53 - 1], [null], [1.5]])(
    "to what was never asked is ignored: %j",
    async (id) => {
      const client = await begin();
      expect((await client.answer(id, accept("x"))).status).toBe(202);
      expect((await client.refuse(id, { code: -1, message: "No." })).status).toBe(202);
    },
  );

  test("to the same request twice is taken once", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT, { do: "elicit", message: "And?" });
    const { id } = await events.message();
    expect((await client.answer(id, accept("one"))).status).toBe(202);
    expect((await client.answer(id, accept("two"))).status).toBe(202);
    const next = await events.message();
    expect((await client.answer(id, accept("three"))).status).toBe(202);
    await client.answer(next["id"], accept("last"));
    expect(saidIn(await events.message())).toEqual(["one", "last"]);
    expect((await client.answer(id, accept("four"))).status).toBe(202);
  });

  test("of two at once, one is taken", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    const both = ["one", "two"].map((value) => client.answer(id, accept(value)));
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    expect(statuses).toEqual([202, 202]);
    expect(saidIn(await events.message())).toEqual([expect.stringMatching(/^(one|two)$/)]);
  });

  test("of another session is not taken", async () => {
    const [client, other] = [await begin(), await begin()];
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    expect((await other.answer(id, accept("theirs"))).status).toBe(202);
    const others = await planned(other, ELICIT);
    expect((await others.message())["id"]).toBe(id);
    expect((await other.answer(id, accept("theirs"))).status).toBe(202);
    expect(saidIn(await others.message())).toEqual(["theirs"]);
    expect((await client.answer(id, accept("ours"))).status).toBe(202);
    expect(saidIn(await events.message())).toEqual(["ours"]);
  });

  test("under an id of another type is not taken", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    expect((await client.answer(String(id), accept("x"))).status).toBe(202);
    await client.answer(id, accept("y"));
    expect(saidIn(await events.message())).toEqual(["y"]);
  });

  // Clients do not answer twice: a call that waited for that would wait for ever.
  test.each<[step: string, wrong: unknown, why: RegExp]>([
    ["elicit", accept(7), /it does not fit what was asked: `value` .*string/],
    ["elicit", accept(null), /it does not fit what was asked: `value` .*string/],
    ["elicit", { action: "accept", content: {} }, /does not fit what was asked: .*value/],
    ["elicit", { action: "accept" }, /it is accepted, so it must have content/],
    ["elicit", { action: "accept", content: [] }, /it is accepted, so it must have content/],
    ["elicit", { action: "yes" }, /it must have an action/],
    ["elicit", {}, /it must have an action/],
    ["elicit", { task: { taskId: 7 } }, /it must have an action/],
    ["elicit_url", {}, /it must have an action/],
    ["sample", { content: SAID.content }, /it must be a message with role and content/],
    ["sample", { ...SAID, content: "aye" }, /it must be a message/],
    ["sample", { ...SAID, content: [{ text: "aye" }] }, /it must be a message/],
    ["sample", accept("x"), /it must be a message/],
    ["roots", { roots: [{ name: "a" }] }, /it must have roots, each with its uri/],
    ["roots", { roots: "file:///a" }, /it must have roots/],
    ["roots", {}, /it must have roots/],
    ...[7, "x", null, [accept("x")], true].map((result): [string, unknown, RegExp] => [
      "elicit",
      result,
      /it must be an object/,
    ]),
  ])("that does not fit fails the request: %s, %j", async (step, wrong, why) => {
    const client = await begin();
    const asking = { do: step, url: "https://pay.example/" };
    const events = await planned(client, catching(asking), asking);
    for (let round = 0; round < 2; round++) {
      const { id } = await events.message();
      expect((await client.answer(id, wrong)).status).toBe(202);
    }
    const { content, isError } = (await events.message())["result"];
    expect(isError).toBe(true);
    expect(content[0].text).toMatch(/^This call needs .*answer to \S+ cannot be used: it /);
    expect(content[0].text).toMatch(why);
    const handled = await planned(client, catching(asking));
    await client.answer((await handled.message())["id"], wrong);
    expect(saidIn(await handled.message())).toEqual(["unusable-answer"]);
  });

  test.each([["elicit"], ["elicit_url"], ["sample"], ["roots"]])(
    "that is an error fails the request: %s",
    async (step) => {
      const client = await begin();
      const asking = { do: step, url: "https://pay.example/" };
      const events = await planned(client, catching(asking), asking);
      for (let round = 0; round < 2; round++) {
        const { id } = await events.message();
        const refused = await client.refuse(id, { code: -1, message: "Out of order." });
        expect(refused.status).toBe(202);
      }
      const { content, isError } = (await events.message())["result"];
      expect(isError).toBe(true);
      expect(content[0].text).toMatch(/its client answered \S+ with an error: Out of order\.$/);
    },
  );

  test.each([[{}], ["no"], [null], [{ code: "x", message: 7 }]])(
    "whose error is not one fails the request, too: %j",
    async (error) => {
      const client = await begin();
      const events = await planned(client, catching(ELICIT));
      const { id } = await events.message();
      expect((await client.post({ jsonrpc: "2.0", id, error })).status).toBe(202);
      expect(saidIn(await events.message())).toEqual(["client-error"]);
    },
  );

  test("that has null for an optional member is taken without that member", async () => {
    const client = await begin();
    const call = await client.call("request_approval", { what: "Paint the bridge" });
    const events = new Events(call);
    let message = await events.message();
    while (message["method"] !== "elicitation/create") message = await events.message();
    const content = { approve: true, note: null };
    const { status } = await client.answer(message["id"], { action: "accept", content });
    expect(status).toBe(202);
    expect((await events.message())["result"].structuredContent).toMatchObject({
      outcome: "approved",
      note: "",
    });
  });
});

test("a form without a valid schema is not asked: it is its servlet's fault", async () => {
  const client = await begin();
  const text = '{"message":"?","requestedSchema":{"properties":{},"required":true}}';
  const response = await client.call("told", { through: "elicit", text });
  const { result } = (await response.json()) as Json;
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toMatch(
    /requestedSchema of ask_1 cannot be used: `required` must/,
  );
});

/** A guest that knows results only is given those of hyper-mcp's host. */
describe("a guest that cannot tell failures from results", () => {
  const FORM = '{"message":"?","requestedSchema":{"type":"object","required":["value"]}}';
  const calls: [through: string, text: string, on: Json][] = [
    ["elicit", FORM, { action: "cancel", content: { error: expect.any(String) } }],
    ["sample", "{}", { stopReason: "error", content: { text: expect.any(String) } }],
    ["inputs", '{"where":{"method":"roots/list"}}', { where: { roots: [] } }],
  ];
  const given = (message: Json) => JSON.parse(message["result"].content[0].text) as Json;

  test.each(calls)("%s, where the answer cannot be used or is an error", async (...call) => {
    const [through, text, result] = call;
    const client = await begin();
    for (const answer of [
      (id: unknown) => client.answer(id, { action: "accept", content: {} }),
      (id: unknown) => client.refuse(id, { code: -1, message: "Out of order." }),
    ]) {
      const events = new Events(await client.call("told", { through, text }));
      expect((await answer((await events.message())["id"])).status).toBe(202);
      expect(given(await events.message())).toMatchObject(result);
    }
  });

  test.each(calls)("%s, where the client cannot be asked", async (through, text, result) => {
    const client = await begin({ capabilities: {} });
    const answer = given(await resultIn(await client.call("told", { through, text })));
    const declined = through === "elicit" ? { ...result, action: "decline" } : result;
    expect(answer).toMatchObject(declined);
  });
});

describe("messages that come too early", () => {
  test("initialize in a batch of a session is refused, and the session goes on", async () => {
    const client = await begin({ version: "2025-03-26" });
    const params = { protocolVersion: "2024-11-05", capabilities: {} };
    const answer = await client.post([request(1, "initialize", params)]);
    expect(answer.headers.get("mcp-session-id")).toBeNull();
    const [{ error }] = (await answer.json()) as [{ error: object }];
    expect(error).toMatchObject({ code: -32600, message: expect.stringContaining("batch") });
    expect((await messageIn(await client.request("ping")))["result"]).toEqual({});
  });

  test("requests before it is initialized are served, but nothing is asked", async () => {
    const client = await begin({ ready: false });
    const asks = [ELICIT, { do: "sample" }, { do: "roots" }, { do: "inputs", keys: ["k"] }];
    const all = [log("a"), ...asks.map(catching)];
    const answer = await resultIn(await client.call("plan", steps(...all)));
    expect(saidIn(answer)).toEqual([null, ...asks.map(() => "cannot-ask")]);
    const { result } = await resultIn(await client.call("plan", steps(ELICIT)));
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toMatch(/cannot be asked: .*notifications\/initialized/);
    await client.notify("notifications/initialized");
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    await client.answer(id, accept("x"));
    expect(saidIn(await events.message())).toEqual(["x"]);
  });

  test("so is a task that is begun before", async () => {
    const client = await begin({ ready: false });
    const answer = await client.call("confirm_delete", { filename: "a.txt" }, { task: {} });
    const { taskId } = (await messageIn(answer))["result"].task;
    const ended = await resultIn(await client.request("tasks/result", { taskId }));
    expect(ended["result"].content[0].text).toMatch(/cannot be asked/);
    const name = "test_input_required_result_capabilities";
    const { result } = await resultIn(await client.call(name));
    expect(result.content[0].text).toBe("There is nobody to ask.");
  });

  test("a servlet that keeps asking is stopped", async () => {
    const client = await begin({ ready: false });
    const requests = { a: { method: "roots/list" } };
    const text = JSON.stringify({ resultType: "input_required", inputRequests: requests });
    const { error } = await resultIn(await client.call("told", { through: "", text }));
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("keeps asking") });
  });
});

describe("asks that a client has not declared", () => {
  const NOTHING = [{}, { elicitation: true, sampling: 1, roots: "yes" }, { tasks: {} }];
  test.each(NOTHING.map((one) => [one]))("is not asked of it: %j", async (capabilities) => {
    const client = await begin({ capabilities });
    const page = { do: "elicit_url", url: "https://pay.example/" };
    const all = [ELICIT, page, { do: "sample" }, { do: "sample_tools" }, { do: "roots" }];
    const answer = await client.call("plan", steps(...all.map(catching)));
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(saidIn((await answer.json()) as Json)).toEqual(all.map(() => "cannot-ask"));
    for (const step of all) {
      const { result } = await resultIn(await client.call("plan", steps(step)));
      expect(result).toMatchObject({ isError: true });
      expect(result.content[0].text).toMatch(/cannot be asked: it does not declare the capability/);
    }
  });

  test.each<[capabilities: Json, step: Json, isAsked: boolean]>([
    [{ elicitation: {} }, ELICIT, true],
    [{ elicitation: {} }, { do: "elicit_url", url: "https://a.example/" }, false],
    [{ elicitation: { form: {} } }, { do: "elicit_url", url: "https://a.example/" }, false],
    [{ elicitation: { url: {} } }, { do: "elicit_url", url: "https://a.example/" }, true],
    [{ elicitation: { url: {} } }, ELICIT, false],
    [{ sampling: {} }, { do: "sample" }, true],
    [{ sampling: {} }, { do: "sample_tools" }, false],
    [{ sampling: { tools: {} } }, { do: "sample_tools" }, true],
    [{ roots: {} }, { do: "roots" }, true],
    [{ roots: {} }, ELICIT, false],
    [{ roots: {}, sampling: {} }, { do: "inputs", keys: ["a"] }, false],
  ])("of %j: %j is asked: %j", async (capabilities, step, isAsked) => {
    const client = await begin({ capabilities });
    const answer = await client.call("plan", steps(step));
    const type = answer.headers.get("content-type");
    expect(type).toBe(isAsked ? "text/event-stream" : "application/json");
    const message = await messageIn(answer);
    expect(message).toHaveProperty(isAsked ? "method" : "result");
  });

  test("fails in what is asked together with what it has declared", async () => {
    const client = await begin({ capabilities: { elicitation: {} } });
    const name = "test_input_required_result_multiple_inputs";
    const events = new Events(await client.call(name));
    const { id, method } = await events.message();
    expect(method).toBe("elicitation/create");
    await client.answer(id, accept("Ada", "name"));
    const { result } = await events.message();
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toMatch(
      /^This call needs a message from .*capability sampling\./,
    );
    expect(await events.rest()).toEqual([]);
  });

  test.each([[undefined], [null], [7], [[]]])(
    "capabilities that are not an object: %j",
    async (capabilities) => {
      const client = await begin({ capabilities: capabilities as unknown as object });
      const page = catching({ do: "elicit_url", url: "https://a.example/" });
      const plan = steps(page, { do: "config" });
      const answer = await resultIn(await client.call("plan", plan), async ({ id }) => {
        // The raw client's capabilities by default.
        expect(capabilities).toBeUndefined();
        await client.answer(id, { action: "decline" });
      });
      const first = capabilities === undefined ? "decline" : "cannot-ask";
      expect(saidIn(answer)).toEqual([first, "hi"]);
    },
  );
});
