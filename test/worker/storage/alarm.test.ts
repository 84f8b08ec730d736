import { expect, test, vi } from "vitest";
import { Alarm } from "../../../src/server/kernel/storage/alarm.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";

/** Alarms: the platform keeps whole milliseconds of them, and loses some that are set as they go off. */

/** What an alarm is set to. */
function storing(at: number | null = null) {
  const stored = { at };
  const alarm = new Alarm({
    getAlarm: async () => stored.at,
    setAlarm: async (time) => void (stored.at = Number(time)),
  });
  return { alarm, stored };
}

const NOW = Date.UTC(2026, 0, 1);
const at = (now: number, work: () => Promise<void>) => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(now);
  return work().finally(() => clock.mockRestore());
};

test("it is set to whole milliseconds, and not before its time", async () => {
  const { alarm, stored } = storing();
  for (const [given, set] of [
    [NOW + 0.001, NOW + 1],
    [NOW + 20.999, NOW + 21],
    [NOW + 5, NOW + 5],
    [NOW - 5, NOW - 5],
  ] as const) {
    await at(NOW, () => alarm.set(given));
    expect(stored.at).toBe(set);
  }
});

test.each([
  ["at its time", NOW],
  ["late", NOW + 20],
  ["early, by the clock of this machine", NOW - 20],
])("as it goes off %s it is set later than that", async (_when, now) => {
  for (const given of [NOW - 1000, NOW - 20, NOW - 0.5, NOW, now, now + 0.5]) {
    const { alarm, stored } = storing();
    await at(now, () => alarm.ring({ scheduledTime: NOW }, () => alarm.set(given)));
    expect(stored.at).toBeGreaterThan(Math.max(NOW, now));
    expect(stored.at).toBeLessThan(Math.max(NOW, now) + 2);
    await at(now, () => alarm.set(given));
    expect(stored.at).toBe(Math.ceil(given));
  }
});

test("its handler is given the time that it was set to, or a later one", async () => {
  const { alarm } = storing();
  const times: number[] = [];
  const take = (time: number) => void times.push(time, Number(alarm.isRinging));
  await at(NOW - 20, () => alarm.ring({ scheduledTime: NOW }, take));
  await at(NOW + 20, () => alarm.ring({ scheduledTime: NOW }, take));
  await at(NOW, () => alarm.ring(undefined, take));
  expect(times).toEqual([NOW, 1, NOW + 20, 1, NOW, 1]);
  expect(alarm.isRinging).toBe(false);
});

test("one that should have gone off long ago is not planned any more", async () => {
  const late = NOW - limits.lateAlarmMs;
  for (const [stored, isPlanned] of [
    [null, false],
    [late - 1, false],
    [late, false],
    [late + 1, true],
    [NOW + 1, true],
  ] as const) {
    await at(NOW, async () => expect(await storing(stored).alarm.isPlanned()).toBe(isPlanned));
  }
});
