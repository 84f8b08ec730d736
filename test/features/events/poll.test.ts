import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { EVERYONE, type Events } from "../../../src/server/features/events/events-object.ts";
import { limits } from "../../../src/server/features/events/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { serverOf } from "../../worker/calls/client.ts";
import {
  caller,
  callerOf,
  clock,
  limited,
  newCaller,
  note,
  NOTE,
  objectFor,
  prepareEvents,
  ring,
  serverFor,
  type Caller,
} from "./subscribers.ts";

prepareEvents();

const NEWS = { name: "news" };
const news = (text: string) => ({ name: "news", data: { text }, to: "everyone" });
const textsIn = ({ events }: any): string[] => events.map(({ data }: any) => data.text);

const tablesIn = ({ sql }: DurableObjectStorage) =>
  sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'").toArray();

/** Callers of one server. */
async function callersOf(count: number, of: Parameters<typeof serverFor>[1] = {}) {
  const names = Array.from({ length: count }, newCaller);
  const server = await serverFor(names, of);
  return names.map((name) => callerOf(server, name)) as [Caller, ...Caller[]];
}

describe("events/list", () => {
  test("describes each type of events, with both shapes of the capability", async () => {
    const ada = await caller();
    const { events } = await ada.ask("events/list");
    expect(events.map(({ name }: any) => name)).toEqual(["news", "note.added"]);
    expect(events[1]).toMatchObject({
      description: "A note was added",
      delivery: ["poll", "push", "webhook"],
      inputSchema: { properties: { topic: { type: "string" } } },
      payloadSchema: { required: ["topic"] },
    });
    expect(events[0].inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    const { capabilities } = await ada.ask("server/discover");
    expect(capabilities).toMatchObject({
      events: {},
      extensions: { "io.modelcontextprotocol/events": {} },
    });
  });

  test("names an event by its servlet where two have it, and with a prefix where one has that", async () => {
    const emitting = bundle.servlets.find(({ name }) => name === "emitting")!;
    const copy = (name: string, more: object = {}) => ({
      ...emitting,
      name,
      manifest: { ...emitting.manifest, ...more },
    });
    const servlets = [copy("one"), copy("two"), copy("three", { prefix: "third" })];
    const nobody = callerOf(serverOf({ ...bundle, servlets }, { LINKS: "off" }), "");
    const { events } = await nobody.ask("events/list", {}, { headers: {} });
    expect(events.map(({ name }: any) => name)).toEqual([
      "one-news",
      "one-note.added",
      "third-news",
      "third-note.added",
      "two-news",
      "two-note.added",
    ]);
  });

  test("shows and grants only what the caller's scopes do", async () => {
    const name = newCaller();
    const server = await serverFor([name], {
      scopes: { [name]: ["emitting:n*s", "emitting:emit"] },
    });
    const ada = callerOf(server, name);
    const { events } = await ada.ask("events/list");
    expect(events.map((one: any) => one.name)).toEqual(["news"]);
    for (const method of ["events/poll", "events/stream"]) {
      const { error } = await ada.send(method, NOTE);
      expect(error).toMatchObject({
        code: -32012,
        data: { reason: "insufficient_scope", scope: "emitting:note.added" },
      });
    }
    const { resources } = await ada.ask("resources/list");
    expect(resources.map(({ uri }: any) => uri)).toEqual(["event://emitting/news"]);
    const { error } = await ada.send("resources/read", { uri: "event://emitting/note.added" });
    expect(error).toBeDefined();
  });
});

describe("a server without events", () => {
  const hello = { ...bundle, servlets: bundle.servlets.filter(({ name }) => name === "hello") };

  test.each(["list", "poll", "stream", "subscribe", "unsubscribe"])(
    "does not know events/%s",
    async (method) => {
      const nobody = callerOf(serverOf(hello, { LINKS: "off" }), "");
      const { error } = await nobody.send(`events/${method}`, NOTE, { headers: {} });
      expect(error?.code).toBe(-32601);
    },
  );

  test("declares no capability, no tool and no resource", async () => {
    const nobody = callerOf(serverOf(hello, { LINKS: "off" }), "");
    const { capabilities } = await nobody.ask("server/discover", {}, { headers: {} });
    expect(capabilities).not.toHaveProperty("events");
    expect(Object.keys(capabilities.extensions ?? {})).not.toContain(
      "io.modelcontextprotocol/events",
    );
    const { tools } = await nobody.ask("tools/list", {}, { headers: {} });
    expect(tools.map(({ name }: any) => name)).not.toContain("wait_for_event");
  });
});

describe("events/poll", () => {
  test("begins with the present, and returns each later event once, in order", async () => {
    const ada = await caller();
    await ada.emit(note("before"));
    const first = await ada.ask("events/poll", { ...NOTE, cursor: null });
    expect(first).toMatchObject({ events: [], truncated: false, hasMore: false });
    expect(first.resultType).toBe("complete");
    expect(first.nextPollMs).toBeGreaterThanOrEqual(1000);
    await ada.emit(note("one"));
    await ada.emit(note("two"));
    const second = await ada.ask("events/poll", { ...NOTE, cursor: first.cursor });
    expect(textsIn(second)).toEqual(["one", "two"]);
    expect(second.events[0]).toMatchObject({ name: "note.added", eventId: expect.any(String) });
    expect(new Date(second.events[0].timestamp).toISOString()).toBe(second.events[0].timestamp);
    expect(second.events[0]).not.toHaveProperty("cursor");
    const third = await ada.ask("events/poll", { ...NOTE, cursor: second.cursor });
    expect(third).toMatchObject({ events: [], truncated: false });
  });

  test("without a cursor is as with null", async () => {
    const ada = await caller();
    await ada.emit(note("before"));
    expect(await ada.ask("events/poll", NOTE)).toMatchObject({ events: [], truncated: false });
  });

  test("gives pages of as many as are asked for, at most a hundred", async () => {
    const ada = await caller();
    let { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit({ ...note("x"), times: 100 });
    await ada.emit({ ...note("x"), times: 30 });
    const sizes: [number, boolean][] = [];
    for (const maxEvents of [50, 1000, 1]) {
      const page = await ada.ask("events/poll", { ...NOTE, cursor, maxEvents });
      sizes.push([page.events.length, page.hasMore]);
      ({ cursor } = page);
    }
    expect(sizes).toEqual([
      [50, true],
      [80, false],
      [0, false],
    ]);
  });

  test("gives a page of no more bytes than an answer may have, but at least one event", async () => {
    limited({ polledEventBytes: 30_000 });
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit({ name: "note.added", data: { topic: "a" }, length: 40_000 });
    await ada.emit({ name: "note.added", data: { topic: "a" }, length: 40_000 });
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([page.events.length, page.hasMore]).toEqual([1, true]);
  });

  test("gives only what the arguments fit, and passes the rest by", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("one", "a"));
    await ada.emit(note("two", "b"));
    const page = await ada.ask("events/poll", { ...NOTE, arguments: { topic: "b" }, cursor });
    expect(textsIn(page)).toEqual(["two"]);
    const next = await ada.ask("events/poll", { ...NOTE, cursor: page.cursor });
    expect(next.events).toEqual([]);
  });

  test.each<[what: string, params: object, code: number]>([
    ["an event that there is not", { name: "note.edited" }, -32011],
    ["no name", {}, -32602],
    ["a name that is no text", { name: 7 }, -32602],
    ["arguments that the schema lacks", { ...NOTE, arguments: { other: 1 } }, -32602],
    ["arguments of another type", { ...NOTE, arguments: { size: "1" } }, -32602],
    ["arguments that are a list", { ...NOTE, arguments: [1] }, -32602],
    ["arguments that are too long", { ...NOTE, arguments: { topic: "x".repeat(5000) } }, -32602],
    ["a cursor that is no text", { ...NOTE, cursor: 7 }, -32602],
    ["a cursor that is too long", { ...NOTE, cursor: "x".repeat(300) }, -32602],
    ["no events at all", { ...NOTE, maxEvents: 0 }, -32602],
    ["a negative age", { ...NOTE, maxAgeMs: -1 }, -32602],
  ])("refuses %s", async (_what, params, code) => {
    const ada = await caller();
    const { error } = await ada.send("events/poll", params);
    expect(error?.code).toBe(code);
  });

  test("tells the name that was meant", async () => {
    const ada = await caller();
    const { error } = await ada.send("events/poll", { name: "note.edited" });
    expect(error).toMatchObject({
      data: { kind: "event" },
      message: expect.stringMatching(/Did you mean note\.added\?/),
    });
  });
});

describe("a cursor", () => {
  test("of events that are too many to be stored says that some are missing", async () => {
    limited({ loggedEvents: 3 });
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["one", "two", "three", "four", "five"]) await ada.emit(note(text));
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["three", "four", "five"], true]);
    const next = await ada.ask("events/poll", { ...NOTE, cursor: page.cursor });
    expect([textsIn(next), next.truncated]).toEqual([[], false]);
  });

  test("is not behind because events of another type were dropped", async () => {
    limited({ loggedEvents: 2 });
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (let nth = 0; nth < 3; nth++) await ada.emit({ name: "news", data: { text: `${nth}` } });
    await ada.emit(note("one"));
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["one"], false]);
  });

  test("of events whose bytes are too many says so, too", async () => {
    limited({ loggedEventBytes: 100_000 });
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (let nth = 0; nth < 3; nth++)
      await ada.emit({ name: "note.added", data: { topic: `${nth}` }, length: 40_000 });
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(page.events.map(({ data }: any) => data.topic)).toEqual(["1", "2"]);
    expect(page.truncated).toBe(true);
  });

  test("of events that are too old says so, once they are deleted", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("old"));
    clock.aheadMs += limits.eventMs - 3_600_000;
    await ada.emit(note("new"));
    clock.aheadMs += 2 * 3_600_000;
    await ring(ada);
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["new"], true]);
  });

  test("of events that were emitted before the clock was set back goes on, and the alarm rests", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const aheadMs of [86_400_000, 0]) {
      clock.aheadMs = aheadMs;
      await ada.emit(note(`${aheadMs}`));
    }
    clock.aheadMs = limits.eventMs + 60_000;
    await ring(ada);
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["86400000"], true]);
    await runInDurableObject(objectFor(ada), async (_instance, { storage }) => {
      expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 60_000);
    });
  });

  test("of events that can no longer be opened says that they are missing, once", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["one", "two"]) await ada.emit(note(text));
    await runInDurableObject(objectFor(ada), (_instance, { storage }) => {
      const first = "(SELECT MIN(seq) FROM events)";
      storage.sql.exec(`UPDATE events SET sealed = zeroblob(64) WHERE seq = ${first}`);
    });
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["two"], true]);
    const next = await ada.ask("events/poll", { ...NOTE, cursor: page.cursor });
    expect([textsIn(next), next.truncated]).toEqual([[], false]);
  });

  test.each(["", "x", "0.0", "zzzzzzzz.1", "../..", "1e99.5", "💥", "x.99999999999999999999"])(
    "that is not of this log goes on from now, and says so: %j",
    async (cursor) => {
      const ada = await caller();
      await ada.emit(note("before"));
      const page = await ada.ask("events/poll", { ...NOTE, cursor });
      expect([page.events, page.truncated]).toEqual([[], true]);
      await ada.emit(note("after"));
      const next = await ada.ask("events/poll", { ...NOTE, cursor: page.cursor });
      expect([textsIn(next), next.truncated]).toEqual([["after"], false]);
    },
  );

  test("of another caller gives nothing of that caller's", async () => {
    const [ada, bob] = await callersOf(2);
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("secret"));
    await bob!.emit(note("own"));
    const page = await bob!.ask("events/poll", { ...NOTE, cursor });
    expect([page.events, page.truncated]).toEqual([[], true]);
  });

  test("beyond the newest event is not of this log", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    const [epoch] = cursor.split(".");
    const page = await ada.ask("events/poll", { ...NOTE, cursor: `${epoch}.1000` });
    expect(page.truncated).toBe(true);
  });

  test("goes back no further than maxAgeMs, and says so", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("old"));
    clock.aheadMs += 60_000;
    await ada.emit(note("new"));
    const short = await ada.ask("events/poll", { ...NOTE, cursor, maxAgeMs: 30_000 });
    expect([textsIn(short), short.truncated]).toEqual([["new"], true]);
    const long = await ada.ask("events/poll", { ...NOTE, cursor, maxAgeMs: 90_000 });
    expect([textsIn(long), long.truncated]).toEqual([["old", "new"], false]);
    const none = await ada.ask("events/poll", { ...NOTE, cursor: null, maxAgeMs: 90_000 });
    expect([none.events, none.truncated]).toEqual([[], false]);
  });
});

describe("an event for everyone", () => {
  test("is heard by all who may, once, in order with their own", async () => {
    const [ada, bob, eve] = await callersOf(3);
    const cursors = await Promise.all([ada, bob!, eve!].map((one) => one.ask("events/poll", NEWS)));
    await ada.emit(news("one"));
    await bob!.emit({ name: "news", data: { text: "of bob" } });
    const early = await bob!.ask("events/poll", { ...NEWS, cursor: cursors[1].cursor });
    expect(textsIn(early).toSorted()).toEqual(["of bob", "one"]);
    await eve!.emit(news("two"));
    const late = await bob!.ask("events/poll", { ...NEWS, cursor: early.cursor });
    expect(textsIn(late)).toEqual(["two"]);
    const all = await ada.ask("events/poll", { ...NEWS, cursor: cursors[0].cursor });
    expect(textsIn(all)).toEqual(["one", "two"]);
  });

  test("that the log for everyone has dropped is missing for those who are behind", async () => {
    const [ada, bob] = await callersOf(2);
    const { cursor } = await bob!.ask("events/poll", NEWS);
    limited({ loggedEvents: 2 });
    for (const text of ["one", "two", "three"]) await ada.emit(news(text));
    const page = await bob!.ask("events/poll", { ...NEWS, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["two", "three"], true]);
    const next = await bob!.ask("events/poll", { ...NEWS, cursor: page.cursor });
    expect([textsIn(next), next.truncated]).toEqual([[], false]);
    const own = await bob!.ask("events/poll", NOTE);
    expect(own.truncated).toBe(false);
  });

  test("that was deleted does not hide that a caller's own event was, too", async () => {
    limited({ loggedEvents: 2 });
    const [ada, bob] = await callersOf(2);
    await bob!.ask("events/poll", NEWS);
    await ada.emit(news("1"));
    const { cursor } = await bob!.ask("events/poll", NEWS);
    for (const text of ["a", "b", "c"]) await bob!.emit({ name: "news", data: { text } });
    for (const text of ["2", "3"]) await ada.emit(news(text));
    const page = await bob!.ask("events/poll", { ...NEWS, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["b", "c", "2", "3"], true]);
  });

  test("does not push out a caller's own events", async () => {
    limited({ loggedEvents: 3 });
    const [ada, bob] = await callersOf(2);
    const { cursor } = await bob!.ask("events/poll", NOTE);
    await bob!.ask("events/poll", NEWS);
    await bob!.emit(note("own"));
    for (let nth = 0; nth < 6; nth++) {
      await ada.emit(news(`${nth}`));
      await bob!.ask("events/poll", NEWS);
    }
    const page = await bob!.ask("events/poll", { ...NOTE, cursor });
    expect([textsIn(page), page.truncated]).toEqual([["own"], false]);
  });

  test("that was lost with the log for everyone is missing", async () => {
    const [ada, bob] = await callersOf(2);
    const { cursor } = await bob!.ask("events/poll", NEWS);
    await env.EVENTS!.getByName(EVERYONE).forget();
    await ada.emit(news("new"));
    const page = await bob!.ask("events/poll", { ...NEWS, cursor });
    expect(page.truncated).toBe(true);
    await ada.emit(news("newer"));
    const next = await bob!.ask("events/poll", { ...NEWS, cursor: page.cursor });
    expect([textsIn(next), next.truncated]).toEqual([["newer"], false]);
  });
});

describe("what is stored for a caller", () => {
  test("is deleted when nobody has used it for as long as events are stored", async () => {
    const ada = await caller();
    await ada.emit(note("one"));
    clock.aheadMs += limits.eventMs + 3_600_000;
    await ring(ada);
    await runInDurableObject(objectFor(ada), async (_instance, { storage }) => {
      expect(tablesIn(storage)).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  test("is nothing where a caller only looks", async () => {
    const ada = await caller();
    await ada.ask("resources/read", { uri: "event://emitting/note.added" });
    await ada.ask("resources/read", { uri: "event://emitting/news" });
    await ada.send("events/unsubscribe", { ...NOTE, delivery: { url: "https://a.example.com/" } });
    const object = objectFor(ada);
    expect(await object.shown()).toEqual([]);
    expect(await object.wake()).toBe(false);
    await object.forget();
    await runInDurableObject(object, async (_instance, { storage }) => {
      expect(tablesIn(storage)).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  test("has an alarm that rests while events outlive the last use", async () => {
    const ada = await caller();
    await ada.ask("events/poll", NOTE);
    // A use that is recorded already.
    clock.aheadMs = limits.eventMs / 8;
    await ada.emit(note("one"));
    clock.aheadMs = limits.eventMs + 60_000;
    await ring(ada);
    await runInDurableObject(objectFor(ada), async (_instance, { storage }) => {
      expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 60_000);
    });
  });

  test("has an alarm that rests also where the clock of its machine is behind", async () => {
    const ada = await caller();
    await ada.emit(note("one"));
    clock.aheadMs = 60_000;
    await ada.emit(note("two"));
    clock.aheadMs = limits.eventMs - 500;
    await runInDurableObject(objectFor(ada), async (instance, { storage }) => {
      const scheduledTime = Date.now() + 1000;
      // As while an alarm rings.
      await storage.deleteAlarm();
      await (instance as Events).alarm({ scheduledTime, retryCount: 0, isRetry: false });
      expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 30_000);
    });
  });

  test("is deleted when the caller is forgotten", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("one"));
    await objectFor(ada).forget();
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect([page.events, page.truncated]).toEqual([[], true]);
    await runInDurableObject(objectFor(ada), (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT COUNT(*) AS count FROM events").one()).toEqual({ count: 0 });
    });
  });

  test("counts in its quota", async () => {
    limited({ keptPerDay: 3 });
    const ada = await caller();
    const all = [];
    for (let nth = 0; nth < 5; nth++)
      all.push(
        ...(await Promise.all(
          Array.from({ length: 16 }, () =>
            ada.emit({ name: "note.added", data: { topic: "a" }, length: 65_000 }),
          ),
        )),
      );
    const errors = all.filter(({ error }) => error !== undefined);
    expect(errors.length).toBeGreaterThan(10);
    expect(errors[0]!.error).toMatch(/Too many stored/);
    expect(all.filter(({ error }) => error === undefined).length).toBeLessThan(50);
  });
});
