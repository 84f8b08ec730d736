import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { prepare, send, serverOf } from "../../worker/calls/client.ts";
import { listen, prepareHubs, server as hubServer, serveAs } from "../../worker/mcp/hub-client.ts";
import { steps } from "../../worker/calls/plans.ts";
import { resultIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { keyRecordsOf } from "../../../src/server/kernel/auth/key-records.ts";
import { Session } from "../../../src/server/features/sessions/session.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { begin, listened } from "../../worker/mcp/legacy/session-steps.ts";
import { post } from "../../worker/server.ts";

/** Clients hear of resources that their scopes grant, at the time of the change too. */
prepare();
prepareHubs();

const OWNED = "http-status://404";
/** No servlet lists it; `durable` tells of it. */
const UNLISTED = "test://a";
const DURABLE = ["durable:*"];
/** Of another servlet, of the owner but another resource, and of a scope that the settings define. */
const OTHERS = [["hello:*"], ["http-status:http-status://500", "hello:greet"], ["greeter"]];

const hashOf = async (key: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toHex();

/** The variables of a server where the holder of this key has these scopes. */
const variablesFor = async (key: string, scopes?: readonly string[]) => ({
  API_KEYS: JSON.stringify({ [key]: { hash: await hashOf(key), ...(scopes && { scopes }) } }),
  SCOPES: JSON.stringify({ greeter: ["hello:greet"] }),
});

function held() {
  const key = crypto.randomUUID();
  const headers = { authorization: `Bearer ${key}` };
  const server = async (scopes?: readonly string[]) =>
    serverOf(bundle, await variablesFor(key, scopes));
  const session = async (scopes?: readonly string[]) =>
    begin({ headers, server: await server(scopes) });
  /** Changes these resources, then a list, by a key that may do everything. */
  const change = async (...uris: string[]) => {
    const plan = steps(...uris.map((url) => ({ do: "updated", url })), { do: "changed" });
    const params = { name: "plan", arguments: plan };
    await send("tools/call", params, { server: await server(), headers });
  };
  return { key, headers, server, session, change };
}

const subscribe = async (client: SessionClient, uri: string) =>
  resultIn(await client.request("resources/subscribe", { uri }));

describe("a session", () => {
  test.each(OTHERS)("subscribes to nothing beyond its scopes: %s", async (...scopes) => {
    const client = await held().session(scopes);
    const { error } = await subscribe(client, OWNED);
    expect(error).toMatchObject({ message: expect.stringContaining("lacks") });
    expect((await subscribe(client, OWNED))["result"]).toBeUndefined();
  });

  test("subscribes to what its scopes grant, and to unlisted URIs of servlets that they grant", async () => {
    const client = await held().session(["http-status:http-status://404", "durable:test://a"]);
    expect((await subscribe(client, OWNED))["result"]).toEqual({});
    expect((await subscribe(client, UNLISTED))["result"]).toEqual({});
    expect((await subscribe(client, "test://b"))["error"]).toMatchObject({
      message: expect.stringContaining("lacks"),
    });
  });

  test.each([["hello:*"], ["http-status:*"], ["durable:plan"]])(
    "hears nothing more once its key is narrowed, until it is widened: %s",
    async (...scopes) => {
      const { session, server, headers, change } = held();
      const client = await session();
      for (const uri of [UNLISTED, "test://b"]) await subscribe(client, uri);
      const { id, version } = client;
      const own = { ...headers, "mcp-session-id": id, "mcp-protocol-version": version };
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      const events = await listened(client);
      await (await post(ping, own, await server(scopes))).text();
      await change(UNLISTED, "test://b");
      expect((await events.message())["method"]).toBe("notifications/resources/list_changed");
      await (await post(ping, own, await server())).text();
      await change(UNLISTED);
      expect((await events.message())["params"]).toEqual({ uri: UNLISTED });
      await events.drop();
    },
  );

  test("hears by the scopes with which it listens again", async () => {
    const { session, server, headers, change } = held();
    const client = await session();
    await subscribe(client, UNLISTED);
    const response = await (
      await server(["hello:*"])
    ).request("http://localhost:8787/mcp", {
      headers: {
        ...headers,
        accept: "text/event-stream",
        "mcp-session-id": client.id,
      },
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await change(UNLISTED);
    let text = "";
    while (!text.includes("list_changed")) text += (await reader.read()).value;
    expect(text).not.toContain("resources/updated");
    await reader.cancel();
  });
});

test.each<[what: string, scopes: readonly string[] | undefined, events: number]>([
  ["nothing", undefined, 2],
  ["the servlet", DURABLE, 2],
  ["another servlet", ["hello:*"], 1],
  ["another resource", ["durable:test://b"], 1],
  ["no scope at all", [], 1],
  ["a scope of the settings", ["greeter"], 1],
])(
  "a session whose key is narrowed in its configuration, without a request since, hears by it: %s",
  async (_what, scopes, count) => {
    const { key, session } = held();
    const client = await session();
    await subscribe(client, UNLISTED);
    const sessions = (env as unknown as { SESSIONS: DurableObjectNamespace }).SESSIONS;
    const stub = sessions.get(sessions.idFromString(client.object));
    const told = await runInDurableObject(stub, async (_object, state) => {
      const { sql } = state.storage;
      const events = () => sql.exec("SELECT seq FROM events").toArray().length;
      const before = events();
      // As the object begins again with the new configuration.
      const server = new Kernel(bundle, { ...env, ...(await variablesFor(key, scopes)) });
      const narrowed = new Session(state, env, server.sealing);
      await narrowed.changed([
        {
          method: "notifications/resources/updated",
          params: { uri: UNLISTED },
          servlet: "durable",
        },
        { method: "notifications/resources/list_changed" },
      ]);
      return events() - before;
    });
    expect(told).toBe(count);
  },
);

describe("a stream", () => {
  const streamOf = async (scopes: readonly string[] | undefined, uris: string[]) => {
    const { key, headers } = held();
    serveAs(bundle, await variablesFor(key, scopes));
    const filter = { resourceSubscriptions: uris, resourcesListChanged: true };
    const listener = await listen(filter, { headers });
    const { resourceSubscriptions } = listener.acknowledged.params.notifications;
    const change = async () => {
      serveAs(bundle, await variablesFor(key));
      const plan = steps({ do: "updated", url: UNLISTED }, { do: "changed" });
      await send("tools/call", { name: "plan", arguments: plan }, { server: hubServer, headers });
    };
    return { ...listener, agreed: resourceSubscriptions, change };
  };

  test.each(OTHERS)("is of nothing beyond its scopes: %s", async (...scopes) => {
    expect((await streamOf(scopes, [OWNED])).agreed).toBeUndefined();
  });

  test("is of the part of a filter that its scopes grant", async () => {
    const { agreed } = await streamOf(DURABLE, [OWNED, UNLISTED]);
    expect(agreed).toEqual([UNLISTED]);
  });

  test("tells of a resource where its scopes grant the servlet that does", async () => {
    const granted = await streamOf(DURABLE, [UNLISTED]);
    await granted.change();
    expect(await granted.next()).toMatchObject({ params: { uri: UNLISTED } });
    const other = await streamOf(["hello:*"], [UNLISTED]);
    await other.change();
    expect((await other.next()).method).toBe("notifications/resources/list_changed");
  });
});

test("who may use all servlets hears of a URI from any, as a reason to read it again; who may use its owner, from the owner", async () => {
  for (const [scopes, hears] of [
    [undefined, true],
    [["http-status:*", "durable:*"], true],
    [["http-status:*"], false],
    [["durable:*"], false],
  ] as const) {
    const { key, headers } = held();
    serveAs(bundle, await variablesFor(key, scopes));
    const filter = { resourceSubscriptions: [OWNED], resourcesListChanged: true };
    const { next } = await listen(filter, { headers });
    serveAs(bundle, await variablesFor(key));
    const plan = steps({ do: "updated", url: OWNED }, { do: "changed" });
    await send("tools/call", { name: "plan", arguments: plan }, { server: hubServer, headers });
    const { method } = await next();
    expect({ scopes, hears: method.endsWith("updated") }).toEqual({ scopes, hears });
  }
});

describe("a stream ends, and tells nothing more, once its key", () => {
  const { keyCheckMs } = limits;
  beforeEach(() => configureLimits({ keyCheckMs: 0 }));
  afterEach(() => {
    configureLimits({ keyCheckMs });
    vi.restoreAllMocks();
  });
  const later = (ms: number) => {
    const now = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
  };
  const DAY = 24 * 60 * 60 * 1000;
  const soon = () => ({ expires: new Date(Date.now() + DAY).toISOString() });

  const ends: [string, object, (key: string) => unknown][] = [
    ["is revoked", {}, async (key) => keyRecordsOf(env)!().revoke(await hashOf(key), "boss")],
    ["has expired", soon(), () => later(DAY + 1)],
    [
      "is narrow, and revoked",
      { scopes: DURABLE },
      async (key) => keyRecordsOf(env)!().revoke(await hashOf(key), "boss"),
    ],
    ["is narrow, and has expired", { ...soon(), scopes: DURABLE }, () => later(2 * DAY)],
  ];
  const variables = async (key: string, more: object) => ({
    API_KEYS: JSON.stringify({
      [key]: { hash: await hashOf(key), ...more },
      other: await hashOf("other"),
    }),
  });
  /** Changes the resource, then a list, by another key of the same name. */
  const changeAs = async (key: string) => {
    const API_KEYS = JSON.stringify({ [key]: await hashOf(`${key}-again`) });
    serveAs(bundle, { API_KEYS });
    return { authorization: `Bearer ${key}-again` };
  };
  const plan = steps({ do: "updated", url: UNLISTED }, { do: "changed" });

  test.each(ends)("%s", async (_what, more, end) => {
    const { key, headers } = held();
    serveAs(bundle, await variables(key, more));
    const filter = { resourceSubscriptions: [UNLISTED], resourcesListChanged: true };
    const { next } = await listen(filter, { headers });
    const change = { name: "plan", arguments: plan };
    await send("tools/call", change, { server: hubServer, headers });
    expect(await next()).toMatchObject({ params: { uri: UNLISTED } });
    expect(await next()).toMatchObject({ method: "notifications/resources/list_changed" });
    await end(key);
    const others = await changeAs(key);
    await send("tools/call", change, { server: hubServer, headers: others });
    expect(await next()).toBeUndefined();
  });

  test.each(ends)("%s, in a session", async (_what, more, end) => {
    const { key, headers, change } = held();
    const server = serverOf(bundle, await variables(key, more));
    const client = await begin({ headers, server });
    await subscribe(client, UNLISTED);
    const events = await listened(client);
    await change(UNLISTED);
    expect((await events.message())["params"]).toEqual({ uri: UNLISTED });
    await events.message();
    await end(key);
    const params = { name: "plan", arguments: plan };
    const API_KEYS = JSON.stringify({ [key]: await hashOf(`${key}-again`) });
    const others = { authorization: `Bearer ${key}-again` };
    await send("tools/call", params, { server: serverOf(bundle, { API_KEYS }), headers: others });
    expect(await events.rest()).toEqual([]);
  });
});
