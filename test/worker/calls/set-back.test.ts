import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import {
  withEarlierSleeps,
  withRecordedAnswer,
  type Recorded,
} from "../../../src/server/kernel/core/record.ts";
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

test("the sleeps of calls inside end earlier by as much as that of the whole call", () => {
  const sleeping = (until: number): Recorded => ({
    head: { version: 1, hash: "", input: "", seed: "00", time: 0 },
    entries: [],
    notices: 0,
    pending: { what: "sleep", digest: "", ms: HOUR, until },
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
