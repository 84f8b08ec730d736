import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import type { Session } from "../../../src/server/features/sessions/session.ts";
import { SessionCalls } from "../../../src/server/features/sessions/session-calls.ts";
import { post } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";
import {
  as,
  clock,
  keyed,
  limited,
  prepare,
  ROOTS,
  send,
  type Json,
} from "../../worker/calls/client.ts";
import { steps } from "../../worker/calls/plans.ts";
import {
  resultIn,
  type Events,
  type SessionClient,
  type SessionOptions,
} from "../../worker/mcp/legacy/session-client.ts";
import { begin, listened, objectOf, objects } from "../../worker/mcp/legacy/session-steps.ts";

/** Sessions and servlets that are notified of changes. */
prepare();

const hubs = env.HUBS!;

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

describe("changes", () => {
  const UPDATED = "notifications/resources/updated";
  const LIST = "notifications/resources/list_changed";
  const updated = (url: string) => ({ do: "updated", url });
  const subscribe = async (client: SessionClient, uri: string) =>
    expect(
      (await resultIn(await client.request("resources/subscribe", { uri })))["result"],
    ).toEqual({});

  test("of a session that ends between two of them are no errors", async () => {
    const client = await begin();
    await subscribe(client, "test://a");
    const change = { method: UPDATED, params: { uri: "test://a" } };
    await runInDurableObject(objectOf(client), async (session: Session) => {
      const told = session.changed(Array.from({ length: 100 }, () => change));
      await Promise.all([session.end({ name: "anonymous" }), expect(told).resolves.toBeDefined()]);
    });
  });

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

  test("reach sessions of the same principal only", async () => {
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

  test("come from calls of the newest version, and from calls without a session, too", async () => {
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
      storage.sql.exec<{ id: string }>("SELECT id FROM enlisted ORDER BY at").toArray(),
    ).then((rows) => rows.map(({ id }) => id));

  test("reach the newest sessions, if there are too many", async () => {
    limited({ hubSessions: 2 });
    const { clients, hub } = await owned({}, {}, {});
    for (const client of clients) await subscribe(client, "test://a");
    expect(await enlisted(hub)).toEqual(clients.slice(1).map(({ object }) => object));
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

  test("that come often are sent together, each once", async () => {
    limited({ changesMs: 300 });
    const { clients, hub } = await owned({});
    const [client] = clients as [SessionClient];
    await subscribe(client, "test://a");
    await subscribe(client, "test://b");
    const updates = ["test://a", "test://b"].map((uri) => ({ method: UPDATED, params: { uri } }));
    const often = Array.from({ length: 60 }, (_, at) => hub.publish([updates[at % 2]!]));
    await Promise.all(often);
    const events = await listened(client);
    await client.call("test_trigger_tool_change");
    const heard: Json[] = [];
    do heard.push(await events.message());
    while (heard.at(-1)!["method"] === UPDATED);
    const uris = heard.slice(0, -1).map(({ params }) => (params as Json)["uri"]);
    expect(new Set(uris)).toEqual(new Set(["test://a", "test://b"]));
    expect(uris.length).toBeLessThan(40);
    await events.drop();
  });

  test("are not told to sessions that have ended: those are forgotten", async () => {
    const { clients, hub } = await owned({}, {}, {});
    const [one, two, three] = clients as [SessionClient, SessionClient, SessionClient];
    for (const client of clients) await subscribe(client, "test://a");
    await one.end();
    expect(await enlisted(hub)).toEqual([two.object, three.object]);
    clock.aheadMs += limits.sessionIdleMs + 1000;
    await runDurableObjectAlarm(objectOf(two));
    expect(await enlisted(hub)).toEqual([three.object]);
    const gone = objects.newUniqueId().toString();
    await hub.enlist(gone);
    await hub.publish([{ method: LIST }]);
    expect(await enlisted(hub)).toEqual([three.object]);
  });
});

/** Has the changes of roots counted that sessions tell servlets of. Gives a wait until so many have been told. */
function countRootsChanges() {
  let count = 0;
  const { rootsChanged } = SessionCalls.prototype;
  vi.spyOn(SessionCalls.prototype, "rootsChanged").mockImplementation(async function (
    this: SessionCalls,
    scopes,
  ) {
    await rootsChanged.call(this, scopes).finally(() => count++);
  });
  return (many: number) => eventually(() => expect(count).toBe(many));
}

test("a session that ends while servlets are notified of changed roots is no fault", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const told = countRootsChanges();
  for (let time = 0; time < 5; time++) {
    const client = await begin({ ticket: false });
    await Promise.all([client.notify("notifications/roots/list_changed"), client.end()]);
  }
  await told(5);
  expect(log.mock.calls.join()).not.toContain("has ended");
});

test("roots/list_changed reaches no servlet of which its caller may use nothing", async () => {
  const client = await begin();
  const message = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
  const how = { isBatch: false, accepts: { json: true, sse: true } };
  const changed = (...scopes: string[]) =>
    objectOf(client).post({ name: "anonymous" }, { ...how, messages: [message], scopes });
  const asks = () =>
    runInDurableObject(objectOf(client), (_instance, { storage }) =>
      storage.sql.exec("SELECT * FROM asks").toArray(),
    );
  const told = countRootsChanges();
  await changed("hello:*");
  await told(1);
  expect(await asks()).toEqual([]);
  await changed("*:*");
  await eventually(async () => expect(await asks()).toHaveLength(2));
});

test("roots/list_changed reaches the servlets that ask for it", async () => {
  const client = await begin();
  const events = await listened(client);
  expect((await client.notify("notifications/roots/list_changed")).status).toBe(202);
  // One of the servlets is in AssemblyScript, the other in TypeScript.
  const heard: Json[] = [];
  while (heard.length < 2) {
    const message = await events.message();
    if (message["method"] === "roots/list") await client.answer(message["id"], ROOTS);
    // Changes for everybody may still come, of other tests.
    else if (message["method"] === "notifications/message") heard.push(message);
  }
  for (const message of heard) {
    expect(message).toMatchObject({
      params: { level: "notice", data: expect.stringContaining("file:///a") },
    });
  }
  await events.drop();
});
