import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { Session } from "../../../src/server/features/sessions/session.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { callOf, newAddress, prepare, type Sent } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { at, PROFILES, profiled } from "../../worker/profiles.ts";
import { bundle } from "../../bundle.gen.ts";
import { listenerOf, modern, post, settings } from "../../worker/server.ts";
import { resultIn } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  isAlive,
  listened,
  objectOf,
  planned,
} from "../../worker/mcp/legacy/session-steps.ts";

/** Sessions at the endpoint of a profile. */
prepare();

const server = profiled();
const support: Sent = { server: at("support", server) };
const plans: Sent = { server: at("plans", server) };
const whole: Sent = { server };

test("the server introduces itself as the profile", async () => {
  const { introduced } = await begin(support);
  expect(introduced).toMatchObject({ serverInfo: { title: "Support" } });
});

describe("changes of resources", () => {
  const UPDATED = "notifications/resources/updated";
  const told = steps({ do: "updated", url: "plan://resource" }, { do: "changed" });
  /** What clients at this endpoint hear of a resource, before they hear of a list. */
  const heardAt = async (endpoint: Sent) => {
    const headers = { "cf-connecting-ip": newAddress() };
    const client = await begin({ server: endpoint.server!, headers });
    await client.request("resources/subscribe", { uri: "plan://resource" });
    const own = await listened(client);
    const filter = { resourceSubscriptions: ["plan://resource"], resourcesListChanged: true };
    const { body, headers: more } = modern("subscriptions/listen", { notifications: filter });
    const stream = listenerOf(await post(body, { ...more, ...headers }, endpoint.server!));
    await stream.next();
    await callOf("plan", told, { ...whole, headers });
    const methods = [(await own.message())["method"], (await stream.next()).method];
    await Promise.all([own.drop(), stream.close()]);
    return methods;
  };

  test("come from servlets of the profile alone", async () => {
    expect(await heardAt(plans)).toEqual([UPDATED, UPDATED]);
    const changed = "notifications/resources/list_changed";
    expect(await heardAt(support)).toEqual([changed, changed]);
  });
});

test.each([
  ["its profile", { support: { servlets: ["hello"] } }, 3],
  ["another profile", { plans: { servlets: ["hello"] } }, 0],
])("a session hears of a deployment that changes %s", async (_what, changed, events) => {
  const client = await begin({ server: support.server! });
  const served = { ...bundle, profiles: { ...PROFILES, ...changed } };
  const later = new Kernel(served, { ...env, ...settings }).sealing;
  const heard = await runInDurableObject(objectOf(client), async (_object, state) => {
    const count = () => state.storage.sql.exec("SELECT seq FROM events").toArray().length;
    const before = count();
    const begun: Promise<unknown>[] = [];
    const waiting = Object.create(state, {
      waitUntil: { value: (work: Promise<unknown>) => void begun.push(work) },
      storage: { value: state.storage },
      id: { value: state.id },
    }) as DurableObjectState;
    void new Session(waiting, env, later);
    await Promise.all(begun);
    return count() - before;
  });
  expect(heard).toBe(events);
});

describe("what began at one endpoint is at no other", () => {
  test("a session, and its streams", async () => {
    const client = await begin({ server: support.server! });
    const [first] = [await planned(client, { do: "log", message: "one" }, ELICIT)];
    const event = await first.next();
    const known = { "mcp-session-id": client.id, "mcp-protocol-version": client.version };
    for (const other of [plans.server!, server]) {
      const ping = { jsonrpc: "2.0", id: 9, method: "ping" };
      expect((await post(ping, known, other)).status).toBe(404);
      for (const init of [
        { headers: { ...known, accept: "text/event-stream", "last-event-id": event!.id! } },
        { method: "DELETE", headers: known },
      ])
        expect((await other.fetch(new Request("http://localhost:8787/mcp", init))).status).toBe(
          404,
        );
    }
    expect(await isAlive(client)).toBe(true);
    const listed = await resultIn(await client.request("tools/list"));
    const names = listed["result"].tools.map(({ name }: { name: string }) => name);
    expect(names).toContain("greet");
    expect(names).not.toContain("echo");
    expect((await listened(client, event!.id)) satisfies object).toBeDefined();
    expect((await client.end()).status).toBe(204);
  });
});
