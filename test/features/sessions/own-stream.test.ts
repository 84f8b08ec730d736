import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import { sealerOf } from "../../../src/server/kernel/storage/vault.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { clock, limited, prepare, type Json } from "../../worker/calls/client.ts";
import { HOUR } from "../../worker/calls/plans.ts";
import { messagesIn } from "./session-rows.ts";
import {
  begin,
  listened,
  objectOf,
  reopened,
  tell,
  textOf,
  textsOf,
  VERSIONS,
} from "../../worker/mcp/legacy/session-steps.ts";

/** The stream of a session that belongs to no call. */
prepare();

/** From now on, for this test, whatever is kept is read with pauses. */
function readSlowly(): void {
  const read = SealedRows.prototype.text;
  vi.spyOn(SealedRows.prototype, "text").mockImplementation(async function (
    this: SealedRows,
    name,
  ) {
    await scheduler.wait(10);
    return read.call(this, name);
  });
}

describe("the session's own stream", () => {
  test("brings what was said while nobody listened, once", async () => {
    const client = await begin();
    await tell(client, "one", "two");
    const first = await listened(client);
    expect([textOf(await first.message()), textOf(await first.message())]).toEqual(["one", "two"]);
    await tell(client, "three");
    expect(textOf(await first.message())).toBe("three");
    await first.drop();
    const second = await reopened(client);
    await tell(client, "four");
    expect(textOf(await second.message())).toBe("four");
    await second.drop();
  });

  test("is taken over by a client that opens it again without an event id", async () => {
    const client = await begin({ version: "2025-06-18" });
    const older = await listened(client);
    const newer = await listened(client);
    expect(await older.rest()).toEqual([]);
    await tell(client, "one");
    expect(textOf(await newer.message())).toBe("one");
    await newer.drop();
  });

  test.each(VERSIONS.slice(1))(
    "of %s ends with an id that its client has not seen",
    async (version) => {
      limited({ sessionStreamMs: 20 });
      const client = await begin({ version });
      await tell(client, "one");
      const ids: unknown[] = [];
      let last: string | undefined;
      for (let time = 0; time < 7; time++) {
        const events = await (await listened(client, last)).rest();
        const end = events.at(-1);
        expect(end).toEqual({ id: expect.any(String), retry: limits.retryMs });
        expect(textsOf(events)).toEqual(time === 0 ? ["one"] : []);
        last = end?.id;
        ids.push(last);
      }
      expect(new Set(ids).size).toBe(7);
      limited({ sessionStreamMs: 60_000 });
      await tell(client, "two");
      const events = await listened(client, last);
      expect(textOf(await events.message())).toBe("two");
      await events.drop();
    },
  );

  test("does not ask a client to wait that calls all the time", async () => {
    const client = await begin();
    for (let call = 0; call < 6; call++) {
      clock.aheadMs += 10_000;
      await client.request("ping");
    }
    limited({ sessionStreamMs: 20 });
    expect((await (await listened(client)).rest()).at(-1)?.retry).toBeLessThanOrEqual(
      2 * limits.retryMs,
    );
  });

  test("nor one that called shortly before the session's object was evicted", async () => {
    const client = await begin();
    clock.aheadMs += 10 * 60_000;
    await client.request("ping");
    clock.aheadMs += limits.sessionUsedMs - 1000;
    await client.request("ping");
    await evictDurableObject(objectOf(client));
    limited({ sessionStreamMs: 20 });
    const { retry } = (await (await listened(client)).rest()).at(-1)!;
    expect(retry).toBeLessThanOrEqual(limits.sessionUsedMs / 4 + limits.retryMs);
  });

  test("tells of the lists that a deployment has changed, once", async () => {
    const client = await begin();
    await runInDurableObject(objectOf(client), async (_instance, { storage }) => {
      const rows = new SealedRows(storage.sql, sealerOf(readSettings(env), env)!);
      const lists = { ...((await rows.text("lists")) as Json), tools: "other", resources: "other" };
      (await rows.prepare({ texts: { lists } }))();
    });
    await evictDurableObject(objectOf(client));
    limited({ sessionStreamMs: 20 });
    // To its end, so that the object can be evicted.
    const heard = async () => messagesIn(await (await listened(client)).rest());
    const told = await heard();
    while (told.length < 2) told.push(...(await heard()));
    expect(told.map(({ method }) => method)).toEqual([
      "notifications/tools/list_changed",
      "notifications/resources/list_changed",
    ]);
    await evictDurableObject(objectOf(client));
    expect(await heard()).toEqual([]);
  });

  test("has only so much of that", async () => {
    limited({ sessionEventBytes: 1500 });
    const client = await begin();
    await tell(client, "a".repeat(900), "b".repeat(900));
    const events = await listened(client);
    expect(textOf(await events.message())).toMatch(/^b+$/);
    await events.drop();
  });

  test("has nothing that is too old", async () => {
    const client = await begin();
    await tell(client, "old");
    clock.aheadMs += limits.sessionEventMs + 1;
    await tell(client, "new");
    const events = await listened(client);
    expect(textOf(await events.message())).toBe("new");
    await events.drop();
  });

  test("loses nothing where it ends while that is read", async () => {
    const client = await begin();
    await tell(client, "one", "two", "three");
    readSlowly();
    limited({ sessionStreamMs: 1 });
    expect(textsOf(await (await listened(client)).rest())).toEqual([]);
    limited({ sessionStreamMs: 60_000 });
    await tell(client, "four");
    const events = await reopened(client);
    expect(textOf(await events.message())).toBe("one");
    expect(textOf(await events.message())).toBe("two");
    await events.drop();
  });

  test("of two that are opened at once, one goes on", async () => {
    const client = await begin();
    await tell(client, "one");
    readSlowly();
    const [first, second] = await Promise.all([listened(client), listened(client)]);
    await tell(client, "two");
    expect(textsOf(await first.rest())).toEqual(["one"]);
    expect(textOf(await second.message())).toBe("one");
    expect(textOf(await second.message())).toBe("two");
    await second.drop();
  });

  test.each([
    [0, 1000],
    [8000, 2000],
    [40_000, 10_000],
    [HOUR, 5 * 60_000],
  ])(
    "ends after a while; after %i ms of silence the client comes back in %i",
    async (ms, retry) => {
      const now = Date.now();
      Date.now = () => now + clock.aheadMs;
      const client = await begin();
      clock.aheadMs = ms;
      limited({ sessionStreamMs: 20 });
      const events = await (await listened(client)).rest();
      expect(events.slice(1)).toEqual([{ retry }]);
      limited({ sessionStreamMs: 60_000 });
      await tell(client, "meanwhile");
      const again = await listened(client, events[0]?.id);
      expect(textOf(await again.message())).toBe("meanwhile");
      await again.drop();
    },
  );
});
