import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Hub } from "../../../src/durable/hub.ts";
import { namespaceOf } from "../../../src/env.ts";
import { limits } from "../../../src/limits.ts";
import { answerOf, app, post, URL_OF_MCP } from "../server.ts";
import {
  accept,
  as,
  clock,
  keyed,
  limited,
  prepare,
  ROOTS,
  SAID,
  send,
  server as usual,
  type Json,
} from "./client.ts";
import {
  Events,
  LATEST,
  messageIn,
  resultIn,
  SessionClient,
  type SessionOptions,
} from "./session-client.ts";
import {
  begin,
  ELICIT,
  isAlive,
  listened,
  log,
  objectOf,
  objects,
  planned,
  primingOf,
  saidIn,
  steps,
  tell,
  textOf,
  VERSIONS,
} from "./session-steps.ts";

/** What a session does for a client that does as it should. */
prepare();

const hubs = namespaceOf<Hub>(env, "HUBS")!;

/** Sessions of a principal that no other test has. */
async function owned(...begun: SessionOptions[]) {
  const name = crypto.randomUUID();
  const other = crypto.randomUUID();
  const server = await keyed(name, other);
  const of = (owner: string, options: SessionOptions = {}) =>
    begin({ server, ...as(owner), ...options });
  const clients = await Promise.all(begun.map((options) => of(name, options)));
  return { name, other, server, clients, of, hub: hubs.getByName(name) };
}

describe("initialize", () => {
  test.each(VERSIONS)("agrees on %s, and gives the session's id", async (version) => {
    const { id, introduced } = await begin({ version });
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    expect(introduced).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "edge-servlets" },
      capabilities: {
        logging: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
      },
    });
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    expect(introduced["capabilities"].tasks).toEqual(version === LATEST ? tasks : undefined);
  });

  test.each([["1999-01-01"], ["2026-07-28"], [7], [undefined]])(
    "offers the newest instead of %j",
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {} };
      const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
      const response = await post(body, {}, usual);
      expect(response.headers.get("mcp-session-id")).toMatch(/^[0-9a-f]{64}$/);
      const { result } = await answerOf(response);
      expect(result?.["protocolVersion"]).toBe(LATEST);
    },
  );

  test("gives each client a session of its own", async () => {
    const [one, other] = await Promise.all([begin(), begin()]);
    expect(one.id).not.toBe(other.id);
    expect((await one.end()).status).toBe(204);
    expect(await isAlive(one)).toBe(false);
    expect(await isAlive(other)).toBe(true);
  });

  test("answers on a stream where the client takes nothing else", async () => {
    const client = await begin({ headers: { accept: "text/event-stream" } });
    const response = await client.request("ping", {}, 7);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await messageIn(response)).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  });
});

describe("without the bindings of Durable Objects", () => {
  const request = (method: string, params: Json = {}) => ({
    jsonrpc: "2.0",
    id: 1,
    method,
    params,
  });

  test("initialize begins no session, and says nothing of what only sessions have", async () => {
    const response = await post(request("initialize", { protocolVersion: LATEST }));
    expect(response.headers.get("mcp-session-id")).toBeNull();
    const { result } = await answerOf(response);
    expect(result?.["capabilities"]).toMatchObject({ tools: {}, resources: {} });
    expect(JSON.stringify(result?.["capabilities"])).not.toMatch(/listChanged|subscribe|tasks/);
  });

  test("each request is answered by itself, whatever session it names", async () => {
    const headers = { "mcp-session-id": "0".repeat(64), "mcp-protocol-version": LATEST };
    const { result } = await answerOf(await post(request("ping"), headers));
    expect(result).toEqual({});
    expect((await post({ jsonrpc: "2.0", id: 1, result: {} }, headers)).status).toBe(202);
    const { error } = await answerOf(await post(request("resources/subscribe"), headers));
    expect(error?.code).toBe(-32601);
  });

  test.each(["GET", "DELETE"])("%s is not for it", async (method) => {
    const headers = { accept: "text/event-stream" };
    const response = await app.fetch(new Request(URL_OF_MCP, { method, headers }));
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});

test("plain requests need no session", async () => {
  const greet = { name: "greet", arguments: { name: "Ada" } };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: greet };
  const response = await post(body, {}, usual);
  expect(response.headers.get("mcp-session-id")).toBeNull();
  expect((await answerOf(response)).result?.["content"][0].text).toBe("Hello, Ada!");
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
    const all = [log("a"), ELICIT, { do: "sample" }, { do: "roots" }, { do: "sleep", ms: 1 }];
    const response = await client.call("plan", steps(...all));
    expect(response.headers.get("content-type")).toBe("application/json");
    const [, elicited, sampled, roots] = saidIn((await response.json()) as Json);
    expect(elicited).toBe("decline");
    expect(sampled.text).toContain("cannot be asked");
    expect(roots).toEqual([]);
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
    const request = (id: unknown, method: string, params: Json = {}) => ({
      jsonrpc: "2.0",
      ...{ id, method, params },
    });
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

describe("what older versions do not know", () => {
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

test("DELETE ends the calls and the streams of a session", async () => {
  const client = await begin();
  const own = await listened(client);
  const events = await planned(client, ELICIT);
  await events.message();
  expect((await client.end()).status).toBe(204);
  await own.rest();
  const rest = await events.rest();
  expect(rest.filter(({ message }) => message?.["result"] ?? message?.["error"])).toEqual([]);
  expect(await isAlive(client)).toBe(false);
});

describe("changes", () => {
  const UPDATED = "notifications/resources/updated";
  const LIST = "notifications/resources/list_changed";
  const updated = (url: string) => ({ do: "updated", url });
  const subscribe = async (client: SessionClient, uri: string) =>
    expect(
      (await resultIn(await client.request("resources/subscribe", { uri })))["result"],
    ).toEqual({});

  test("of resources come to those who have subscribed to them; of lists to all", async () => {
    const { clients } = await owned({}, {}, { version: "2024-11-05" });
    const [one, two, three] = clients as [SessionClient, SessionClient, SessionClient];
    const streams = await Promise.all(clients.map((client) => listened(client)));
    await subscribe(one, "test://a");
    await subscribe(three, "test://b");
    const plan = steps(updated("test://a"), updated("test://b"), { do: "changed" });
    await resultIn(await two.call("plan", plan));
    const told = (uri: string) => ({ jsonrpc: "2.0", method: UPDATED, params: { uri } });
    const changed = { jsonrpc: "2.0", method: LIST };
    const [first, second, third] = streams as [Events, Events, Events];
    expect(await first.message()).toEqual(told("test://a"));
    expect(await first.message()).toMatchObject(changed);
    expect(await second.message()).toMatchObject(changed);
    expect(await third.message()).toEqual(told("test://b"));
    expect(await third.message()).toMatchObject(changed);
    for (const events of streams) await events.drop();
  });

  test("wait for one who has subscribed, and listens later", async () => {
    const { clients, hub } = await owned({});
    const [client] = clients as [SessionClient];
    await subscribe(client, "test://a");
    await hub.publish([{ method: UPDATED, params: { uri: "test://a" } }]);
    const events = await listened(client);
    expect(await events.message()).toMatchObject({ method: UPDATED });
    await events.drop();
  });

  test("come no more after resources/unsubscribe", async () => {
    const { clients, hub } = await owned({});
    const [client] = clients as [SessionClient];
    await subscribe(client, "test://a");
    await subscribe(client, "test://b");
    const { result } = await resultIn(
      await client.request("resources/unsubscribe", { uri: "test://a" }),
    );
    expect(result).toEqual({});
    const events = await listened(client);
    for (const uri of ["test://a", "test://b"])
      await hub.publish([{ method: UPDATED, params: { uri } }]);
    expect((await events.message())["params"]).toEqual({ uri: "test://b" });
    await events.drop();
  });

  test("are told to sessions of the same principal only", async () => {
    const { clients, of, other } = await owned({});
    const stranger = await of(other);
    const [client] = clients as [SessionClient];
    const [own, foreign] = [await listened(client), await listened(stranger)];
    await resultIn(await client.call("test_trigger_tool_change"));
    expect(await own.message()).toMatchObject({ method: "notifications/tools/list_changed" });
    await resultIn(await stranger.call("test_trigger_prompt_change"));
    expect(await foreign.message()).toMatchObject({ method: "notifications/prompts/list_changed" });
    await Promise.all([own.drop(), foreign.drop()]);
  });

  test("are told of calls of the newest version, and of calls without a session, too", async () => {
    const { clients, server, name } = await owned({});
    const [client] = clients as [SessionClient];
    const events = await listened(client);
    await send("tools/call", { name: "test_trigger_tool_change" }, { server, ...as(name) });
    expect(await events.message()).toMatchObject({ method: "notifications/tools/list_changed" });
    const params = { name: "test_trigger_prompt_change" };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    await (await post(body, as(name).headers, server)).text();
    expect(await events.message()).toMatchObject({ method: "notifications/prompts/list_changed" });
    await events.drop();
  });

  const enlisted = (hub: DurableObjectStub<Hub>) =>
    runInDurableObject(hub, (_instance, { storage }) =>
      storage.sql.exec<{ id: string }>("SELECT id FROM sessions ORDER BY at").toArray(),
    ).then((rows) => rows.map(({ id }) => id));

  test("are told to the newest sessions, where there are too many", async () => {
    limited({ hubSessions: 2 });
    const { clients, hub } = await owned({}, {}, {});
    for (const client of clients) await subscribe(client, "test://a");
    expect(await enlisted(hub)).toEqual(clients.slice(1).map(({ id }) => id));
    await hub.publish([{ method: LIST }]);
    const counts = await Promise.all(
      clients.map((client) =>
        runInDurableObject(objectOf(client), (_instance, { storage }) =>
          storage.sql.exec("SELECT COUNT(*) AS count FROM events").one(),
        ),
      ),
    );
    expect(counts.map(({ count }) => count)).toEqual([0, 1, 1]);
  });

  test("are not told to sessions that have ended: those are forgotten", async () => {
    const { clients, hub } = await owned({}, {}, {});
    const [one, two, three] = clients as [SessionClient, SessionClient, SessionClient];
    for (const client of clients) await subscribe(client, "test://a");
    await one.end();
    expect(await enlisted(hub)).toEqual([two.id, three.id]);
    clock.aheadMs += limits.sessionIdleMs + 1000;
    await runDurableObjectAlarm(objectOf(two));
    expect(await enlisted(hub)).toEqual([three.id]);
    const gone = objects.newUniqueId().toString();
    await hub.enlist(gone);
    await hub.publish([{ method: LIST }]);
    expect(await enlisted(hub)).toEqual([three.id]);
  });
});

test("roots/list_changed is told to the servlets that want to know", async () => {
  const client = await begin();
  const events = await listened(client);
  expect((await client.notify("notifications/roots/list_changed")).status).toBe(202);
  const { id, method } = await events.message();
  expect(method).toBe("roots/list");
  await client.answer(id, ROOTS);
  expect(await events.message()).toMatchObject({
    method: "notifications/message",
    params: { level: "notice", data: expect.stringContaining("file:///a") },
  });
  await events.drop();
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

test("nothing of what is said stands in the session's storage in the clear", async () => {
  const SECRET = "s3cr3t-marker";
  const client = await begin();
  const stored = () =>
    runInDurableObject(objectOf(client), (_instance, { storage }) => {
      const { sql } = storage;
      const tables = sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
        .toArray()
        .filter(({ name }) => !name.startsWith("_cf_"));
      const rows = tables.flatMap(({ name }) => sql.exec(`SELECT * FROM ${name}`).toArray());
      const cells = rows.flatMap((row) => Object.values(row));
      return cells.map((cell) =>
        cell instanceof ArrayBuffer ? new TextDecoder("latin1").decode(cell) : String(cell),
      );
    });
  const ask = (what: string) => ({ do: what, message: `${SECRET} in a question` });
  const events = await planned(client, log(`${SECRET} in a log`), ask("elicit"), ask("sample"));
  await events.message();
  const { id } = await events.message();
  const during = await stored();
  expect(during).toContain("tools/call");
  expect(during.length).toBeGreaterThan(10);
  expect(during.filter((cell) => cell.includes(SECRET))).toEqual([]);
  await client.answer(id, accept(`${SECRET} in an answer`));
  const sampling = await events.message();
  await client.answer(sampling["id"], { ...SAID, content: { type: "text", text: SECRET } });
  expect(JSON.stringify(saidIn(await events.message()))).toContain(SECRET);
  await tell(client, SECRET);
  const after = await stored();
  expect(after.filter((cell) => cell.startsWith("event "))).toHaveLength(5);
  expect(after.filter((cell) => cell.includes(SECRET))).toEqual([]);
});
