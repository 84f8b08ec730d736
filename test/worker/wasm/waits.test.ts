import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";

import { JOURNAL_VERSION, type JournalEntry } from "../../../src/server/kernel/core/record.ts";
import { dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import { callExport, type Setup } from "../../../src/server/kernel/wasm/call.ts";
import { processor } from "../../../src/server/kernel/wasm/processor.ts";
import { Waits } from "../../../src/server/kernel/wasm/waits.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { bundle } from "../../bundle.gen.ts";

const usual = { ...limits };

/** Waiting host functions, in a world whose clock the test controls. */
const probe = bundle.servlets.find(({ name }) => name === "probe")!;
const { userFunctions } = dialects[probe.dialect];
const program = { ...probe, userFunctions };

beforeEach(() => {
  // What guests of other files have computed would be waited for by a timer.
  processor.forget();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const setup = {
  config: {},
  allowedHosts: ["*"],
  secret: () => undefined,
  logLevel: "info" as const,
  world: liveWorld,
  signal: () => new AbortController().signal,
  log: () => {},
  notify: () => {},
  ask: () => Promise.reject(new Error("nobody to ask")),
};

/** A call whose guest waits for something: the clock goes on once it does. */
async function waiting(name: string, args: object, more: Partial<Setup> = {}) {
  const input = { request: { name, arguments: args }, context: { id: "1", _meta: {} } };
  const begun = Promise.withResolvers<void>();
  const { world = { ...liveWorld, fetch: silent } } = more;
  const ending = callExport(program, "call_tool", JSON.stringify(input), {
    ...setup,
    ...more,
    world: {
      ...world,
      sleep: (...given) => {
        begun.resolve();
        return world.sleep(...given);
      },
      fetch: (...given) => {
        begun.resolve();
        return world.fetch(...given);
      },
    },
  });
  ending.catch(() => {});
  await begun.promise;
  return { ending };
}

/** A server that takes the request and says nothing. */
const silent = (_input: unknown, init?: { signal: AbortSignal }) =>
  new Promise<never>((_resolve, reject) => {
    const { signal } = init!;
    signal.addEventListener("abort", () => reject(signal.reason));
  });

describe("a guest that waits", () => {
  test("sleeps as long as it says", async () => {
    const { ending } = await waiting("doze", {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await ending).toMatchObject({ kind: "returned" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("for an answer over HTTP ends with an error if there is none", async () => {
    const { ending } = await waiting("fetch", { request: { url: "https://silent.example/" } });
    await vi.advanceTimersByTimeAsync(limits.httpMs);
    expect(await ending).toMatchObject({
      kind: "refused",
      message: `The host silent.example gave no answer within ${limits.httpMs / 1000} seconds.`,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("for an answer over HTTP is stopped where a call may not wait for as long as a request may take", async () => {
    configureLimits({ waitMs: 1000 });
    try {
      const { ending } = await waiting("fetch", { request: { url: "https://silent.example/" } });
      await vi.advanceTimersByTimeAsync(1000);
      expect(await ending).toMatchObject({
        kind: "refused",
        message: "The servlet waited for too long and was stopped.",
      });
    } finally {
      configureLimits(usual);
    }
  });

  test("for longer than a call may is stopped", async () => {
    const never = () => new Promise<void>(() => {});
    const sleep = (_ms: number, signal: AbortSignal) =>
      Promise.race([
        never(),
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
      ]);
    const { ending } = await waiting("doze", {}, { world: { ...liveWorld, sleep } });
    await vi.advanceTimersByTimeAsync(limits.waitMs);
    expect(await ending).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("waited for too long"),
    });
  });

  test("is stopped when its client has left", async () => {
    const client = new AbortController();
    const { ending } = await waiting("doze", {}, { signal: () => client.signal });
    setTimeout(() => client.abort(), 1000);
    const [outcome] = await Promise.allSettled([ending, vi.advanceTimersByTimeAsync(1000)]);
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "cancelled" } });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("waits of one call", () => {
  const leaver = new AbortController();
  /** Ends after so many ms, or when its signal aborts. */
  const during = (ms: number) => (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => resolve("ended"), ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  /** How a wait has ended. */
  const stateOf = (ended: Promise<string>) => Promise.race([ended, Promise.resolve("still waits")]);
  /** How a wait ends: its work lasts so long, and may last so long. */
  async function endOf(waits: Waits, ms: number, mostMs: number) {
    const work = during(ms)(waits.begin(mostMs));
    const ended = waits.settle(work).catch(({ name }: Error) => name);
    await vi.advanceTimersByTimeAsync(Math.min(ms, mostMs));
    const end = await stateOf(ended);
    waits.finish();
    return end;
  }

  test("are each late after their own time", async () => {
    const waits = new Waits(leaver.signal);
    expect(await endOf(waits, 900, 1000)).toBe("ended");
    expect(await endOf(waits, 999, 1000)).toBe("ended");
    expect(await endOf(waits, 1001, 1000)).toBe("TimeoutError");
    expect(waits.isLate).toBe(true);
    expect(await endOf(waits, 50, 100)).toBe("ended");
    expect(waits.isLate).toBe(false);
    expect(await endOf(waits, 50, 10)).toBe("TimeoutError");
    expect(await endOf(waits, 5000, 10_000)).toBe("ended");
    waits.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([-3_600_000, 3_600_000])(
    "last as long when the clock is set meanwhile, by %i ms",
    async (ms) => {
      const waits = new Waits(leaver.signal);
      const setClock = () => vi.setSystemTime(Date.now() + ms);
      expect(await endOf(waits, 900, 1000)).toBe("ended");
      setClock();
      expect(await endOf(waits, 900, 1000)).toBe("ended");
      const work = during(100_000)(waits.begin(1000));
      const late = waits.settle(work).catch(({ name }: Error) => name);
      setClock();
      await vi.advanceTimersByTimeAsync(999);
      expect(await stateOf(late)).toBe("still waits");
      await vi.advanceTimersByTimeAsync(1);
      expect(await stateOf(late)).toBe("TimeoutError");
      waits.end();
    },
  );

  test("end when the client leaves, also where their work never does", async () => {
    const client = new AbortController();
    const waits = new Waits(client.signal);
    waits.begin(1000);
    const left = waits.settle(new Promise(() => {}));
    client.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    waits.end();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test.each(["exit", "random"])(
  "a run that ends without what an earlier one has asked is refused, however it ends: %s",
  async (name) => {
    const input = JSON.stringify({
      request: { name, arguments: { code: 0 } },
      context: { id: "1", _meta: {} },
    });
    const head = {
      version: JOURNAL_VERSION,
      hash: program.hash!,
      input,
      seed: "00".repeat(32),
      time: 0,
    };
    const asked = { what: "sleep", digest: "00".repeat(32), answer: "", at: 0 };
    const run = (entries: JournalEntry[]) =>
      callExport(program, "call_tool", input, {
        ...setup,
        recorded: { head, entries, notices: 0 },
      });
    expect(await run([])).toMatchObject({ kind: "returned" });
    await expect(run([asked])).rejects.toThrow(/nothing more/);
  },
);
