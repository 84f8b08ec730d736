import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { dated } from "../../../src/server/kernel/asks/answers.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  withEarlierSleeps,
  withRecordedAnswer,
  type Recorded,
} from "../../../src/server/kernel/core/record.ts";
import { startDeadlines } from "../../../src/server/features/tasks/task-call.ts";
import type { TaskStore } from "../../../src/server/features/tasks/task-store.ts";
import type { WaitReason } from "../../../src/server/kernel/core/suspension.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import type { Attempts } from "../../../src/server/kernel/auth/attempts.ts";
import { clock, prepare } from "./client.ts";
import { HOUR } from "./plans.ts";

/** A clock that is set back by hours: limits, leases, deadlines and sleeps do not last until it has caught up. */
prepare();

const name = () => crypto.randomUUID();

test("a caller's calls are counted from the present on", async () => {
  const quota = env.QUOTAS!.getByName(name());
  clock.aheadMs = 10 * HOUR;
  expect(await quota.take("", 60)).toBe(0);
  clock.aheadMs = 0;
  for (let left = 59; left > 0; left--) expect(await quota.take("", 60)).toBe(0);
});

test("a window of attempts ends after its time, at the latest", async () => {
  const { ATTEMPTS } = env as unknown as { ATTEMPTS: DurableObjectNamespace<Attempts> };
  const attempts = ATTEMPTS.getByName(name());
  clock.aheadMs = 10 * HOUR;
  expect(await attempts.take(1, 60_000)).toBe(0);
  expect(await attempts.take(1, 60_000)).toBeGreaterThan(0);
  clock.aheadMs = 0;
  expect(await attempts.take(1, 60_000)).toBe(0);
  expect(await attempts.take(1, 60_000)).toBeLessThanOrEqual(60_000);
});

test("a request that may still be sending is awaited no longer than it may take", async () => {
  const states = env.STATES!.getByName(name());
  clock.aheadMs = 10 * HOUR;
  const head = { version: 1, hash: "", input: "", seed: "00", time: 0 };
  const unstored = { answers: [], inner: [] };
  const until = Date.now() + 20 * HOUR;
  const of = { position: 0, key: "k", place: undefined, until, begun: { head }, unstored };
  await states.intend("one", of);
  clock.aheadMs = 0;
  expect(await states.takeOver("two")).toEqual({ busyMs: limits.sendingMs });
  clock.aheadMs = limits.sendingMs + 1;
  expect(await states.takeOver("three")).toMatchObject({ kind: "earlier" });
});

test("deadlines that begin before the others were put forward are of the same clock", async () => {
  const planned = Date.now() + 10 * HOUR;
  const asks = { ask_1: { method: "elicitation/create", params: {}, timeoutMs: HOUR } } as const;
  let waits: WaitReason = { kind: "input", asks, given: {} } as unknown as WaitReason;
  const store = {
    ...{ row: { planned }, isOver: false },
    waits: async () => waits,
    wait: async (next: WaitReason) => void (waits = next),
  };
  await startDeadlines(store as unknown as TaskStore, asks);
  expect(waits).toMatchObject({ asks: dated(asks, planned) });
});

test("the sleeps of calls inside end earlier by as much as that of the whole call", () => {
  const sleeping = (until: number): Recorded => ({
    head: { version: 1, hash: "", input: "", seed: "00", time: 0 },
    ...{ entries: [], notices: 0, pending: { what: "sleep", digest: "", ms: HOUR, until } },
  });
  const inner = { at: 0, calls: [8, 9].map((at) => ({ recorded: sleeping(at * HOUR) })) };
  const whole = withEarlierSleeps({ ...sleeping(8 * HOUR), inner }, 3 * HOUR);
  expect(whole.inner!.calls.map(({ recorded }) => recorded!.pending!.until)).toEqual([
    5 * HOUR,
    6 * HOUR,
  ]);
  const awake = withRecordedAnswer(whole, "", 5 * HOUR).inner!.calls;
  expect(awake.map(({ recorded }) => recorded!.entries.length)).toEqual([1, 0]);
});

test("what is served is asked for again", async () => {
  const kernel = new Kernel(bundle, { ...env, LOADER: env.TEST_LOADER });
  const installs = env.INSTALLS!.getByName("installs");
  // Its next sweep is planned by the right clock: tests of other files wait for it.
  await installs.since(-1);
  clock.aheadMs = 10 * HOUR;
  await kernel.registry();
  clock.aheadMs = 0;
  const digest = "5e7b".repeat(16);
  const build = {
    ...{ name: "set_back", dialect: "hyper-v2" as const, hash: digest, parts: { module: digest } },
    ...{ startsOnce: false, restorable: true, exports: ["call_tool"], manifest: {} },
    lists: { tools: [], resources: [], resourceTemplates: [], prompts: [] },
  };
  await installs.install(build, "test");
  const { whole } = await kernel.registry();
  expect(whole.servlets.map((one) => one.name)).toContain("set_back");
  await installs.uninstall("set_back");
});

test("a page waits no longer than it says", async () => {
  const person = env.PROFILES!.getByName(name());
  clock.aheadMs = 10 * HOUR;
  const waited = person.secret("ada", { servlet: "a", name: "b" }, { after: 0, ms: 200 });
  await scheduler.wait(50);
  clock.aheadMs = 0;
  expect(await waited).toBeUndefined();
});
