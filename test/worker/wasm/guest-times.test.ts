import { expect, test } from "vitest";
import { limits } from "../../../src/core/limits.ts";
import { Wait } from "../../../src/core/suspension.ts";
import { Reservation } from "../../../src/wasm/budget.ts";
import { Guest } from "../../../src/wasm/guest.ts";
import { Journal } from "../../../src/wasm/journal.ts";
import { nobody } from "../../../src/wasm/pool.ts";

/** Times that a guest names, or waits for: whole milliseconds, by a clock that goes on. */

const NOW = Date.UTC(2026, 0, 1);

/** A guest in a world whose clock stands still, and how long it slept, in ms. */
function guestIn(setup: Partial<typeof nobody> = {}) {
  const slept: number[] = [];
  const world = {
    ...nobody.world,
    now: () => NOW,
    random: (bytes: Uint8Array) => void bytes.fill(77),
    sleep: async (ms: number) => void slept.push(ms),
  };
  const journal = new Journal({ hash: "", input: "" }, world, undefined);
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

test("a call that finds no room is run again at a whole millisecond", async () => {
  const usual = { ...limits };
  Object.assign(limits, { waitingBytes: 1, shortageMs: 5000 });
  const other = Reservation.take(1, undefined, 1000);
  try {
    const { guest } = guestIn({ gate: async () => {} });
    const reason = await guest.sleep(1).catch((error: unknown) => (error as Wait).reason);
    const ms = Math.ceil(5000 * (1 + 77 / 256));
    expect(reason).toEqual({ kind: "retry", until: NOW + ms, ms });
  } finally {
    other?.release();
    Object.assign(limits, usual);
  }
});
