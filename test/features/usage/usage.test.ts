/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { countingIn } from "../../../src/server/features/usage/counting.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { CountRows } from "../../../src/server/features/usage/count-rows.ts";
import { addSums, Counts, type CountsBatch } from "../../../src/server/features/usage/counts.ts";
import {
  noSums,
  OTHERS,
  SPANS,
  timeOf,
  type UsageSpan,
} from "../../../src/server/kernel/observe/counted.ts";
import type { CountedRun } from "../../../src/server/kernel/observe/counted.ts";
import { eventually } from "../../worker/waiting.ts";

/** What is counted of calls, without arguments, results or anything else that they carry. */

const run = (given: Partial<CountedRun> = {}): CountedRun => ({
  servlet: "hello",
  tool: "greet",
  caller: "ada",
  outcome: "returned",
  ms: 3,
  fuel: 100,
  ...given,
});
describe("counters of an isolate", () => {
  test("add up by servlet, tool and caller, and are taken once", () => {
    const counts = new Counts(10);
    counts.add(run());
    counts.add(run({ outcome: "waits" }));
    counts.add(run({ caller: "bob", outcome: "servlet_failed", fuel: 0 }));
    const { total, named } = counts.take()!;
    expect(total).toMatchObject({ runs: 3, errors: 1, waits: 1, fuel: 200 });
    const of = (by: string, name: string) =>
      named.find((one) => one.by === by && one.name === name)?.sums;
    expect(of("caller", "ada")).toMatchObject({ runs: 2, errors: 0 });
    expect(of("caller", "bob")).toMatchObject({ runs: 1, errors: 1 });
    expect(of("servlet", "hello")).toMatchObject({ runs: 3 });
    expect(counts.take()).toBeUndefined();
  });

  test("have few names, whatever callers make up", () => {
    const counts = new Counts(10);
    for (let nth = 0; nth < 100_000; nth++) counts.add(run({ caller: `c${nth}` }));
    const callers = counts.take()!.named.filter(({ by }) => by === "caller");
    expect(callers.length).toBe(11);
    const others = callers.find(({ name }) => name === OTHERS)!;
    expect(others.sums.runs).toBe(100_000 - 10);
  });

  test("have short names, however long those of servlets and callers are", () => {
    const counts = new Counts(10);
    const name = "x".repeat(1_000_000);
    counts.add(run({ servlet: name, tool: name, caller: name, message: "broken" }));
    counts.setStored({ object: "one", servlet: name, caller: name, bytes: 1 });
    expect(JSON.stringify(counts.take()).length).toBeLessThan(5000);
  });

  test("have each object whose state was deleted, however many there are", () => {
    const counts = new Counts(10);
    const of = { servlet: "hello", caller: "ada" };
    for (let nth = 0; nth < 20; nth++) counts.setStored({ ...of, object: `full ${nth}`, bytes: 1 });
    for (let nth = 0; nth < 20; nth++) counts.setStored({ ...of, object: `${nth}`, bytes: 0 });
    const { stored } = counts.take()!;
    expect(stored.filter(({ bytes }) => bytes > 0)).toHaveLength(10);
    expect(stored.filter(({ bytes }) => bytes === 0)).toHaveLength(20);
  });

  test("are sent by a later call where the first was stopped, also after the clock was set back", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const add = vi.fn<(taken: CountsBatch) => Promise<void>>(async () => {});
    const { count } = countingIn(() => ({ add }))!;
    vi.spyOn(scheduler, "wait").mockRejectedValueOnce(new Error("stopped on purpose"));
    vi.spyOn(Date, "now").mockReturnValueOnce(Date.now() + 86_400_000);
    count(run());
    // Other files' objects may log in the meantime.
    const logged = () => error.mock.calls.filter(([text]) => text.includes("stopped on purpose"));
    await eventually(() => expect(logged()).toHaveLength(1));
    count(run());
    await eventually(() => expect(add).toHaveBeenCalledOnce());
    expect(add.mock.calls[0]![0].total.runs).toBe(2);
  });

  test("know times to within half a doubling, also of sums", () => {
    const [quick, slow] = [new Counts(1), new Counts(1)];
    for (let nth = 0; nth < 90; nth++) quick.add(run({ ms: 10 }));
    for (let nth = 0; nth < 10; nth++) slow.add(run({ ms: 2000 }));
    const sums = noSums();
    addSums(sums, quick.take()!.total);
    addSums(sums, slow.take()!.total);
    expect(timeOf(sums, 0.5)).toBeGreaterThanOrEqual(10);
    expect(timeOf(sums, 0.5)).toBeLessThan(15);
    expect(timeOf(sums, 0.95)).toBeGreaterThanOrEqual(2000);
    expect(timeOf(sums, 0.95)).toBeLessThan(2900);
    expect(timeOf(noSums(), 0.5)).toBeUndefined();
  });
});

describe("counters of the server", () => {
  const objectOf = () => usageOf(env)!();
  const taken = { total: noSums(), named: [], errors: [], stored: [], waiting: [] };
  const clear = () =>
    runInDurableObject(objectOf(), (_one, { storage }) => {
      storage.sql.exec("DELETE FROM counts");
    });
  beforeEach(clear);
  afterEach(clear);

  test("have few names in each step, however many isolates send others", async () => {
    const usage = objectOf();
    const sums = { ...noSums(), runs: 1 };
    for (let part = 0; part < 3; part++) {
      const named = Array.from({ length: 100 }, (_, nth) => ({
        by: "caller" as const,
        name: `made-up-${part}-${nth}`,
        sums,
      }));
      await usage.add({ ...taken, total: { ...noSums(), runs: 100 }, named });
    }
    const rows = await runInDurableObject(usage, (_one, { storage }) =>
      storage.sql
        .exec("SELECT COUNT(*) AS count FROM counts WHERE by = 'caller' GROUP BY span, start")
        .toArray(),
    );
    for (const { count } of rows) expect(count).toBeLessThanOrEqual(limits.usageNames + 1);
    const { named } = await usage.report("month", "caller");
    expect(named.reduce((sum, one) => sum + one.sums.runs, 0)).toBeGreaterThanOrEqual(300);
  });

  test("forget what is older than a span", async () => {
    const usage = objectOf();
    await runInDurableObject(usage, (_one, { storage }) => {
      const old = JSON.stringify({ ...noSums(), runs: 1 });
      storage.sql.exec("INSERT INTO counts VALUES ('hour', 60000, 'tool', 'old', ?)", old);
    });
    await usage.add({ ...taken, total: { ...noSums(), runs: 1 } });
    const left = await runInDurableObject(usage, (_one, { storage }) =>
      storage.sql.exec("SELECT * FROM counts WHERE start = 60000").toArray(),
    );
    expect(left).toEqual([]);
  });

  test("are those of each minute, hour and day, whenever they are read", async () => {
    await runInDurableObject(objectOf(), (_one, { storage }) => {
      const rows = new CountRows(storage.sql);
      const begin = Date.UTC(2026, 1, 1, 7, 30);
      const all: { at: number; name: string; runs: number }[] = [];
      let seed = 1;
      const upTo = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
      for (let now = begin; now < begin + 33 * 86_400_000; now += upTo(2) * upTo(14_400_000)) {
        const counted = { at: now, name: ["ada", "bob"][upTo(2)]!, runs: 1 + upTo(5) };
        all.push(counted);
        const sums = { ...noSums(), runs: counted.runs };
        const named = { by: "caller", name: counted.name, sums };
        rows.add(now, [{ by: "", name: "", sums }, named]);
        if (all.length % 10 > 0) continue;
        for (const span of Object.keys(SPANS) as UsageSpan[]) {
          const { ms, step } = SPANS[span];
          const expected: Record<string, number> = {};
          for (const { at, name, runs } of all) {
            const start = at - (at % step);
            if (start <= now - ms) continue;
            for (const of of [`${start} `, `${start} ${name}`])
              expected[of] = (expected[of] ?? 0) + runs;
          }
          const found = ["", "caller"].flatMap((by) => rows.list(span, by, now - ms));
          const runsOf = found.map(({ start, name, sums: { runs } }) => [`${start} ${name}`, runs]);
          expect(Object.fromEntries(runsOf)).toEqual(expected);
          expect(runsOf).toHaveLength(Object.keys(expected).length);
        }
      }
      expect(all.length).toBeGreaterThan(300);
    });
  });

  const noon = Date.UTC(2026, 1, 1, 12);
  const one = { by: "", name: "", sums: { ...noSums(), runs: 1 } };
  const HOUR = 3_600_000;

  test("are written by minute alone while an hour passes, and are kept if the clock is set back", async () => {
    await runInDurableObject(objectOf(), (_one, { storage }) => {
      const rows = new CountRows(storage.sql);
      rows.add(noon, [one]);
      rows.add(noon + 59 * 60_000, [one]);
      const spans = (): unknown[] =>
        storage.sql
          .exec("SELECT span FROM counts ORDER BY span")
          .toArray()
          .map(({ span }) => span);
      expect(spans()).toEqual(["hour", "hour"]);
      rows.add(noon + 60 * 60_000, [one]);
      expect(spans()).toEqual(["day", "hour", "hour", "hour"]);
      rows.add(noon, [one]);
      rows.add(noon + 120 * 60_000, [one]);
      const runs = rows.list("day", "", 0).map(({ sums }) => sums.runs);
      expect(runs).toEqual([3, 1, 1]);
    });
  });

  test("write one row of an hour for each name, however many minutes have rows of it", async () => {
    await runInDurableObject(objectOf(), (_one, { storage }) => {
      let written = 0;
      const exec: SqlStorage["exec"] = (...query) => {
        const cursor = storage.sql.exec<any>(...query);
        written += cursor.rowsWritten;
        return cursor;
      };
      const rows = new CountRows({ exec } as SqlStorage);
      for (let minute = 0; minute < 60; minute++) rows.add(noon + minute * 60_000, [one]);
      written = 0;
      rows.add(noon + HOUR, [one]);
      expect(written).toBe(2);
      expect(rows.list("day", "", 0).map(({ sums }) => sums.runs)).toEqual([60, 1]);
    });
  });

  test.each([26 * HOUR, 365 * 24 * HOUR])(
    "are those of their own time after the clock was %i ms ahead",
    async (aheadMs) => {
      await runInDurableObject(objectOf(), (_one, { storage }) => {
        const rows = new CountRows(storage.sql);
        rows.add(noon + aheadMs, [one]);
        rows.add(noon + aheadMs + 24 * HOUR, [one]);
        const times = [0, 60_000, HOUR, 2 * HOUR];
        for (const time of times) rows.add(noon + time, [one]);
        const now = noon + 2 * HOUR;
        const runsOf = (span: UsageSpan) =>
          rows
            .list(span, "", now - SPANS[span].ms)
            .filter(({ start }) => start <= now)
            .map(({ sums }) => sums.runs);
        expect(runsOf("hour")).toEqual([1]);
        expect(runsOf("day")).toEqual([2, 1, 1]);
        expect(runsOf("month")).toEqual([4]);
      });
    },
  );

  test("have no sizes and waiting calls of a caller who was forgotten a moment ago", async () => {
    const usage = env.USAGE!.getByName(crypto.randomUUID());
    await usage.forget("ada");
    const of = { servlet: "hello", caller: "ada" };
    const until = Date.now() + HOUR;
    await usage.add({
      ...taken,
      stored: [{ ...of, object: "one", bytes: 7 }],
      waiting: [{ ...of, task: "one", tool: "greet", until }],
    });
    expect(await usage.report("hour", "caller")).toMatchObject({ named: [], bytes: 0, waiting: 0 });
  });

  test("list new errors after the clock was a year ahead", async () => {
    const usage = env.USAGE!.getByName(crypto.randomUUID());
    const error = { servlet: "hello", tool: "greet", outcome: "trapped", count: 1, task: null };
    const errorAt = (last: number, message: string) => ({ ...error, caller: "ada", last, message });
    const later = Date.now() + 365 * 24 * HOUR;
    const errors = Array.from({ length: limits.shownErrors }, (_, nth) => errorAt(later, `${nth}`));
    await usage.add({ ...taken, errors });
    await usage.add({ ...taken, errors: [errorAt(Date.now(), "new")] });
    expect((await usage.errors()).map(({ message }) => message)).toEqual(["new"]);
  });

  test("have no row of a call that does not wait any more", async () => {
    const usage = env.USAGE!.getByName(crypto.randomUUID());
    const waiting = { servlet: "hello", caller: "ada", task: "one", tool: "greet", until: 0 };
    await usage.add({ ...taken, waiting: [{ ...waiting, until: Date.now() + HOUR }] });
    expect(await usage.waitingOf("caller", "ada")).toBe(1);
    await usage.add({ ...taken, waiting: [waiting] });
    const rows = await runInDurableObject(usage, (_one, { storage }) =>
      storage.sql.exec("SELECT * FROM waiting").toArray(),
    );
    expect(rows).toEqual([]);
  });
});
