import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { sealerOf } from "../../../src/server/kernel/storage/vault.ts";
import type { ListDigests } from "../../../src/server/kernel/mcp/legacy/list-digests.ts";
import type { SessionTicket } from "../../../src/server/features/sessions/session-object.ts";
import { TicketSession } from "../../../src/server/features/sessions/ticket-session.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";
import { Session } from "../../worker/index.ts";
import {
  accept,
  clock,
  keyed,
  limited,
  prepare,
  serverOf,
  server as usual,
} from "../../worker/calls/client.ts";
import { ELICIT, http, log, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { ask, post } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";
import { Events, messageIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { objectOf, objects, planned, textsOf } from "../../worker/mcp/legacy/session-steps.ts";

/** Sessions whose id is a ticket: they have no object until something must be kept. */
prepare();

const begun = (options: object = {}) => SessionClient.begin({ stored: false, ...options });

/** True while the object of this session stores anything. */
const isStored = (client: SessionClient) =>
  runInDurableObject(
    objectOf(client),
    (_object, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master").toArray().length > 0,
  );

const hasObject = async ({ object }: SessionClient) =>
  (await listDurableObjectIds(objects)).some((id) => String(id) === object);

/** Another isolate of a deployment, which knows nothing of the first but what is recorded. */
const elsewhere = () => serverOf(bundle, { EDGE_SERVLETS_RUNS: undefined });

/** Sends a message of this session to another server. */
const sendTo = (server: typeof usual, { id, version }: SessionClient, message: object) =>
  post(
    { jsonrpc: "2.0", ...message },
    { "mcp-session-id": id, "mcp-protocol-version": version },
    server,
  );

const ping = { id: 1, method: "ping" };

/** Answers each request of a guest; returns their idempotency keys. */
function answering(): (string | null)[] {
  const keys: (string | null)[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (request, init) => {
    keys.push(new Request(request as Request, init as RequestInit).headers.get("idempotency-key"));
    return new Response("there");
  });
  return keys;
}

test("servlets get an opaque name of the session, the same with and without an object", async () => {
  const named = async (client: SessionClient): Promise<string> => {
    const { result } = await messageIn(await client.call("arrived_session", {}));
    return result?.["content"][0].text as string;
  };
  const client = await begun();
  const name = await named(client);
  expect(name).toMatch(/^[0-9a-f]{32}$/);
  expect(client.object).not.toContain(name);
  expect(await named(client)).toBe(name);
  expect(await named(await begun())).not.toBe(name);
  const stored = await begun({ stored: true });
  expect(await named(stored)).toMatch(/^[0-9a-f]{32}$/);
  const { result } = await ask("tools/call", { name: "arrived_session", arguments: {} });
  expect(JSON.stringify(result)).toContain("undefined");
});

describe("a session that says and asks nothing", () => {
  test("has no object", async () => {
    const client = await begun();
    const called = await messageIn(await client.call("greet", { name: "Ada" }));
    expect(called["result"]).toBeDefined();
    expect((await messageIn(await client.request("tools/list")))["result"]).toBeDefined();
    expect((await messageIn(await client.request("ping")))["result"]).toEqual({});
    expect((await client.answer(7, {})).status).toBe(202);
    expect((await client.end()).status).toBe(204);
    expect((await client.request("ping")).status).toBe(404);
    expect((await client.end()).status).toBe(404);
  });

  test("makes none for what its client cannot be asked, or does not want to hear", async () => {
    // Another test may have had the tool notify last, and its next call begins in an object then.
    await messageIn(await (await begun()).call("plan", steps()));
    const client = await begun({ capabilities: {} });
    const called = await messageIn(
      await client.call(
        "plan",
        steps({ do: "progress", message: "half" }, { ...ELICIT, catches: true }),
      ),
    );
    expect(saidIn(called)).toHaveLength(2);
    expect(await hasObject(client)).toBe(false);
  });

  test("fails as any other where its tool fails", async () => {
    const client = await begun();
    const unknown = await messageIn(await client.call("greeet", { name: "Ada" }));
    expect(unknown["error"]).toMatchObject({ code: -32602 });
    const unfit = await messageIn(await client.call("greet", { name: 7 }));
    expect(unfit["result"]).toMatchObject({ isError: true });
    expect(await hasObject(client)).toBe(false);
  });

  test("has a ticket for its client's revision, and older shapes", async () => {
    const client = await begun({ version: "2024-11-05" });
    const { result } = await messageIn(await client.request("tools/list"));
    expect(result.tools.every((tool: object) => !("title" in tool))).toBe(true);
  });
});

describe("a ticket", () => {
  test("opens nothing where a character of it is another", async () => {
    const client = await begun();
    for (const at of [1, 5, 40, client.id.length - 1]) {
      const other = client.id[at] === "A" ? "B" : "A";
      const altered = client.id.slice(0, at) + other + client.id.slice(at + 1);
      const response = await client.post(
        { jsonrpc: "2.0", ...ping },
        { "mcp-session-id": altered },
      );
      expect({ at, status: response.status }).toEqual({ at, status: 404 });
    }
  });

  test.each(["~", "~~", "~AAAA", `~${"A".repeat(3000)}`, "~%00"])("is not %s", async (id) => {
    const client = await begun();
    const response = await client.post({ jsonrpc: "2.0", ...ping }, { "mcp-session-id": id });
    expect(response.status).toBe(404);
  });

  test("is not what was sealed for something else", async () => {
    const client = await begun();
    const sealer = sealerOf(readSettings(env), env)!;
    const id = `~${await sealer.sealText({ object: client.object }, "sign-in")}`;
    const response = await client.post({ jsonrpc: "2.0", ...ping }, { "mcp-session-id": id });
    expect(response.status).toBe(404);
  });

  test("is the same text everywhere: no other text of the same bytes is an id", async () => {
    const client = await begun();
    for (const other of [`${client.id}=`, `${client.id}==`, `~ ${client.id.slice(1)}`]) {
      const response = await client.post({ jsonrpc: "2.0", ...ping }, { "mcp-session-id": other });
      expect({ other, status: response.status }).toEqual({ other, status: 404 });
    }
  });

  test("belongs to its principal", async () => {
    const { ada, bob } = await keyed("ada", "bob").then((server) => ({
      ada: { headers: { authorization: "Bearer ada" }, server },
      bob: { authorization: "Bearer bob" },
    }));
    const client = await begun(ada);
    expect((await client.request("ping")).status).toBe(200);
    expect((await client.post({ jsonrpc: "2.0", ...ping }, bob)).status).toBe(404);
  });

  test("has no room for a client that says much of itself: its session has an object", async () => {
    const client = await SessionClient.begin({ ticket: false });
    expect(client.id).toMatch(/^[0-9a-f]{64}$/);
    expect(await hasObject(client)).toBe(true);
    expect((await client.end()).status).toBe(204);
  });

  test("is good for as long as an idle session lives, and then as long as its session is used", async () => {
    const [used, unused] = [await begun(), await begun()];
    clock.aheadMs = limits.sessionIdleMs + 1000;
    expect((await used.request("ping")).status).toBe(200);
    expect(await hasObject(used)).toBe(true);
    clock.aheadMs = 2 * limits.sessionIdleMs;
    await runDurableObjectAlarm(objectOf(used));
    expect((await used.request("ping")).status).toBe(200);
    expect((await unused.request("ping")).status).toBe(404);
    clock.aheadMs = 3 * limits.sessionIdleMs + 2000;
    await runDurableObjectAlarm(objectOf(used));
    expect((await used.request("ping")).status).toBe(404);
  });

  test("does not bring back an object that has ended because nobody used it", async () => {
    const client = await SessionClient.begin({ server: elsewhere() });
    clock.aheadMs = limits.sessionIdleMs + 1000;
    await runDurableObjectAlarm(objectOf(client));
    expect((await client.request("ping")).status).toBe(404);
    expect((await sendTo(elsewhere(), client, ping)).status).toBe(404);
  });
});

describe("a call goes on in the session's object", () => {
  test("from its first notification, and repeats nothing", async () => {
    const keys = answering();
    const client = await begun();
    const events = await planned(
      client,
      http("POST", "/a"),
      log("one"),
      http("POST", "/b"),
      log("two"),
    );
    const all = await events.rest();
    const ids = all.map(({ id }) => id);
    expect(ids.every((id) => typeof id === "string") && new Set(ids).size === ids.length).toBe(
      true,
    );
    expect(textsOf(all.slice(1, -1))).toEqual(["one", "two"]);
    expect(saidIn(all.at(-1)!.message!)).toHaveLength(4);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
    expect(await hasObject(client)).toBe(true);
  });

  test("with the log level that its client has set", async () => {
    const client = await begun();
    await client.request("logging/setLevel", { level: "error" });
    const called = await messageIn(await client.call("plan", steps(log("one"))));
    expect(saidIn(called)).toHaveLength(1);
  });

  test("from its question", async () => {
    const keys = answering();
    const client = await begun();
    const events = await planned(client, http("POST", "/a"), ELICIT);
    const { id } = await events.message();
    expect((await client.answer(id, accept("Ada"))).status).toBe(202);
    expect(saidIn(await events.message())).toEqual([expect.anything(), "Ada"]);
    expect(keys).toHaveLength(1);
  });

  test(
    "from its question, having said first what a servlet that keeps state said before",
    { tags: ["state"] },
    async () => {
      const client = await begun();
      const _meta = { progressToken: "p" };
      const events = new Events(await client.call("counting-note", {}, { _meta }));
      expect(await events.message()).toMatchObject({
        method: "notifications/progress",
        params: { progressToken: "p", progress: 0 },
      });
      const { id } = await events.message();
      expect((await client.answer(id, accept("Ada", "text"))).status).toBe(202);
      const { result } = await events.message();
      expect(result.content[0].text).toBe("Ada");
    },
  );

  test("where it waits for long, and outlives its connection", async () => {
    const client = await begun();
    const events = await planned(client, NIGHT);
    const { id } = (await events.next())!;
    await events.drop();
    expect(typeof id).toBe("string");
    expect(await hasObject(client)).toBe(true);
  });

  test("and counts for its caller then, not before", async () => {
    limited({ keptPerDay: 1 } as never);
    const client = await begun();
    expect((await messageIn(await client.call("greet", { name: "Ada" })))["result"]).toBeDefined();
  });
});

test("a call that has sent a request says so where its session may not be stored", async () => {
  const headers = { authorization: "Bearer ada" };
  const client = await begun({ server: await keyed("ada"), headers });
  const keys = answering();
  limited({ keptPerDay: 0 });
  const refused = await messageIn(await client.call("plan", steps(http("POST", "/a"), ELICIT)));
  expect(keys).toHaveLength(1);
  expect(JSON.stringify(refused)).toMatch(/Its outcome is unknown/);
});

test("a call that has ended is answered although its session may not be stored", async () => {
  const client = await begun();
  limited({ keptPerDay: 0 });
  const principal = { name: "ada" };
  const begunCall = { hasSent: false, notices: [], reply: `{"jsonrpc":"2.0","id":1,"result":{}}` };
  const [accepts, messages] = [{ json: true, sse: true }, [{ jsonrpc: "2.0", ...ping }]];
  const introduced = { protocolVersion: client.version, capabilities: {} };
  const made = await objectOf(client).post(
    principal,
    { messages, isBatch: false, accepts, begun: begunCall },
    { principal, client: introduced, lists: {} as ListDigests, isReady: true },
  );
  expect(made).toEqual({ status: 200, body: begunCall.reply });
});

describe("what one isolate does, another knows", () => {
  test("a session that has ended is unknown", async () => {
    const client = await begun({ server: elsewhere() });
    const other = elsewhere();
    expect((await sendTo(other, client, ping)).status).toBe(200);
    expect((await client.end()).status).toBe(204);
    await eventually(async () => {
      clock.aheadMs += 2000;
      expect((await sendTo(other, client, ping)).status).toBe(404);
    });
    expect((await sendTo(elsewhere(), client, ping)).status).toBe(404);
  });

  test("a session that ends while two requests find it has ended for both", async () => {
    const client = await begun({ server: elsewhere() });
    const other = serverOf(bundle);
    const headers = { "mcp-session-id": client.id, "mcp-protocol-version": client.version };
    const ending = other.request("http://localhost:8787/mcp", { method: "DELETE", headers });
    await Promise.all([ending, sendTo(other, client, ping)]);
    expect((await ending).status).toBe(204);
    expect((await sendTo(other, client, ping)).status).toBe(404);
  });

  test("an object ends whose making could not be recorded at first", async () => {
    const client = await begun({ server: elsewhere() });
    const failing = vi.spyOn(Session.prototype, "exchange").mockRejectedValue(new Error("down"));
    vi.spyOn(scheduler, "wait").mockResolvedValue();
    const refused = await client.request("logging/setLevel", { level: "debug" });
    expect(refused.status).toBeGreaterThanOrEqual(500);
    failing.mockRestore();
    await client.store();
    const headers = { "mcp-session-id": client.id, "mcp-protocol-version": client.version };
    await elsewhere().request("http://localhost:8787/mcp", { method: "DELETE", headers });
    await eventually(async () => expect(await isStored(client)).toBe(false));
  });

  test("a session's end is tried again where its object has failed", async () => {
    const client = await SessionClient.begin();
    const failing = vi.spyOn(Session.prototype, "end").mockRejectedValue(new Error("down"));
    expect((await client.end()).status).toBeGreaterThanOrEqual(500);
    failing.mockRestore();
    expect((await client.end()).status).toBe(204);
    expect(await isStored(client)).toBe(false);
  });

  test("a session is found although the object of another one fails", async () => {
    // Servers of one machine have one record for an hour.
    const [one, other] = [serverOf(bundle), serverOf(bundle)];
    const ended = await begun({ server: one });
    await sendTo(other, ended, { id: 1, method: "logging/setLevel", params: { level: "debug" } });
    const client = await begun({ server: other });
    expect((await ended.end()).status).toBe(204);
    vi.spyOn(Session.prototype, "end").mockRejectedValue(new Error("down"));
    expect((await sendTo(one, client, ping)).status).toBe(200);
  });

  test("a session with an object ends there, whoever ends it", async () => {
    const client = await SessionClient.begin({ server: elsewhere() });
    const headers = { "mcp-session-id": client.id, "mcp-protocol-version": client.version };
    const ended = await elsewhere().request("http://localhost:8787/mcp", {
      method: "DELETE",
      headers,
    });
    expect(ended.status).toBe(204);
    await eventually(async () => {
      const tables = await runInDurableObject(objectOf(client), (_object, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
      );
      expect(tables).toEqual([]);
    });
  });

  test("a call is cancelled on its way", async () => {
    const client = await begun({ server: elsewhere() });
    let answer!: (response: Response) => void;
    const fetched = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(() => new Promise((resolve) => (answer = resolve)));
    const calling = client.call("plan", steps(http("GET", "/a"), log("one")), {}, "the call");
    await eventually(() => expect(fetched).toHaveBeenCalledOnce());
    await sendTo(elsewhere(), client, {
      method: "notifications/cancelled",
      params: { requestId: "the call" },
    });
    answer(new Response("there"));
    expect((await calling).status).toBe(202);
  });

  test("a call that was cancelled before it speaks does not go on", async () => {
    const client = await begun({ server: elsewhere() });
    // oxlint-disable-next-line typescript/unbound-method
    const plain = TicketSession.prototype.open;
    vi.spyOn(TicketSession.prototype, "open").mockImplementation(function (
      this: TicketSession,
      ...about
    ) {
      queueMicrotask(() => this.cancel(about[0]));
      return plain.apply(this, about);
    });
    const response = await client.call("plan", steps(log("one")));
    expect(response.status).toBe(202);
    expect(await hasObject(client)).toBe(false);
  });

  test("a request listens for its client's departure before the session's object records the use", async () => {
    const ticket = { principal: { name: "ada" }, created: Date.now() } as SessionTicket;
    const done: string[] = [];
    const object = { recordUse: async () => void done.push("records") };
    const session = new TicketSession(ticket, { object: () => object } as never, true);
    session.facts.hasObject = true;
    await session.reportUse({}, () => void done.push("listens"));
    expect(done).toEqual(["listens", "records"]);
  });

  test("a call ends some time after its client has left, also where it left before the call waits", () => {
    vi.useFakeTimers();
    const ticket = { object: "", created: Date.now() } as SessionTicket;
    const session = new TicketSession(ticket, {} as never, true);
    using call = session.open(1, () => AbortSignal.abort());
    const signal = call.signal();
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(25_000);
    vi.useRealTimers();
    expect(signal.aborted).toBe(true);
  });

  test("a call is cancelled where it runs", async () => {
    const client = await begun();
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(
      (request, init) =>
        new Promise((_resolve, reject) => {
          const { signal } = new Request(request as Request, init as RequestInit);
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    const calling = client.call("plan", steps(http("GET", "/a")), {}, "the call");
    await eventually(() => expect(fetched).toHaveBeenCalledOnce());
    await client.notify("notifications/cancelled", { requestId: "the call" });
    const response = await calling;
    expect({ status: response.status, text: await response.text() }).toEqual({
      status: 202,
      text: "",
    });
    expect(await hasObject(client)).toBe(false);
  });
});

test("the record of sessions goes when their tickets have expired", async () => {
  const client = await begun();
  await client.end();
  const hour = Math.floor(Date.now() / 3_600_000);
  const record = objects.getByName(`tickets ${hour}`);
  const rows = () =>
    runInDurableObject(record, (_object, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'carried'").toArray(),
    );
  await eventually(async () => expect(await rows()).toHaveLength(1));
  expect(await runDurableObjectAlarm(record)).toBe(true);
  expect(await rows()).toHaveLength(0);
  await (await begun()).end();
  await eventually(async () => expect(await rows()).toHaveLength(1));
});
