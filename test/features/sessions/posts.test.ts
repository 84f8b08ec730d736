import { describe, expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Task } from "../../worker/index.ts";
import { post } from "../../worker/server.ts";
import { accept, prepare, send, server as usual, type Json } from "../../worker/calls/client.ts";
import { catching, ELICIT, log, saidIn, steps } from "../../worker/calls/plans.ts";
import { pause } from "../../worker/calls/faults.ts";
import { instead } from "../../worker/mcp/legacy/session-faults.ts";
import {
  Events,
  LATEST,
  messageIn,
  resultIn,
  type SessionClient,
} from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  listened,
  planned,
  primingOf,
  request,
  tell,
  textOf,
  VERSIONS,
} from "../../worker/mcp/legacy/session-steps.ts";

const PING = { jsonrpc: "2.0", id: "ping", method: "ping" };
const CALL = { ...PING, method: "tools/call", params: { name: "greet", arguments: { name: "A" } } };
const READY = { jsonrpc: "2.0", method: "notifications/initialized" };

/** How a session answers what its client sends: in which form, in which version, and with which logs. */
prepare();

describe("a POST whose session ends while its first message is taken", () => {
  test.each([
    ["an answer alone", "application/json, text/event-stream", []],
    ["an answer, before a ping", "application/json, text/event-stream", [PING]],
    ["an answer, before a call", "application/json, text/event-stream", [CALL]],
    ["an answer, before requests to be answered on a stream", "text/event-stream", [PING, CALL]],
    ["an answer, before another message", "application/json, text/event-stream", [READY, PING]],
  ])("is answered that there is no such session: %s", async (_what, accepted, others) => {
    const client = await begin({ version: "2025-03-26" });
    const asked = await (await planned(client, ELICIT)).message();
    const at = { isTaken: false, isEnded: false };
    const undo = instead(Task.prototype, "update", async ({ plain, args }) => {
      at.isTaken = true;
      while (!at.isEnded) await pause();
      return plain(...args);
    });
    try {
      const answer = { jsonrpc: "2.0", id: asked["id"], result: accept("Ada") };
      const posted = client.post([answer, ...others], { accept: accepted });
      while (!at.isTaken) await pause();
      expect((await client.end()).status).toBe(204);
      at.isEnded = true;
      expect((await posted).status).toBe(404);
    } finally {
      undo();
    }
  });
});

describe("a POST", () => {
  test("is answered with JSON where all is over before anything was said", async () => {
    const client = await begin();
    const response = await client.call("greet", { name: "Ada" }, {}, "a");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: "a",
      result: { content: [{ type: "text", text: "Hello, Ada!" }] },
    });
  });

  test("is answered with a stream where something is said: progress for who wants it, and logs", async () => {
    const client = await begin();
    const events = await new Events(
      await client.call("chatter", {}, { _meta: { progressToken: "p" } }, 5),
    ).rest();
    const messages = events.flatMap(({ message }) => message ?? []);
    const progress = messages.filter(({ method }) => method === "notifications/progress");
    expect(progress.map(({ params }) => params)).toEqual([
      { progressToken: "p", progress: 0, total: 20 },
      { progressToken: "p", progress: 5, total: 20, message: "backwards" },
      { progressToken: "p", progress: 10, total: 20 },
      { progressToken: "p", progress: 20, total: 20 },
    ]);
    expect(messages.filter(({ method }) => method === "notifications/message")).toHaveLength(3);
    expect(messages.at(-1)).toMatchObject({ id: 5, result: {} });
  });

  test.each(VERSIONS)(
    "%s: its stream begins as clients of that version expect it",
    async (version) => {
      const client = await begin({ version });
      const events = await (await planned(client, log("a"))).rest();
      const message = { id: expect.any(String), message: expect.any(Object) };
      expect(events).toEqual([...primingOf(version), message, message]);
    },
  );

  test.each(VERSIONS)("%s: so does the session's own stream", async (version) => {
    const client = await begin({ version });
    const events = await listened(client);
    await tell(client, "a");
    const first = [await events.next()];
    if (version === LATEST) first.push(await events.next());
    const message = { id: expect.any(String), message: expect.any(Object) };
    expect(first).toEqual([...primingOf(version), message]);
    await events.drop();
  });

  test("of a client that takes JSON only: nothing on the way, and nothing is asked", async () => {
    const client = await begin({ headers: { accept: "application/json" } });
    const asks = [ELICIT, { do: "sample" }, { do: "roots" }];
    const all = [log("a"), ...asks.map(catching), { do: "sleep", ms: 1 }];
    const response = await client.call("plan", steps(...all));
    expect(response.headers.get("content-type")).toBe("application/json");
    const said = saidIn((await response.json()) as Json);
    expect(said).toEqual([null, ...asks.map(() => "cannot-ask"), "slept"]);
  });

  test("need not name its version, for the session has one", async () => {
    const { id } = await begin();
    const params = { name: "plan", arguments: steps(log("a")) };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const events = new Events(await post(body, { "mcp-session-id": id }, usual));
    expect([await events.next()]).toEqual(primingOf(LATEST));
    expect(await events.rest()).toHaveLength(2);
  });

  test("of the newest version is answered by itself, whatever session it names", async () => {
    const client = await begin();
    const headers = { "mcp-session-id": client.id };
    const { result } = await send("tools/call", { name: "test_trigger_tool_change" }, { headers });
    expect(result).toMatchObject({ resultType: "complete" });
    const none = { "mcp-session-id": "none" };
    expect((await send("tools/list", {}, { headers: none })).status).toBe(200);
  });

  test("with nothing to answer is taken", async () => {
    const client = await begin();
    const response = await client.notify("notifications/whatever", { a: 1 });
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 202,
      body: "",
    });
  });

  test("of many messages is answered with all of their answers", async () => {
    const client = await begin({ version: "2025-03-26" });
    const greet = { name: "greet", arguments: { name: "Ada" } };
    const batch = [request(1, "ping"), request("b", "tools/call", greet), request(3, "no")];
    const answers = (await (await client.post(batch)).json()) as Json[];
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, "b", 3]));
    expect(answers).toHaveLength(3);
    const loud = request("c", "tools/call", { name: "plan", arguments: steps(log("a"), ELICIT) });
    const events = new Events(await client.post([request(4, "ping"), loud]));
    const [one, two, asked] = [await events.next(), await events.next(), await events.next()];
    expect([one, two].map((event) => event?.message)).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: 4, result: {} },
        expect.objectContaining({ method: "notifications/message" }),
      ]),
    );
    expect(asked?.message).toMatchObject({ method: "elicitation/create" });
    await client.answer(asked?.message?.["id"], accept("x"));
    const last = await events.rest();
    expect(last.map(({ message }) => saidIn(message!))).toEqual([[null, "x"]]);
  });
});

describe("members that older versions do not know", () => {
  test.each([
    ["2024-11-05", "text"],
    ["2025-03-26", "audio"],
    ["2025-11-25", "audio"],
  ])("%s: a sound is %s", async (version, type) => {
    const client = await begin({ version });
    const { result } = await resultIn(await client.call("test_audio_content"));
    expect(result.content[0].type).toBe(type);
  });

  test.each(VERSIONS)("%s: a missing resource has its own code", async (version) => {
    const client = await begin({ version });
    const { error } = await resultIn(await client.request("resources/read", { uri: "test://no" }));
    expect(error.code).toBe(-32002);
  });
});

describe("logging/setLevel", () => {
  const levels = async (client: SessionClient) => {
    const response = await client.call("chatter");
    const heard: string[] = [];
    await resultIn(response, (message) => void heard.push(message["params"].level));
    return heard;
  };

  test("keeps from the client what it does not want to hear, in its session", async () => {
    const [client, other] = [await begin(), await begin()];
    expect(await levels(client)).toEqual(["debug", "warning", "warning"]);
    const set = (level: unknown) => client.request("logging/setLevel", { level });
    expect(await messageIn(await set("warning"))).toMatchObject({ result: {} });
    expect(await levels(client)).toEqual(["warning", "warning"]);
    expect((await messageIn(await set("loud")))["error"].code).toBe(-32602);
    expect(await levels(client)).toEqual(["warning", "warning"]);
    await set("error");
    expect(await levels(client)).toEqual([]);
    expect(await levels(other)).toHaveLength(3);
  });

  test("counts for calls that are on their way, too", async () => {
    const client = await begin();
    const events = await planned(client, log("a"), ELICIT, log("b"));
    expect(textOf(await events.message())).toBe("a");
    const { id } = await events.message();
    await client.request("logging/setLevel", { level: "error" });
    await client.answer(id, accept("x"));
    expect(saidIn(await events.message())).toEqual([null, "x", null]);
  });
});

describe("a client gets a first byte at once", () => {
  const begins = async ({ body }: Response) => {
    const { value } = await body!.getReader().read();
    return new TextDecoder().decode(value);
  };

  test.each(VERSIONS)("on the session's own stream: %s", async (version) => {
    const client = await begin({ version });
    expect(await begins(await client.listen())).toMatch(/^: waiting\n\n/);
  });

  test("in a call that waits, although it never said that it is ready", async () => {
    const { keepAliveMs } = limits;
    configureLimits({ keepAliveMs: 1 });
    try {
      const client = await begin({ ready: false });
      const id = client.newId();
      const answer = await client.call("plan", steps({ do: "sleep", ms: 60_000 }), {}, id);
      expect(answer.headers.get("content-type")).toBe("text/event-stream");
      expect(await begins(answer)).toMatch(/^: waiting\n\n/);
      await client.notify("notifications/cancelled", { requestId: id });
    } finally {
      configureLimits({ keepAliveMs });
    }
  });
});
