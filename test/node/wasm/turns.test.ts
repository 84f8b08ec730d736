import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Program } from "../../../src/server/kernel/wasm/call.ts";
import { processor } from "../../../src/server/kernel/wasm/processor.ts";
import type { Setup } from "../../../src/server/kernel/wasm/setup.ts";
import { assembled, callGuest, programOf } from "../bundle/wasm/wat-guests.ts";

/**
 * A guest that computes for long lets others be served at its host functions, and ends at the next one when its client has
 * left. Each turn of its loop uses about a million units of fuel, and then calls the host.
 */

const FUEL = 1_000_000_000;
const guest = (imported: string, call: string, turns = 1200) => `
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "extism:host/env" "var_get" (func $var (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  ${imported}
  (memory (export "memory") 1)
  (func (export "call") (result i32) (local $turns i32) (local $left i32)
    (local.set $turns (i32.const ${turns}))
    (loop $turn
      (local.set $left (i32.const 100000))
      (loop $compute
        (i32.store (i32.const 0) (i32.div_u (i32.load (i32.const 4)) (i32.const 7)))
        (br_if $compute (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
      ${call}
      (br_if $turn (local.tee $turns (i32.sub (local.get $turns) (i32.const 1)))))
    ${imported === "" ? "" : "(if (local.get $turns) (then (drop (call $poll (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))"}
    (i32.const 0))`;
const SLEEPING =
  '(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))';
const CALLS = {
  "of WASI": "(drop (call $random (i32.const 64) (i32.const 8)))",
  "of Extism": "(drop (call $var (call $alloc (i64.const 4))))",
  "that is async": "(drop (call $poll (i32.const 0) (i32.const 1024) (i32.const 0) (i32.const 0)))",
};

const programs = new Map<string, Program>();
beforeEach(() => processor.forget());

beforeAll(async () => {
  for (const [name, call] of Object.entries(CALLS)) {
    programs.set(name, await programOf(await assembled(guest(SLEEPING, call))));
    programs.set(`short ${name}`, await programOf(await assembled(guest(SLEEPING, call, 250))));
  }
  const { "of WASI": call } = CALLS;
  programs.set("plain", await programOf(await assembled(guest("", call))));
  programs.set("short plain", await programOf(await assembled(guest("", call, 250))));
});

/** Runs a guest beside a client of which each turn of the event loop counts. */
async function callBeside(
  name: string,
  setup: Partial<Setup> = {},
  onTurn?: (turns: number) => void,
) {
  let turns = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = () => {
    turns++;
    onTurn?.(turns);
    timer = setTimeout(turn);
  };
  timer = setTimeout(turn);
  try {
    const ending = await callGuest(programs.get(name)!, "", { fuel: FUEL, ...setup });
    const fuel = ending.kind === "returned" ? ending.fuelUsed : 0;
    return { ending: ending.kind, turns, fuel };
  } finally {
    clearTimeout(timer);
  }
}

test.each(Object.keys(CALLS))(
  "others are served after each 100 ms of fuel, at a host function %s",
  async (name) => {
    const { ending, turns, fuel } = await callBeside(name);
    expect(ending).toBe("returned");
    expect(turns).toBeGreaterThanOrEqual(Math.floor(fuel / 110_000_000) - 1);
    expect(turns).toBeGreaterThan(2);
  },
);

test.each(Object.keys(CALLS))(
  "a guest whose client leaves ends at its next host function %s",
  async (name) => {
    const client = new AbortController();
    const others: number[] = [];
    const running = callBeside(name, { signal: () => client.signal }, (turns) => {
      others.push(turns);
      if (turns === 2) client.abort();
    });
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(others.length).toBeLessThanOrEqual(3);
  },
);

test.each([
  ["before it has begun", 1],
  ["at a host function", 3],
])(
  "a guest whose client leaves while it waits for its turn ends at once: %s",
  async (_when, nth) => {
    const client = new AbortController();
    let turns = 0;
    const { promise: never } = Promise.withResolvers<void>();
    const turn = vi.spyOn(processor, "turn").mockImplementation(() => {
      if (++turns !== nth) return undefined;
      // The timers of its request never go off.
      setTimeout(() => client.abort());
      return never;
    });
    onTestFinished(() => turn.mockRestore());
    const running = callBeside("of WASI", { signal: () => client.signal });
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(turns).toBe(nth);
  },
);

test("a guest that cannot be suspended goes on, and ends if its client had left before", async () => {
  const { ending } = await callBeside("plain");
  expect(ending).toBe("returned");
  const running = callBeside("plain", { signal: () => AbortSignal.abort() });
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
});

/** The calls that end, by whose they are: seven of one caller, and when the first has ended one of another. */
async function callsOfTwo(name: string): Promise<string[]> {
  const ended: string[] = [];
  const call = async (caller: string) => {
    const ending = await callGuest(programs.get(`short ${name}`)!, "", { caller });
    expect(ending.kind).toBe("returned");
    ended.push(caller);
  };
  const arrival = new Promise<void>((resolve) => {
    setTimeout(() => resolve(call("second")));
  });
  await Promise.all([...Array.from({ length: 7 }, () => call("first")), arrival]);
  return ended;
}

test.each(["plain", ...Object.keys(CALLS)])(
  "the first call of a caller comes before all that wait of another who computes: %s",
  async (name) => {
    const ended = await callsOfTwo(name);
    expect(ended).toHaveLength(8);
    expect(ended.indexOf("second")).toBeLessThanOrEqual(2);
  },
);

test("a client that leaves while a host function works ends the guest at the next one", async () => {
  const client = new AbortController();
  let looks = 0;
  const signal = () => {
    looks++;
    queueMicrotask(() => client.abort());
    return client.signal;
  };
  await expect(callBeside("of WASI", { signal })).rejects.toMatchObject({ code: "cancelled" });
  expect(looks).toBe(1);
});

test("a small call does not ask for its client", async () => {
  const small = await programOf(await assembled(guest("", "", 1).replace("100000", "1")));
  let looks = 0;
  const signal = () => {
    looks++;
    return new AbortController().signal;
  };
  expect((await callGuest(small, "", { signal })).kind).toBe("returned");
  expect(looks).toBe(0);
});
