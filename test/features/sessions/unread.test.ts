import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import type { Session } from "../../../src/server/features/sessions/session.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { Connection } from "../../../src/server/kernel/http/connection.ts";
import { unreadOf, unstored } from "../../../src/server/kernel/http/unread.ts";
import { as, keyed, prepare } from "../../worker/calls/client.ts";
import { anonymous, plain, prepareHubs } from "../../worker/mcp/hub-client.ts";
import { dead } from "../../worker/mcp/legacy/session-faults.ts";
import { Events } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  listened,
  objectOf,
  request,
  tell,
  textOf,
  VERSIONS,
} from "../../worker/mcp/legacy/session-steps.ts";
import { limitTo, roomForUnread } from "../../worker/unread-room.ts";

/** What streams hold that nobody reads. */

const usual = { ...limits };
afterEach(() => {
  vi.restoreAllMocks();
  configureLimits(usual);
});
prepare();
prepareHubs();

roomForUnread();

const LONG = "x".repeat(300_000);

test("what a session is told faster than it stores it counts for its caller, and is dropped beyond the room", async () => {
  const ada = crypto.randomUUID();
  const client = await begin({ server: await keyed(ada), ...as(ada) });
  limitTo(800_000, unstored);
  const params = { level: "info", data: LONG };
  await runInDurableObject(objectOf(client), async (session: Session) => {
    const told = Array.from({ length: 10 }, () =>
      session.changed([{ method: "notifications/message", params }]),
    );
    expect(unreadOf(ada, unstored)).toBeGreaterThan(LONG.length);
    await Promise.all(told);
    expect(unreadOf(ada, unstored)).toBe(0);
    await session.changed([
      { method: "notifications/message", params: { ...params, data: "end" } },
    ]);
  });
  // Bytes that other files have left unread leave less room here.
  configureLimits(usual);
  const events = await listened(client);
  expect(textOf(await events.message())).toBe(LONG);
  expect(textOf(await events.message())).toBe("end");
  await events.drop();
});

test("a session's client is sent what it has missed, though others leave no room at all", async () => {
  const ada = crypto.randomUUID();
  const client = await begin({ server: await keyed(ada), ...as(ada) });
  await tell(client, LONG);
  limitTo(200_000);
  const other = new Connection({ caller: crypto.randomUUID(), onOver: () => {} });
  other.writeAny(LONG);
  const events = await listened(client);
  expect(textOf(await events.message())).toBe(LONG);
  await events.drop();
  other.fail("The end.");
});

test("what a session is told counts for its anonymous caller, though the session was woken by others", async () => {
  const client = await begin({ headers: { "cf-connecting-ip": "192.0.2.77" } });
  await dead(objectOf(client));
  await tell(client, "which wakes it");
  expect((await client.notify("notifications/any")).status).toBe(202);
  await runInDurableObject(objectOf(client), async (session: Session) => {
    const params = { level: "info", data: LONG };
    const told = session.changed([{ method: "notifications/message", params }]);
    expect(unreadOf("address 192.0.2.77", unstored)).toBeGreaterThan(LONG.length);
    await told;
  });
});

describe("streams that nobody reads break off once they have too much of one caller together, and those of others do not", () => {
  /** Of what one caller has unread, above its half of the room: one message. */
  const mostIn = (room: number) => room / 2 + LONG.length + 1000;

  test("those of a hub", async () => {
    limitTo(1_000_000);
    const [ada, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    await runInDurableObject(anonymous, async (hub: Hub) => {
      const listen = async (caller: string) => {
        const filter = { taskIds: [caller] };
        const stream = await hub.listen({ ...plain, caller, filter, lifeMs: 60_000 });
        return stream!.getReader();
      };
      const publish = async (taskId: string) => {
        const params = { taskId, text: LONG };
        await hub.publish([{ method: "notifications/tasks", params }]);
      };
      const [one, two, other] = [await listen(ada), await listen(ada), await listen(bob)];
      for (let nth = 0; nth < 3; nth++) {
        await publish(ada);
        expect(unreadOf(ada)).toBeLessThan(2 * mostIn(1_000_000));
      }
      await publish(bob);
      const all = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
        let text = "";
        while (!text.includes(LONG)) text += new TextDecoder().decode((await reader.read()).value);
        return "read";
      };
      await expect(all(one)).rejects.toThrow("too slowly");
      await expect(all(two)).rejects.toThrow("too slowly");
      expect(await all(other)).toBe("read");
      await other.cancel();
    });
  });

  test("those of sessions", async () => {
    const [ada, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    const server = await keyed(ada, bob);
    const listening = async (name: string) => {
      const client = await begin({ server, ...as(name) });
      const events = await listened(client);
      await events.next();
      return { client, events };
    };
    const [one, two, other] = [await listening(ada), await listening(ada), await listening(bob)];
    // So much that a message has room to be stored while that much is unread.
    const room = 3_000_000;
    limitTo(room);
    // Some of it is on its way between objects.
    for (let nth = 0; nth < 10; nth++) {
      for (const { client } of [one, two]) await tell(client, LONG);
      expect(unreadOf(ada)).toBeLessThan(mostIn(room) + 2 * LONG.length);
    }
    await tell(other.client, LONG);
    for (const { events } of [one, two])
      expect((await events.rest().catch(() => [])).length).toBeLessThan(10);
    expect(textOf(await other.events.message())).toBe(LONG);
    await other.events.drop();
    const again = await listened(one.client);
    expect(textOf(await again.message())).toBe(LONG);
    await again.drop();
  });
});

test.each(VERSIONS)(
  "a reply for which a caller leaves no room elsewhere is sent when its client comes back: %s",
  async (version) => {
    const ada = crypto.randomUUID();
    const client = await begin({ server: await keyed(ada), ...as(ada), version });
    limitTo(500_000);
    const other = new Connection({ caller: ada, onOver: () => {} });
    const { resolve } = Registry.prototype;
    vi.spyOn(Registry.prototype, "resolve").mockImplementationOnce(function (
      this: Registry,
      ...args
    ) {
      other.writeAny(LONG);
      return resolve.apply(this, args);
    });
    const params = { name: "greet", arguments: { name: LONG } };
    const accept = { accept: "text/event-stream" };
    const response = await client.post(request(1, "tools/call", params), accept);
    await expect.poll(() => unreadOf(ada)).toBeGreaterThan(LONG.length);
    const events = await new Events(response).rest();
    expect(events.flatMap(({ message }) => message ?? [])).toEqual([]);
    other.fail("The end.");
    const again = await listened(client, events.findLast(({ id }) => id)?.id);
    expect(JSON.stringify(await again.message())).toContain(LONG);
    await again.drop();
  },
);
