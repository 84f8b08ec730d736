import { describe, expect, test } from "vitest";
import { accept, prepare, SAID, type Json } from "./client.ts";
import { ELICIT, log, saidIn, steps } from "./plans.ts";
import { Events, messageIn, resultIn } from "./session-client.ts";
import { begin, faultOf, planned } from "./session-steps.ts";

/** Answers that are not as they should be, and clients that are not to be asked. */
prepare();

describe("an answer", () => {
  const notOpen = { status: 400, code: -32600, text: expect.stringContaining("is open") };

  test.each([[1], [0], [-1], ["1"], ["ask_1"], [2 ** 53 - 1]])(
    "to what was never asked is refused: %j",
    async (id) => {
      const client = await begin();
      expect(await faultOf(await client.answer(id, accept("x")))).toEqual(notOpen);
    },
  );

  test("to the same request twice is taken once", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT, { do: "elicit", message: "And?" });
    const { id } = await events.message();
    expect((await client.answer(id, accept("one"))).status).toBe(202);
    expect(await faultOf(await client.answer(id, accept("two")))).toEqual(notOpen);
    const next = await events.message();
    expect(await faultOf(await client.answer(id, accept("three")))).toEqual(notOpen);
    await client.answer(next["id"], accept("last"));
    expect(saidIn(await events.message())).toEqual(["one", "last"]);
    expect(await faultOf(await client.answer(id, accept("four")))).toEqual(notOpen);
  });

  test("of two at once, one is taken", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    const both = ["one", "two"].map((value) => client.answer(id, accept(value)));
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([202, 400]));
    const taken = statuses[0] === 202 ? "one" : "two";
    expect(saidIn(await events.message())).toEqual([taken]);
  });

  test("of another session is not taken", async () => {
    const [client, other] = [await begin(), await begin()];
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    expect(await faultOf(await other.answer(id, accept("theirs")))).toEqual(notOpen);
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
    expect(await faultOf(await client.answer(String(id), accept("x")))).toEqual(notOpen);
    await client.answer(id, accept("y"));
    expect(saidIn(await events.message())).toEqual(["y"]);
  });

  const UNFIT = {
    type: "text",
    text: expect.stringMatching(/^The client's answer must be a message/),
  };

  // Clients do not answer twice: a call that waited for that would wait for ever.
  test.each<[step: string, wrong: Json, said: unknown]>([
    ["elicit", accept(7), "decline"],
    ["elicit", { action: "accept", content: {} }, "decline"],
    ["elicit", { action: "accept" }, "decline"],
    ["elicit", { action: "accept", content: [] }, "decline"],
    ["elicit", { action: "yes" }, "decline"],
    ["elicit", {}, "decline"],
    ["elicit", { task: { taskId: 7 } }, "decline"],
    ["elicit_url", {}, "decline"],
    ["sample", { content: SAID.content }, UNFIT],
    ["sample", { ...SAID, content: "aye" }, UNFIT],
    ["sample", { ...SAID, content: [{ text: "aye" }] }, UNFIT],
    ["sample", accept("x"), UNFIT],
    ["roots", { roots: [{ name: "a" }] }, []],
    ["roots", { roots: "file:///a" }, []],
    ["roots", {}, []],
  ])(
    "of the wrong shape is refused, and none for the servlet: %s, %j",
    async (step, wrong, said) => {
      const client = await begin();
      const events = await planned(client, { do: step, url: "https://pay.example/" });
      const { id } = await events.message();
      expect(await faultOf(await client.answer(id, wrong))).toEqual({
        status: 400,
        code: -32602,
        text: expect.stringMatching(
          /^The result .*The servlet was told that there is no answer\.$/,
        ),
      });
      expect(saidIn(await events.message())).toEqual([said]);
    },
  );

  test.each([[7], ["x"], [null], [[accept("x")]], [true]])(
    "whose result is no object is refused, and can be mended: %j",
    async (result) => {
      const client = await begin();
      const events = await planned(client, ELICIT);
      const { id } = await events.message();
      expect(await faultOf(await client.answer(id, result))).toEqual({
        status: 400,
        code: -32600,
        text: expect.stringContaining("result must be an object"),
      });
      expect((await client.answer(id, accept("x"))).status).toBe(202);
      expect(saidIn(await events.message())).toEqual(["x"]);
    },
  );

  test.each<[step: string, said: unknown]>([
    ["elicit", "decline"],
    ["sample", { type: "text", text: "No model here." }],
    ["roots", []],
  ])("that is an error is a refusal: %s", async (step, said) => {
    const client = await begin();
    const events = await planned(client, { do: step });
    const { id } = await events.message();
    const refused = await client.refuse(id, { code: -1, message: "No model here." });
    expect(refused.status).toBe(202);
    expect(saidIn(await events.message())).toEqual([said]);
  });

  test.each([[{}], ["no"], [null], [{ code: "x", message: 7 }]])(
    "whose error is not one is a refusal, too: %j",
    async (error) => {
      const client = await begin();
      const events = await planned(client, ELICIT);
      const { id } = await events.message();
      expect((await client.post({ jsonrpc: "2.0", id, error })).status).toBe(202);
      expect(saidIn(await events.message())).toEqual(["decline"]);
    },
  );
});

describe("what a client does too early", () => {
  test("initialize in a session is refused, and the session goes on", async () => {
    const client = await begin();
    const params = { protocolVersion: "2024-11-05", capabilities: {} };
    const answer = await client.request("initialize", params);
    expect(answer.headers.get("mcp-session-id")).toBeNull();
    expect(await faultOf(answer)).toMatchObject({ status: 200, code: -32600 });
    expect((await messageIn(await client.request("ping")))["result"]).toEqual({});
  });

  test("requests before it is initialized are served, but nothing is asked", async () => {
    const client = await begin({ ready: false });
    const all = [
      log("a"),
      ELICIT,
      { do: "sample" },
      { do: "roots" },
      { do: "inputs", keys: ["k"] },
    ];
    const answer = await resultIn(await client.call("plan", steps(...all)));
    expect(saidIn(answer)).toEqual([
      null,
      "decline",
      expect.objectContaining({ type: "text" }),
      [],
      { k: expect.objectContaining({ action: "decline" }) },
    ]);
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
    expect(ended["result"].content[0].text).toBe("Kept a.txt.");
    const name = "test_input_required_result_capabilities";
    const { result } = await resultIn(await client.call(name));
    expect(result.content[0].text).toBe("There is nobody to ask.");
  });

  test("a servlet that keeps asking is stopped", async () => {
    const client = await begin({ ready: false });
    const { error } = await resultIn(await client.call("rounds", { rounds: 1000 }));
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("keeps asking") });
  });
});

describe("what a client has not declared", () => {
  const NOTHING = [{}, { elicitation: true, sampling: 1, roots: "yes" }, { tasks: {} }];
  test.each(NOTHING.map((one) => [one]))("is not asked of it: %j", async (capabilities) => {
    const client = await begin({ capabilities });
    const page = { do: "elicit_url", url: "https://pay.example/" };
    const all = [ELICIT, page, { do: "sample" }, { do: "sample_tools" }, { do: "roots" }];
    const answer = await client.call("plan", steps(...all));
    expect(answer.headers.get("content-type")).toBe("application/json");
    const [form, opened, sampled, tooled, roots] = saidIn((await answer.json()) as Json);
    expect([form, opened, roots]).toEqual(["decline", "decline", []]);
    for (const { text } of [sampled, tooled]) expect(text).toContain("cannot be asked");
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

  test("is refused in what is asked together with what it has declared", async () => {
    const client = await begin({ capabilities: { elicitation: {} } });
    const name = "test_input_required_result_multiple_inputs";
    const events = new Events(await client.call(name));
    const { id, method } = await events.message();
    expect(method).toBe("elicitation/create");
    await client.answer(id, accept("Ada", "name"));
    const { result } = await events.message();
    expect(result.content[0].text).toMatch(/cannot be asked.* Ada has/);
    expect(await events.rest()).toEqual([]);
  });

  test.each([[undefined], [null], [7], [[]]])(
    "capabilities that are none: %j",
    async (capabilities) => {
      const client = await begin({ capabilities: capabilities as unknown as object });
      const plan = steps({ do: "elicit_url", url: "https://a.example/" }, { do: "config" });
      const answer = await resultIn(await client.call("plan", plan), async ({ id }) => {
        // What the raw client declares where nothing is said.
        expect(capabilities).toBeUndefined();
        await client.answer(id, { action: "decline" });
      });
      expect(saidIn(answer)).toEqual(["decline", "hi"]);
    },
  );
});
