import { afterEach, expect, test, vi } from "vitest";
import { Processor } from "../../../src/server/kernel/wasm/processor.ts";

/** Turns of guests that compute for so long that each of them lets others be served. */
const LONG = 60_000_000;

/** A processor of which each turn is recorded: its guest computes at once. */
function recorded() {
  const processor = new Processor();
  const turns: string[] = [];
  const take = async (name: string, { isNew = true, fuel = LONG } = {}) => {
    const turn = processor.turn(name, isNew);
    if (turn !== undefined) await turn;
    turns.push(isNew ? name : `${name} goes on`);
    processor.spend(name, fuel);
  };
  return { processor, turns, take };
}

afterEach(() => void vi.restoreAllMocks());

test("small calls do not wait", () => {
  const { processor } = recorded();
  for (let nth = 0; nth < 1000; nth++) {
    expect(processor.turn("a", true)).toBeUndefined();
    processor.spend("a", 10_000);
  }
});

test("small calls do not wait for each other once some have waited", async () => {
  const { processor, take } = recorded();
  processor.spend("a", LONG);
  const timers = vi.spyOn(globalThis, "setTimeout");
  const client = async () => {
    for (let nth = 0; nth < 200; nth++) await take("a", { fuel: 10_000 });
  };
  await Promise.all(Array.from({ length: 8 }, client));
  expect(timers.mock.calls.length).toBeLessThan(40);
});

test("between those who wait, those come first whose callers have used less", async () => {
  const { turns, take } = recorded();
  const many = Array.from({ length: 6 }, () => take("a"));
  await Promise.all([...many, take("b"), take("c"), take("b")]);
  expect(turns.slice(0, 3)).toEqual(["a", "b", "c"]);
  expect(turns.slice(3, 5).toSorted()).toEqual(["a", "b"]);
  expect(turns.slice(5)).toEqual(["a", "a", "a", "a"]);
});

test("after a long run, a request that is delivered some turns of the event loop later comes first", async () => {
  const { processor, turns, take } = recorded();
  processor.spend("a", 20 * LONG);
  const again = take("a");
  for (let nth = 0; nth < 2; nth++) await new Promise((resolve) => setTimeout(resolve));
  await Promise.all([again, take("b")]);
  expect(turns).toEqual(["b", "a"]);
});

test("so it does after each long run, however long the next guest has waited", async () => {
  const { processor, turns, take } = recorded();
  processor.spend("a", 20 * LONG);
  const first = take("a", { fuel: 20 * LONG });
  const second = take("a");
  await first;
  for (let nth = 0; nth < 2; nth++) await new Promise((resolve) => setTimeout(resolve));
  await Promise.all([second, take("b")]);
  expect(turns).toEqual(["a", "b", "a"]);
});

test("who has begun comes before who has not, of one caller", async () => {
  const { turns, take } = recorded();
  await Promise.all([take("a"), take("a"), take("a"), take("a", { isNew: false })]);
  expect(turns).toEqual(["a", "a goes on", "a", "a"]);
});

test("who has computed waits for about as long, though callers who have not keep coming", async () => {
  const { processor, turns, take } = recorded();
  for (let nth = 0; nth < 5; nth++) processor.spend("a", LONG);
  const coming = async (name: string) => {
    for (let nth = 0; nth < 1000 && !turns.includes("a"); nth++) {
      await new Promise((resolve) => setTimeout(resolve));
      await take(`${name} ${nth}`);
    }
  };
  await Promise.all([coming("b"), coming("c"), coming("d"), take("a")]);
  expect(turns.indexOf("a")).toBeLessThan(1000);
});

test("one that is gone while it waits holds nobody up", async () => {
  const { processor, turns, take } = recorded();
  processor.spend("a", LONG);
  processor.spend("a", LONG);
  // The timer of a request that has ended never goes off.
  vi.spyOn(globalThis, "setTimeout").mockReturnValueOnce(undefined as never);
  void take("b");
  await Promise.all([take("a"), take("a")]);
  expect(turns).toEqual(["a", "a"]);
  // Once the event loop was idle, nobody waits any more.
  await take("a", { fuel: 1 });
  expect(processor.turn("a", true)).toBeUndefined();
});
