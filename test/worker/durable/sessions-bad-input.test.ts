import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/limits.ts";
import { answerOf, post, URL_OF_MCP } from "../server.ts";
import {
  ABLE,
  accept,
  as,
  keyed,
  limited,
  prepare,
  ROOTS,
  SAID,
  server,
  type Json,
} from "./client.ts";
import { Events, LATEST, messageIn, resultIn, SessionClient } from "./session-client.ts";
import {
  begin,
  ELICIT,
  log,
  objectOf,
  objects,
  planned,
  saidIn,
  steps,
  tell,
  textOf,
} from "./session-steps.ts";

/** What a client of a session may send that is not as it should be. */
prepare();

const request = (id: unknown, method: string, params: Json = {}) => ({
  jsonrpc: "2.0",
  ...{ id, method, params },
});
const response = (id: unknown, result: unknown) => ({ jsonrpc: "2.0", id, result });

/** What is wrong with a request, where that is the whole answer. */
async function faultOf(given: Response): Promise<{ status: number; code: unknown; text: string }> {
  const { status, error } = await answerOf(given);
  return { status, code: error?.code, text: error?.message ?? "" };
}

const gone = { status: 404, code: -32600, text: expect.stringContaining("no such session") };

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

describe("a GET", () => {
  const refused = { status: 400, code: -32600, text: expect.stringContaining("Last-Event-ID") };

  test("for a second stream of the session is refused, and the first goes on", async () => {
    const client = await begin();
    const events = new Events(await client.listen());
    await events.next();
    expect(await faultOf(await client.listen())).toMatchObject({ status: 409, code: -32600 });
    await tell(client, "one");
    expect(textOf(await events.message())).toBe("one");
    await events.drop();
  });

  test("with the id of an event of another session is refused", async () => {
    const [client, other] = [await begin(), await begin()];
    await tell(client, "mine");
    await tell(other, "theirs");
    const events = new Events(await client.listen());
    const ids = [await events.next(), await events.next()].map((event) => event?.id);
    await events.drop();
    for (const id of ids) expect(await faultOf(await other.listen(id))).toEqual(refused);
  });

  test("with an id that is none is refused", async () => {
    const client = await begin();
    await tell(client, "one", "two");
    const events = new Events(await client.listen());
    await events.next();
    const { id = "" } = (await events.next())!;
    await events.drop();
    const [tag = ""] = id.split("-");
    const newer = [`${tag}-0-3`, `${tag}-0-99999999`, `${tag}-0-Infinity`];
    const other = [`${tag}-1-1`, `${tag}-7-0`, `${tag}--1-1`, `${tag}-0.5-1`, `${tag}-0-NaN`];
    const cut = [tag, `${tag}-`, `${tag}-0`, id.slice(1), "-0-1", `x${id}`];
    const none = ["", "1", "x", "null", "0-1", "'; DROP TABLE events", "a".repeat(5000)];
    for (const wrong of [...newer, ...other, ...cut, ...none]) {
      expect({ wrong, ...(await faultOf(await client.listen(wrong))) }).toEqual({
        wrong,
        ...refused,
      });
    }
    const again = new Events(await client.listen(id));
    expect(textOf(await again.message())).toBe("two");
    await again.drop();
  });

  test("needs a client that takes streams", async () => {
    const client = await begin();
    const refusal = await client.listen(undefined, { accept: "application/json" });
    expect(await faultOf(refusal)).toMatchObject({ status: 406 });
  });
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

describe("a session", () => {
  const named = (id: string) => ({ "mcp-session-id": id, "mcp-protocol-version": LATEST });
  const plain = (method: string, headers: Record<string, string>) =>
    Promise.resolve(
      server.fetch(
        new Request(URL_OF_MCP, { method, headers: { accept: "text/event-stream", ...headers } }),
      ),
    );
  const all = (headers: Record<string, string>, app = server): Promise<Response>[] => [
    post(request(1, "ping"), headers, app),
    post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers, app),
    post(response(1, accept("x")), headers, app),
    post(request(1, "initialize", { protocolVersion: LATEST }), headers, app),
    post([request(1, "ping")], headers, app),
  ];

  test("of another principal is none, whatever is asked of it", async () => {
    const app = await keyed("ada", "bob");
    const client = await begin({ server: app, ...as("ada") });
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    const theirs = as("bob").headers;
    for (const answer of await Promise.all(all({ ...named(client.id), ...theirs }, app))) {
      // A request is answered under its own id.
      expect(await faultOf(answer)).toEqual(gone);
    }
    const answered = await client.post(response(id, accept("theirs")), theirs);
    expect(await faultOf(answered)).toEqual(gone);
    expect(await faultOf(await client.listen(undefined, theirs))).toEqual(gone);
    const ended = new Request(URL_OF_MCP, {
      method: "DELETE",
      headers: { ...named(client.id), ...theirs },
    });
    expect(await faultOf(await app.fetch(ended))).toEqual(gone);
    expect((await client.post(request(1, "ping"), { authorization: "" })).status).toBe(401);
    expect((await client.answer(id, accept("ours"))).status).toBe(202);
    expect(saidIn(await events.message())).toEqual(["ours"]);
  });

  test("that there is not is none", async () => {
    const unknown = objects.newUniqueId().toString();
    const wrong = [unknown, "0".repeat(64), "x", "", "a".repeat(5000), unknown.slice(1)];
    for (const id of [...wrong, `${unknown}0`, "../../etc"]) {
      for (const answer of await Promise.all(all(named(id)))) {
        expect({ id, ...(await faultOf(answer)) }).toEqual({ id, ...gone });
      }
      for (const method of ["GET", "DELETE"]) {
        expect(await faultOf(await plain(method, named(id)))).toEqual(gone);
      }
    }
    const written = await runInDurableObject(
      objects.get(objects.idFromString(unknown)),
      (_instance, { storage }) =>
        storage.sql
          .exec<{ name: string }>("SELECT name FROM sqlite_master")
          .toArray()
          .filter(({ name }) => !name.startsWith("_cf_")),
    );
    expect(written).toEqual([]);
  });

  test("that has ended is none", async () => {
    const client = await begin();
    expect((await client.end()).status).toBe(204);
    for (const answer of await Promise.all(all(named(client.id)))) {
      expect(await faultOf(answer)).toEqual(gone);
    }
    expect(await faultOf(await client.listen())).toEqual(gone);
    expect(await faultOf(await client.end())).toEqual(gone);
    expect(await objectOf(client).heard([{ method: "notifications/tools/list_changed" }])).toBe(
      false,
    );
  });

  test.each<[method: string, params: Json]>([
    ["resources/subscribe", { uri: "test://a" }],
    ["resources/unsubscribe", { uri: "test://a" }],
    ["logging/setLevel", { level: "info" }],
    ["tasks/get", { taskId: "x" }],
    ["tasks/list", {}],
    ["tasks/cancel", { taskId: "x" }],
    ["tasks/result", { taskId: "x" }],
  ])("is needed by %s", async (method, params) => {
    const needed = { status: 400, code: -32600, text: expect.stringContaining("needs a session") };
    const headers = { "mcp-protocol-version": "2025-03-26" };
    expect(await faultOf(await post(request(1, method, params), headers, server))).toEqual(needed);
    const batch = [request(1, "ping"), request(2, method, params)];
    expect(await faultOf(await post(batch, headers, server))).toEqual(needed);
  });

  test("is needed by answers, GET and DELETE", async () => {
    const needed = { status: 400, code: -32600, text: expect.stringContaining("needs a session") };
    expect(await faultOf(await post(response(1, accept("x")), {}, server))).toEqual(needed);
    for (const method of ["GET", "DELETE"]) {
      expect(await faultOf(await plain(method, {}))).toEqual(needed);
    }
  });
});

test.each([["1.0"], ["latest"], ["2023-01-01"], ["2026-07-28"], [""]])(
  "the header MCP-Protocol-Version: %j is refused",
  async (version) => {
    const client = await begin();
    const headers = { "mcp-protocol-version": version };
    const posted = await client.post(request(1, "ping"), headers);
    expect(posted.status).toBe(400);
    const listened = await client.listen(undefined, headers);
    expect(listened.status).toBe(400);
    expect((await messageIn(await client.request("ping")))["result"]).toEqual({});
  },
);

describe("too much", () => {
  test("calls at once", async () => {
    limited({ sessionCalls: 2 });
    const client = await begin();
    const [one, two] = [await planned(client, ELICIT), await planned(client, ELICIT)];
    const ids = [(await one.message())["id"], (await two.message())["id"]];
    const refused = await faultOf(await client.call("greet", { name: "Ada" }));
    expect(refused).toEqual({
      status: 200,
      code: -32600,
      text: expect.stringContaining("2 calls open"),
    });
    expect((await client.answer(ids[0], accept("x"))).status).toBe(202);
    await one.rest();
    expect((await messageIn(await client.call("greet", { name: "Ada" })))["result"]).toBeDefined();
    await client.answer(ids[1], accept("x"));
    expect(saidIn(await two.message())).toEqual(["x"]);
  });

  test("subscriptions", async () => {
    limited({ sessionSubscriptions: 2 });
    const client = await begin();
    const subscribe = async (uri: unknown) =>
      messageIn(await client.request("resources/subscribe", { uri }));
    for (const uri of ["test://a", "test://b", "test://a"]) {
      expect((await subscribe(uri))["result"]).toEqual({});
    }
    expect((await subscribe("test://c"))["error"]).toMatchObject({
      code: -32600,
      message: expect.stringContaining("2 resources"),
    });
    expect((await subscribe("test://b"))["result"]).toEqual({});
    await client.request("resources/unsubscribe", { uri: "test://a" });
    expect((await subscribe("test://c"))["result"]).toEqual({});
    for (const uri of [undefined, 7, null, ["test://a"]]) {
      expect((await subscribe(uri))["error"]).toMatchObject({ code: -32602 });
    }
  });

  test("of which the client reads nothing: the oldest notifications are dropped, and nothing else", async () => {
    limited({ sessionEvents: 50 });
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const client = await begin();
    const events = await planned(client, ELICIT);
    const priming = await events.next();
    const { id } = await events.message();
    await events.drop();
    await client.answer(id, accept("x"));
    const done = await planned(client, log("gone"), ELICIT);
    await done.next();
    await done.message();
    const asked = await done.next();
    await tell(client, ...Array.from({ length: 10_000 }, (_, at) => `${at}`));
    const kept = await runInDurableObject(objectOf(client), (_instance, { storage }) => {
      const count = (table: string) =>
        storage.sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`).one().count;
      return { events: count("events"), texts: count("texts") };
    });
    expect(kept.events).toBe(50);
    expect(kept.texts).toBeLessThan(60);
    expect(warn).toHaveBeenCalledTimes(1);
    const own = new Events(await client.listen());
    const texts: string[] = [];
    while (texts.at(-1) !== "9999") texts.push(textOf(await own.message()));
    // Beside two questions and a result.
    expect(texts).toEqual(Array.from({ length: 47 }, (_, at) => `${10_000 - 47 + at}`));
    await own.drop();
    const again = new Events(await client.listen(priming?.id));
    const said = (await again.rest()).flatMap(({ message }) => message ?? []);
    expect(said.map(({ method, result }) => method ?? result.structuredContent.said)).toEqual([
      "elicitation/create",
      ["x"],
    ]);
    await client.answer(asked?.message?.["id"], accept("y"));
    expect(saidIn(await done.message())).toEqual([null, "y"]);
  }, 30_000);

  test("for a client that reads too slowly: its stream breaks off, and it can come back", async () => {
    const client = await begin();
    const slow = new Events(await client.listen());
    const priming = await slow.next();
    const text = "x".repeat(limits.listenBacklogBytes / 2);
    for (let at = 0; at < 8; at++) await tell(client, `${at}${text}`);
    await expect(slow.rest()).rejects.toThrow();
    const again = new Events(await client.listen(priming?.id));
    for (let at = 0; at < 8; at++) expect(textOf(await again.message())).toBe(`${at}${text}`);
    await tell(client, "and more");
    expect(textOf(await again.message())).toBe("and more");
    await again.drop();
  });
});

describe("notifications/cancelled", () => {
  test.each([
    [{}],
    [{ requestId: null }],
    [{ requestId: "no" }],
    [{ requestId: 99 }],
    [{ requestId: {} }],
  ])("of no call is taken, and cancels nothing: %j", async (params) => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    expect((await client.notify("notifications/cancelled", params)).status).toBe(202);
    await client.answer(id, accept("x"));
    expect(saidIn(await events.message())).toEqual(["x"]);
  });

  test("twice, and when the call has ended, changes nothing", async () => {
    const client = await begin();
    const cancel = (requestId: unknown) => client.notify("notifications/cancelled", { requestId });
    const events = new Events(await client.call("plan", steps(ELICIT), {}, "a"));
    await events.message();
    const both = await Promise.all([cancel("a"), cancel("a")]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect(await events.rest()).toHaveLength(1);
    expect((await cancel("a")).status).toBe(202);
    const done = await resultIn(await client.call("plan", steps(log("x")), {}, "b"));
    expect(done).toHaveProperty("result");
    expect((await cancel("b")).status).toBe(202);
    const again = await resultIn(await client.call("greet", { name: "Ada" }, {}, "a"));
    expect(again).toMatchObject({ id: "a", result: {} });
  });

  test("of what the server tells the servlets by itself cancels nothing", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    await client.notify("notifications/roots/list_changed");
    const { id } = await own.message();
    await client.notify("notifications/cancelled", { requestId: null });
    expect((await client.answer(id, ROOTS)).status).toBe(202);
    await own.drop();
  });
});

describe("a batch", () => {
  const client = () => begin({ version: "2025-03-26" });
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

  test.each([
    ["nothing", []],
    ["too much", Array.from({ length: limits.batchMessages + 1 }, (_, id) => request(id, "ping"))],
  ])("of %s is refused", async (_what, body) => {
    const refused = await faultOf(await (await client()).post(body));
    expect(refused).toMatchObject({ status: 400, code: -32600 });
  });

  test("with what is no message: the others are answered", async () => {
    const body = [7, request(1, "ping"), { id: "b", nonsense: true }, null, []];
    const answer = await (await client()).post(body);
    expect(answer.status).toBe(200);
    const answers = (await answer.json()) as Json[];
    expect(answers).toHaveLength(5);
    expect(answers.filter(({ error }) => error?.code === -32600)).toHaveLength(4);
    expect(answers.map(({ id }) => id)).toEqual(expect.arrayContaining([1, "b", null]));
    expect(answers.find(({ id }) => id === 1)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("with nothing but what is no message is answered, too", async () => {
    const answer = await (await client()).post([7, "x"]);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toHaveLength(2);
  });

  test("of notifications is taken", async () => {
    const posted = await (await client()).post([initialized, initialized]);
    expect({ status: posted.status, body: await posted.text() }).toEqual({ status: 202, body: "" });
  });

  test("of answers: the right ones are taken, though others are not", async () => {
    const one = await client();
    for (const wrongFirst of [true, false]) {
      const events = await planned(one, ELICIT);
      const { id } = await events.message();
      const both = [response(99, accept("x")), response(id, accept("y"))];
      const posted = await one.post(wrongFirst ? both : both.toReversed());
      expect(await faultOf(posted)).toMatchObject({ status: 400, code: -32600 });
      expect(saidIn(await events.message())).toEqual(["y"]);
    }
  });

  test("of answers and requests: all are taken", async () => {
    const one = await client();
    const events = await planned(one, ELICIT);
    const { id } = await events.message();
    const body = [response(99, accept("x")), request(1, "ping"), response(id, accept("y"))];
    const answer = await one.post([...body, initialized]);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    expect(saidIn(await events.message())).toEqual(["y"]);
  });

  test("with an initialize begins no session, in one and without one", async () => {
    const body = [request(1, "initialize", { protocolVersion: LATEST }), request(2, "ping")];
    const within = await (await client()).post(body);
    const answers = (await within.json()) as Json[];
    expect(answers.find(({ id }) => id === 1)?.["error"]).toMatchObject({ code: -32600 });
    expect(answers.find(({ id }) => id === 2)?.["result"]).toEqual({});
    const without = await post(body, { "mcp-protocol-version": "2025-03-26" }, server);
    expect(without.headers.get("mcp-session-id")).toBeNull();
  });
});

describe("tasks", () => {
  const started = async (client: SessionClient, name: string, task: unknown, args: Json = {}) =>
    messageIn(await client.call(name, args, { task }));
  const SLOW = { seconds: 0 };

  test.each([[7], ["x"], [null], [[]], [true], [{ ttl: "1000" }], [{ ttl: 0 }], [{ ttl: -1 }]])(
    "params that ask for none: %j",
    async (task) => {
      const client = await begin();
      const { error } = await started(client, "slow_compute", task, SLOW);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("params.task"),
      });
    },
  );

  test("of a tool that has none are refused, and a tool that has nothing else", async () => {
    const client = await begin();
    const none = await started(client, "greet", {}, { name: "Ada" });
    expect(none["error"]).toMatchObject({
      code: -32601,
      message: expect.stringContaining("greet"),
    });
    const only = await messageIn(await client.call("failing_job"));
    expect(only["error"]).toMatchObject({ code: -32601 });
    const unknown = await started(client, "no_such_tool", {});
    expect(unknown["error"]).toMatchObject({ code: -32602 });
    const { result } = await messageIn(await client.request("tasks/list"));
    expect(result.tasks).toEqual([]);
  });

  test("with arguments that the tool does not take fail as the call would", async () => {
    const client = await begin();
    const plain = await messageIn(await client.call("slow_compute", { seconds: "x" }));
    const { result, error } = await started(client, "slow_compute", {}, { seconds: "x" });
    expect(error).toBeUndefined();
    const { taskId } = result.task;
    const ended = await resultIn(await client.request("tasks/result", { taskId }));
    expect(ended["error"] ?? ended["result"]).toMatchObject(plain["error"] ?? plain["result"]);
  });

  test.each(["tasks/get", "tasks/result", "tasks/cancel"])("%s: of none", async (method) => {
    const client = await begin();
    const session = client.id;
    const wrong = ["x", "", "0".repeat(64), session, "a".repeat(5000), undefined, 7, null, {}];
    for (const taskId of wrong) {
      const { error } = await messageIn(await client.request(method, { taskId }));
      expect({ taskId, code: error?.code }).toEqual({ taskId, code: -32602 });
    }
  });

  test("a cursor that is none is refused", async () => {
    const client = await begin();
    for (const cursor of ["x", "", btoa("tasks:x"), btoa("tools:1:2"), 7, null, {}, "%%%"]) {
      const { error } = await messageIn(await client.request("tasks/list", { cursor }));
      expect({ cursor, code: error?.code }).toEqual({ cursor, code: -32602 });
    }
  });

  test.each(["2025-06-18", "2025-03-26", "2024-11-05"])("%s has none", async (version) => {
    const client = await begin({ version });
    for (const method of ["tasks/get", "tasks/list", "tasks/cancel", "tasks/result"]) {
      const { error } = await messageIn(await client.request(method, { taskId: "x" }));
      expect({ method, code: error?.code }).toEqual({ method, code: -32601 });
    }
    const own = { capabilities: { ...ABLE, tasks: { requests: { elicitation: { create: {} } } } } };
    const able = await begin({ version, ...own });
    const events = await planned(able, ELICIT);
    expect((await events.message())["params"]).not.toHaveProperty("task");
  });
});

test.each([
  [{ id: 1, method: "ping" }],
  [{ jsonrpc: "1.0", id: 1, method: "ping" }],
  [{ jsonrpc: "2.0", id: null, method: "ping" }],
  [{ jsonrpc: "2.0", id: 1.5, method: "ping" }],
  [{ jsonrpc: "2.0", id: 1, method: 7 }],
  [{ jsonrpc: "2.0", id: 1, method: "ping", params: [] }],
  [{ jsonrpc: "2.0", id: 1 }],
  ["ping"],
  [null],
])("a message that is none is refused: %j", async (body) => {
  const client = await begin();
  const answer = await client.post(JSON.stringify(body));
  expect(await faultOf(answer)).toMatchObject({ status: 400, code: -32600 });
});

test("other methods of HTTP are not for it", async () => {
  const client = await begin();
  const headers = { "mcp-session-id": client.id };
  const answer = await server.fetch(new Request(URL_OF_MCP, { method: "PUT", headers }));
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("POST, GET, DELETE");
});

test.each([["tasks/nope"], ["toString"], ["constructor"], [""], ["notifications/initialized"]])(
  "the method %j is not found",
  async (method) => {
    const client = await begin();
    const { error } = await messageIn(await client.request(method));
    expect(error).toMatchObject({ code: -32601 });
  },
);
