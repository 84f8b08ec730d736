import { expect, onTestFinished, test, vi } from "vitest";
import type { RunContext } from "../../../src/server/kernel/core/call-context.ts";
import type { Settled } from "../../../src/server/kernel/core/settled.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  CallHooks,
  RemoteSignal,
  type RemoteHooks,
} from "../../../src/server/features/state/remote-hooks.ts";

const DAY = 86_400_000;

test.each<[what: string, ms: number, aheadMs: number, waited: number]>([
  ["a sleep is longer by what the guest's clock is ahead", 5000, 200, 5200],
  ["a sleep is not longer where the guest's clock is behind", 5000, -200, 5000],
  ["a question is no sleep, whatever the guest's clock shows", 0, 20_000, 0],
  ["a question is no sleep where the clocks are set back meanwhile", 0, 10 * DAY, 0],
  [
    "a sleep does not last until a clock that was set back is there again",
    5000,
    10 * DAY,
    5000 + limits.clockSlackMs,
  ],
])("%s", async (_what, ms, aheadMs, waited) => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_000);
  const gate = vi.fn<(ms: number) => void>();
  const call = { gate } as unknown as RunContext;
  const hooks = new CallHooks(call, () => new AbortController().signal);
  const answer: Settled<unknown> = await hooks.call("gate", [ms], 1_700_000_000_000 + aheadMs);
  expect(answer).toEqual({ value: undefined });
  expect(gate.mock.calls.map(([one]) => one)).toEqual([waited]);
});

test("a guest that begins to wait is stopped where who has made its call is gone already", async () => {
  const isThere = vi.fn<() => Promise<never>>(() => Promise.reject(new Error("disconnected")));
  const signal = new RemoteSignal({ isThere } as unknown as RemoteHooks);
  expect(isThere).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(signal.get().aborted).toBe(true));
  expect(isThere).toHaveBeenCalledOnce();
});

test("a call that is cancelled before its guest waits is not asked for again", async () => {
  const isThere = vi.fn<() => Promise<never>>();
  const signal = new RemoteSignal({ isThere } as unknown as RemoteHooks);
  signal.abort();
  expect(signal.isAborted).toBe(true);
  expect(signal.get().aborted).toBe(true);
  expect(isThere).not.toHaveBeenCalled();
});

test.each<[what: string, name: unknown, args: unknown[], given: unknown[] | undefined]>([
  [
    "begins a record with no place of its own choice",
    "begin",
    [{ seed: "x" }, "0.9"],
    [{ seed: "x" }],
  ],
  ["stores an answer with no place of its own choice", "keep", [1, {}, 0, "0.9"], [1, {}, 0]],
  ["calls no function by a list of one name", ["begin"], [{}], undefined],
  ["calls nothing that every object has", "constructor", [], undefined],
  ["calls nothing that the call lacks", "sending", [], undefined],
])("a hostile isolate %s", async (_what, name, args, given) => {
  const [begin, keep] = [vi.fn<() => Promise<void>>(), vi.fn<() => Promise<void>>()];
  const call = { keeper: { begin, keep } } as unknown as RunContext;
  const hooks = new CallHooks(call, () => new AbortController().signal);
  const answer = await hooks.call(name as "begin", args, Number.NaN);
  const calls = [...begin.mock.calls, ...keep.mock.calls] as unknown[][];
  expect(calls).toEqual(given === undefined ? [] : [given]);
  expect(answer).toMatchObject(given === undefined ? { code: "invalid_params" } : {});
});
