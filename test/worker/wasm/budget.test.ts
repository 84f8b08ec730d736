import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Reservation } from "../../../src/server/kernel/wasm/budget.ts";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";

/** The memory of guests that wait, in one isolate. */
describe("a place to wait in", () => {
  const MIB = 1024 * 1024;
  const MINUTE = 60_000;
  const small = { waitingBytes: 8 * MIB, waitingBytesOfOne: 4 * MIB };
  const usual = { ...limits };
  const waiter = (bytes: number, caller: string) => ({ bytes, caller, leftMs: MINUTE });
  beforeEach(() => configureLimits(small));
  afterEach(() => {
    configureLimits(usual);
    vi.useRealTimers();
  });

  test("is there while all of them, and those of one caller, leave room", () => {
    const reservations = [
      Reservation.take(waiter(3 * MIB, "a")),
      Reservation.take(waiter(3 * MIB, "b")),
    ];
    expect(reservations).not.toContain(undefined);
    expect(Reservation.take(waiter(2 * MIB, "a"))).toBeUndefined();
    expect(Reservation.take(waiter(3 * MIB, "c"))).toBeUndefined();
    expect(reservations[0]!.grow(2 * MIB)).toBe(true); // It is its caller's only one.
    for (const one of reservations) one!.release();
    const alone = Reservation.take(waiter(100 * MIB, "a"));
    expect(alone).toBeDefined();
    alone!.release();
  });

  test("is never taken whole by guests, so that calls may wait whose guests were unwound", async () => {
    const held = ["a", "a", "b", "b"].flatMap((caller) =>
      Array.from({ length: 64 }, () => Reservation.take(waiter(MIB / 16, caller)) ?? []).flat(),
    );
    expect(Reservation.take(waiter(MIB / 16, "a"))).toBeUndefined();
    const late = new Error("there is no room");
    const unwound = await Promise.all(
      ["a", "b", "c"].map((caller) =>
        Reservation.whenFree(waiter(MIB / 16, caller), () => Promise.reject(late)),
      ),
    );
    for (const one of [...held, ...unwound]) one.release();
  });

  test("of a guest whose object has died is free once it cannot wait any longer", () => {
    vi.useFakeTimers({ now: Date.now() });
    expect(Reservation.take(waiter(7 * MIB, "a"))).toBeDefined();
    expect(Reservation.take(waiter(2 * MIB, "b"))).toBeUndefined();
    vi.setSystemTime(Date.now() + MINUTE + limits.httpMs + 1);
    Reservation.take(waiter(2 * MIB, "b"))!.release();
  });
});

test("each answer of the host costs fuel, whether or not the guest waited for it", async () => {
  const guest = new Guest(nobody, new Journal({ hash: "", input: "" }, nobody.world, undefined));
  const fuel = new WebAssembly.Global({ value: "i64", mutable: true }, 0n);
  const kernel = { edge_alloc: () => 0, edge_input: () => {}, edge_length: () => 0 };
  const edge_memory = new WebAssembly.Memory({ initial: 1 });
  guest.attach({ ...kernel, edge_fuel: fuel, edge_memory }, { fuel: 1e6 });
  guest.answerNow({ what: "config", details: "" }, () => "");
  await guest.answer({ what: "sleep", details: "" }, async () => "");
  expect(fuel.value).toBe(BigInt(1e6 - 2 * limits.answerFuel));
});
