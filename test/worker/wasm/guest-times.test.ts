import { expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { withRecordedAnswer, type Recorded } from "../../../src/server/kernel/core/record.ts";
import { Wait } from "../../../src/server/kernel/core/suspension.ts";
import { Reservation } from "../../../src/server/kernel/wasm/budget.ts";
import { Guest, type Unwound } from "../../../src/server/kernel/wasm/guest.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";

/** Times that a guest names, or waits for: whole milliseconds, by a clock that goes on. */

const NOW = Date.UTC(2026, 0, 1);

type Begun = ConstructorParameters<typeof Journal>[0];

/** A guest in a world whose clock stands still at this time, and how long it slept, in ms. */
function guestIn(
  setup: Partial<typeof nobody> = {},
  { now = NOW, begun = { hash: "", input: "" } }: { now?: number; begun?: Begun } = {},
) {
  const slept: number[] = [];
  const world = {
    ...nobody.world,
    now: () => now,
    random: (bytes: Uint8Array) => void bytes.fill(77),
    sleep: async (ms: number) => void slept.push(ms),
  };
  const journal = new Journal(begun, world, undefined);
  const guest = new Guest({ ...nobody, ...setup, world }, journal);
  const fuel = new WebAssembly.Global({ value: "i64", mutable: true }, 0n);
  const kernel = { edge_alloc: () => 0, edge_input: () => {}, edge_length: () => 0 };
  guest.attach(
    { ...kernel, edge_fuel: fuel, edge_memory: new WebAssembly.Memory({ initial: 1 }) },
    { fuel: 1e6 },
  );
  return { guest, slept };
}

test("a guest sleeps for whole milliseconds, and not for less than it has said", async () => {
  const { guest, slept } = guestIn();
  for (const ms of [0.000001, 1, 1.5, 12_345.678]) await guest.sleep(ms);
  expect(slept).toEqual([1, 1, 2, 12_346]);
});

test("a sleep takes its time by the guest's clock, even where the machine's clock does not go on", async () => {
  const { guest } = guestIn();
  await guest.sleep(1000);
  await guest.sleep(0.5);
  expect(guest.journal.now).toBe(NOW + 1001);
});

test("a call that finds no room, and may not wait for any, is run again at a whole millisecond", async () => {
  const usual = { ...limits };
  configureLimits({ waitingBytes: 1, shortageMs: 5000 });
  const other = Reservation.take({ bytes: 1, caller: undefined, leftMs: 1000 });
  try {
    const { guest } = guestIn({ gate: async () => {}, waitMs: 1 });
    const unwound = await guest.sleep(1).then(
      () => undefined,
      (error: unknown) => error as Unwound,
    );
    const reason = await unwound?.answered.catch((error: unknown) => (error as Wait).reason);
    const ms = Math.ceil(5000 * (1 + 77 / 256));
    expect(reason).toEqual({ kind: "retry", until: NOW + ms, ms });
  } finally {
    other?.release();
    configureLimits(usual);
  }
});

test("a sleep that was interrupted takes its whole time by the guest's clock, whatever the machine's says at its end", async () => {
  let begun: Begun | undefined;
  for (const now of [NOW, NOW + 5000]) {
    const gate = (ms: number) => {
      throw new Wait({ kind: "sleep", until: now + ms, ms });
    };
    const { guest } = guestIn({ gate }, { now, ...(begun && { begun }) });
    const wait = await guest.sleep(36_000).catch((error: unknown) => error as Wait);
    begun = guest.journal.recorded(wait?.reason);
  }
  const { entries } = withRecordedAnswer(begun as Recorded, "", NOW - 1000);
  expect(entries).toMatchObject([{ at: NOW + 36_000 }]);
});
