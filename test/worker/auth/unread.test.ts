import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import type { Session } from "../../../src/server/features/sessions/session.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { Connection } from "../../../src/server/kernel/http/connection.ts";
import { countedUnder, unreadOf, unstored } from "../../../src/server/kernel/http/unread.ts";
import { as, keyed, prepare } from "../calls/client.ts";
import { anonymous, plain, prepareHubs } from "../mcp/hub-client.ts";
import { dead } from "../mcp/legacy/session-faults.ts";
import { Events } from "../mcp/legacy/session-client.ts";
import {
  begin,
  listened,
  objectOf,
  request,
  tell,
  textOf,
  VERSIONS,
} from "../mcp/legacy/session-steps.ts";
import { modern } from "../server.ts";
import { eventually } from "../waiting.ts";
import { serverOf, type Server } from "./key-holders.ts";

/** What clients do not read is counted for them, however it is sent. */

const usual = { ...limits };
afterEach(() => {
  vi.restoreAllMocks();
  configureLimits(usual);
});
prepare();
prepareHubs();

/** Before a test. */
let left = 0;
beforeEach(() => {
  left = unreadOf();
});
// An object hears a little later that its client has gone: a test would begin with the room of the one before.
afterEach(() =>
  eventually(() => {
    if (unreadOf() > left + 10_000) throw new Error(`${unreadOf()} bytes are unread still`);
  }),
);

/** Limits the unread bytes, or those of another ledger, to so many besides those that other files have left. */
const limitTo = (bytes: number, ledger?: typeof unstored) =>
  configureLimits({ unreadBytes: bytes + unreadOf(undefined, ledger) });

const LONG = "x".repeat(300_000);

/** Calls a tool, for its answer as an event stream. */
async function calling(
  server: Server,
  key: string,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<Response> {
  const meta = { "io.modelcontextprotocol/logLevel": "debug" };
  const { body, headers } = modern("tools/call", params, meta);
  const accept = "text/event-stream";
  const call = new Request("http://localhost:8787/mcp", {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept, authorization: `Bearer ${key}` },
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return server.fetch(call);
}

describe("an answer as an event stream that its client does not read", () => {
  let [ada, bob] = ["", ""];
  let server: Server;
  beforeEach(async () => {
    [ada, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    server = await serverOf({ [ada]: {}, [bob]: {} });
    limitTo(800_000);
  });

  /** Calls a tool whose answer is as long as its argument. */
  const call = (key: string, name = LONG, signal?: AbortSignal) =>
    calling(server, key, { name: "greet", arguments: { name } }, signal);

  /** Waits until an answer is complete, and counted for its caller. */
  const counted = (key: string, bytes: number) =>
    expect.poll(() => unreadOf(countedUnder(key))).toBeGreaterThan(bytes);

  test("counts until it is read; its caller is refused above half of the room, and others are not", async () => {
    const answers = [await call(ada), await call(ada)];
    await counted(ada, 2 * LONG.length - 2 * limits.smallAnswer);
    const refused = await call(ada, "Ada");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.text()).toContain("not read yet");
    expect((await call(bob, "Bob")).status).toBe(200);
    for (const answer of answers) expect(await answer.text()).toContain(LONG);
    expect(unreadOf(countedUnder(ada))).toBe(0);
    expect((await call(ada, "Ada")).status).toBe(200);
  });

  test("is an error where its request was let in before those that fill the room", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(ada)));
    const readers = answers.map((answer) =>
      answer.body!.pipeThrough(new TextDecoderStream()).getReader(),
    );
    const texts = readers.map(() => "");
    const read = async (reader: ReadableStreamDefaultReader<string>, at: number) => {
      const { value, done } = await reader.read();
      texts[at] += value ?? "";
      return !done;
    };
    // The beginning of each, so that all are complete before the rest is read.
    await Promise.all(
      readers.map(async (reader, at) => {
        while (!texts[at]!.includes("data: ")) await read(reader, at);
      }),
    );
    for (const [at, reader] of readers.entries()) while (await read(reader, at));
    expect(texts.filter((text) => text.includes(LONG)).length).toBe(2);
    const dropped = texts.filter((text) => !text.includes(LONG));
    for (const text of dropped)
      expect(text).toMatch(/"id":1,"error":.*was dropped.*The request was carried out/);
    expect(unreadOf(countedUnder(ada))).toBe(0);
  });

  test("is whole for a caller who leaves nothing unread, though others leave no room at all", async () => {
    const others = [1, 2, 3].map(
      () => new Connection({ caller: crypto.randomUUID(), onOver: () => {} }),
    );
    for (const other of others) other.writeAny(LONG);
    const answer = await call(bob);
    await counted(bob, 100);
    expect(await answer.text()).toContain(LONG);
    for (const other of others) other.fail("The end.");
  });

  test.each(["cancels it", "leaves"])("counts no more once its client %s", async (how) => {
    const client = new AbortController();
    const answers = [await call(ada, LONG, client.signal), await call(ada, LONG, client.signal)];
    await counted(ada, 2 * LONG.length - 2 * limits.smallAnswer);
    if (how === "leaves") client.abort();
    else for (const answer of answers) await answer.body?.cancel();
    await expect.poll(() => unreadOf(countedUnder(ada))).toBe(0);
    expect((await call(ada, "Ada")).status).toBe(200);
  });

  test("is handed on in few pieces", async () => {
    let pieces = 0;
    for await (const _piece of (await call(ada)).body!) pieces++;
    expect(pieces).toBeLessThan(20);
  });

  test("is broken off after a while", async () => {
    configureLimits({ bodyMs: 50 });
    const connection = new Connection({ caller: ada, onOver: () => {} });
    connection.writeAny(LONG);
    connection.close();
    expect(unreadOf(countedUnder(ada))).toBeGreaterThan(LONG.length);
    await expect.poll(() => unreadOf(countedUnder(ada))).toBe(0);
    await expect(connection.body.getReader().read()).rejects.toThrow("does not read");
  });
});

test("a stream that has ended counts what its client has not read, also of the piece that it is reading", async () => {
  const caller = crypto.randomUUID();
  const connection = new Connection({ caller, onOver: () => {} });
  const reader = connection.body.getReader({ mode: "byob" });
  const read = async () => {
    const { value, done } = await reader.read(new Uint8Array(1000));
    return done ? undefined : value!.length;
  };
  let length = (await read())!;
  const next = read();
  connection.writeAny(LONG);
  connection.close();
  length += (await next)!;
  while (length < LONG.length - 1000) {
    expect(unreadOf(caller)).toBeGreaterThanOrEqual(LONG.length - length);
    length += (await read())!;
  }
  while ((await read()) !== undefined);
  expect(unreadOf(caller)).toBe(0);
});

test("a call that sends more than its client could read meanwhile has its reply, without the rest", async () => {
  const key = crypto.randomUUID();
  const server = await serverOf({ [key]: {} });
  limitTo(800_000);
  const response = await calling(server, key, { name: "hoard-notify", arguments: {} });
  const text = await response.text();
  expect(text.length).toBeLessThan(10_000_000);
  expect(text.slice(-600)).toContain("was stopped");
});

test("a stream on which little waits goes on, whatever its caller leaves on others", async () => {
  const caller = crypto.randomUUID();
  const connection = () => new Connection({ caller, onOver: () => {} });
  const [unread, one, other] = [connection(), connection(), connection()];
  limitTo(800_000);
  for (const long of [LONG, LONG]) unread.write(long);
  for (const short of ["first", "second"]) one.write(short);
  one.close();
  for (const slow of [other, unread]) slow.write(LONG);
  for (const slow of [unread, other])
    await expect(slow.body.getReader().read()).rejects.toThrow("too slowly");
  expect(await new Response(one.body).text()).toContain("firstsecond");
  expect(unreadOf(countedUnder(caller))).toBe(0);
});

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
