import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, clock, limited, prepare } from "../../worker/calls/client.ts";
import { ELICIT, log, saidIn } from "../../worker/calls/plans.ts";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import { SessionStreams } from "../../../src/server/features/sessions/session-streams.ts";
import {
  Events,
  type SessionClient,
  type SessionEvent,
} from "../../worker/mcp/legacy/session-client.ts";
import { instead } from "../../worker/mcp/legacy/session-faults.ts";
import {
  begin,
  isAlive,
  listened,
  objectOf,
  planned,
  reopened,
  tell,
  textOf,
  textsOf,
} from "../../worker/mcp/legacy/session-steps.ts";

/** The streams of a session, and how long it lives. */
prepare();

describe("ids of events", () => {
  const seqOf = (event?: SessionEvent) => Number(event?.id?.split("-")[2]);

  test("are unique in the session, over all of its streams", async () => {
    const client = await begin();
    const own = await listened(client);
    const events: (SessionEvent | undefined)[] = [await own.next()];
    for (const text of ["one", "two"]) {
      events.push(...(await (await planned(client, log(text), log("b"))).rest()));
      await tell(client, text);
      events.push(await own.next());
    }
    await own.drop();
    const again = await reopened(client);
    events.push(await again.next());
    const ids = events.map((event) => event?.id);
    expect(ids).toHaveLength(12);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(12);
    await again.drop();
  });

  test("are not given twice, though the events are forgotten", async () => {
    limited({ sessionEvents: 2 });
    const client = await begin();
    await tell(client, "1", "2", "3", "4", "5");
    const events = await listened(client);
    await events.next();
    const [first, second] = [await events.next(), await events.next()];
    expect(textsOf([first!, second!])).toEqual(["4", "5"]);
    limited({ sessionEventMs: -1 });
    await tell(client, "6", "7");
    expect([seqOf(first), seqOf(second)]).toEqual([4, 5]);
    expect(seqOf(await events.next())).toBe(6);
    expect(seqOf(await events.next())).toBe(7);
    await events.drop();
  });
});

describe("a client that comes back with the id of the last event", () => {
  test("is sent what that stream has had since, and nothing else", async () => {
    const client = await begin();
    const events = await planned(client, log("a"), log("b"), ELICIT, log("c"));
    const seen: SessionEvent[] = [];
    while (seen.at(-1)?.message?.["method"] !== "elicitation/create") {
      seen.push((await events.next())!);
    }
    await tell(client, "of the session's own stream");
    await (await planned(client, log("of another call"))).rest();
    await client.answer(seen.at(-1)?.message?.["id"], accept("x"));
    seen.push(...(await events.rest()));
    expect(seen.map(({ message }) => message && (textOf(message) ?? message["method"]))).toEqual([
      undefined,
      "a",
      "b",
      "elicitation/create",
      "c",
      undefined,
    ]);
    for (const [at, { id }] of seen.slice(0, -1).entries()) {
      const [priming, ...rest] = await (await listened(client, id)).rest();
      expect(priming).toEqual({ id: expect.any(String), retry: limits.retryMs });
      expect(rest).toEqual(seen.slice(at + 1));
      const again = await (await listened(client, priming?.id)).rest();
      expect(again.slice(1)).toEqual(rest);
    }
    // All is said and read: official clients would come back for ever.
    expect((await client.listen(seen.at(-1)?.id)).status).toBe(405);
  });

  test("takes the stream over from an older connection", async () => {
    const client = await begin();
    const older = await planned(client, ELICIT);
    const priming = await older.next();
    const { id } = await older.message();
    const newer = await listened(client, priming?.id);
    expect(await older.rest()).toEqual([]);
    expect((await newer.message())["id"]).toBe(id);
    await client.answer(id, accept("x"));
    expect(saidIn(await newer.message())).toEqual(["x"]);
    expect(await newer.rest()).toEqual([]);
  });

  test("is not told that the stream has ended where its reply cannot be stored yet", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    await events.next();
    const { id: last, message } = (await events.next())!;
    await events.drop();
    const asked = Promise.withResolvers<void>();
    const failing = Promise.withResolvers<never>();
    failing.promise.catch(() => {});
    const restore = instead(SealedRows.prototype, "prepare", ({ plain, args: [writes] }) => {
      if (!/"event \d+":.*said/.test(JSON.stringify(writes))) return plain(writes);
      restore();
      asked.resolve();
      return failing.promise;
    });
    const answered = client.answer(message?.["id"], accept("said"));
    await asked.promise;
    const back = Promise.withResolvers<void>();
    const listens = instead(SessionStreams.prototype, "listen", ({ plain, args }) => {
      const stream = plain(...args);
      back.resolve();
      return stream;
    });
    const listening = client.listen(last);
    await back.promise;
    listens();
    failing.reject(new Error("no key"));
    const again = new Events(await listening);
    await answered;
    expect(saidIn(await again.message())).toEqual(["said"]);
    expect(await again.rest()).toEqual([]);
  });

  test("takes over the session's own stream too", async () => {
    const client = await begin();
    const older = await listened(client);
    const priming = await older.next();
    await tell(client, "one");
    const newer = await listened(client, priming?.id);
    await tell(client, "two");
    expect(textsOf(await older.rest())).toEqual(["one"]);
    expect(textOf(await newer.message())).toBe("one");
    expect(textOf(await newer.message())).toBe("two");
    await newer.drop();
  });

  test("is sent what is left, where some is forgotten", async () => {
    limited({ sessionEvents: 2 });
    const client = await begin();
    const events = await listened(client);
    const priming = await events.next();
    await tell(client, "1", "2", "3");
    const again = await listened(client, priming?.id);
    expect(textOf(await again.message())).toBe("2");
    await again.drop();
  });
});

test("the stream of a call ends after a while, and can be opened again", async () => {
  limited({ callStreamMs: 20 });
  const client = await begin();
  const events = await (await planned(client, ELICIT)).rest();
  expect(events.at(-1)).toEqual({ retry: limits.retryMs });
  limited({ callStreamMs: 60_000 });
  const again = await listened(client, events[0]?.id);
  const { id } = await again.message();
  await client.answer(id, accept("x"));
  expect(saidIn(await again.message())).toEqual(["x"]);
});

describe("a session in which nobody says anything", () => {
  /** Lets the session's alarm go off so much later. */
  async function later(client: SessionClient, ms: number): Promise<void> {
    clock.aheadMs += ms;
    expect(await runDurableObjectAlarm(objectOf(client))).toBe(true);
  }

  test("ends, and nothing is left of it", async () => {
    const client = await begin();
    await later(client, limits.sessionIdleMs + 1000);
    expect(await isAlive(client)).toBe(false);
    const tables = await runInDurableObject(objectOf(client), (_instance, { storage }) =>
      storage.sql
        .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
        .toArray(),
    );
    expect(tables).toEqual([]);
  });

  test("lives on where its client has said something since", async () => {
    const client = await begin();
    clock.aheadMs += limits.sessionIdleMs / 2;
    await client.request("ping");
    await later(client, limits.sessionIdleMs / 2 + 1000);
    expect(await isAlive(client)).toBe(true);
  });

  test("asks a client that listens whether it is there; the answer keeps it", async () => {
    const client = await begin();
    const events = await listened(client);
    for (const idleMs of [limits.sessionIdleMs, limits.sessionIdleMs - limits.sessionPingMs]) {
      await later(client, idleMs + 1000);
      const ping = await events.message();
      expect(ping).toMatchObject({ jsonrpc: "2.0", method: "ping" });
      expect((await client.answer(ping["id"], {})).status).toBe(202);
      await later(client, limits.sessionPingMs);
    }
    await tell(client, "still here");
    expect(textOf(await events.message())).toBe("still here");
    await events.drop();
  });

  test("asks under an id that it has not had before", async () => {
    const client = await begin();
    const events = await listened(client);
    const ids: unknown[] = [];
    for (let day = 0; day < 2; day++) {
      await later(client, limits.sessionIdleMs + 1000);
      ids.push((await events.message())["id"]);
      await client.answer(ids.at(-1), {});
    }
    expect(new Set(ids).size).toBe(2);
    await events.drop();
  });

  test("ends where that is not answered in time", async () => {
    const client = await begin();
    const events = await listened(client);
    await later(client, limits.sessionIdleMs + 1000);
    await events.message();
    await later(client, limits.sessionPingMs + 1000);
    expect(await events.rest()).toEqual([]);
    expect(await isAlive(client)).toBe(false);
  });

  test("is kept by a call that waits, and not for ever", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    await later(client, limits.sessionIdleMs + limits.sessionPingMs + 1000);
    clock.aheadMs = 0; // Else the task's alarms would be late.
    expect((await client.answer(id, accept("x"))).status).toBe(202);
    expect(saidIn(await events.message())).toEqual(["x"]);
    const other = await begin();
    const waiting = await planned(other, ELICIT);
    await waiting.message();
    await later(other, limits.sessionIdleMs + limits.taskMs + limits.sessionPingMs + 1000);
    expect(await isAlive(other)).toBe(false);
    await waiting.rest();
  });
});
