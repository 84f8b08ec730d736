import { expect, test } from "vitest";
import { timesOf, type Timing } from "../../../../src/server/features/schedules/times.ts";

/** When schedules are due. */

const MADE = Date.parse("2026-01-01T00:00Z");

/** The first due times after a time. */
function dueAfter(timing: Timing, time: string, count: number): string[] {
  const { after } = timesOf(timing, MADE);
  const found: string[] = [];
  for (let at = after(Date.parse(time)); at !== undefined && found.length < count; at = after(at))
    found.push(new Date(at).toISOString().slice(0, 16));
  return found;
}

const berlin = { timeZone: "Europe/Berlin" };

test.each<[string, Timing, string, string[]]>([
  [
    "each working day, also when the clocks change",
    { cron: "0 8 * * 1-5", ...berlin },
    "2026-03-26T12:00Z",
    ["2026-03-27T07:00", "2026-03-30T06:00", "2026-03-31T06:00"],
  ],
  [
    "at an hour that does not exist on one day, then",
    { cron: "30 2 * * *", ...berlin },
    "2026-03-28T12:00Z",
    ["2026-03-29T01:00", "2026-03-30T00:30"],
  ],
  [
    "once at an hour that comes twice",
    { cron: "30 2 * * *", ...berlin },
    "2026-10-24T12:00Z",
    ["2026-10-25T00:30", "2026-10-26T01:30"],
  ],
  [
    "in each of both hours, if it is for every hour",
    { cron: "0 * * * *", ...berlin },
    "2026-10-24T23:30Z",
    ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"],
  ],
  [
    "where clocks change by half an hour",
    { cron: "15 2 * * *", timeZone: "Australia/Lord_Howe" },
    "2026-10-03T00:00Z",
    ["2026-10-03T15:30", "2026-10-04T15:15"],
  ],
  ["by names", { cron: "0 9 * FEB MON" }, "2026-02-01T00:00Z", ["2026-02-02T09:00"]],
  ["each leap day", { cron: "0 0 29 2 *" }, "2026-01-01T00:00Z", ["2028-02-29T00:00"]],
  ["in UTC by default", { cron: "@daily" }, "2026-05-05T05:05Z", ["2026-05-06T00:00"]],
  [
    "in periods from when it was made",
    { every: 5_400_000 },
    "2026-01-01T02:00Z",
    ["2026-01-01T03:00", "2026-01-01T04:30"],
  ],
  [
    "in periods, where the clock was set back before it was made",
    { every: 5_400_000 },
    "2025-12-30T02:00Z",
    ["2026-01-01T01:30"],
  ],
  ["once", { at: "2026-12-04T09:00", ...berlin }, "2026-01-01T00:00Z", ["2026-12-04T08:00"]],
  [
    "once, with an offset",
    { at: "2026-12-04T09:00+05:30" },
    "2026-01-01T00:00Z",
    ["2026-12-04T03:30"],
  ],
  [
    "once, with milliseconds",
    { at: "2026-12-04T09:00:00.500Z" },
    "2026-01-01T00:00Z",
    ["2026-12-04T09:00"],
  ],
  [
    "once, at a local time that does not exist",
    { at: "2026-03-29T02:30", ...berlin },
    "2026-01-01T00:00Z",
    ["2026-03-29T01:30"],
  ],
  [
    "once, at one that comes twice",
    { at: "2026-10-25T02:30", ...berlin },
    "2026-01-01T00:00Z",
    ["2026-10-25T00:30"],
  ],
  ["never, after its time", { at: "2026-12-04T09:00Z" }, "2026-12-04T09:00Z", []],
  ["never, on a day that does not exist", { cron: "0 0 31 2 *" }, "2026-01-01T00:00Z", []],
])("%s", (_, timing, time, due) => {
  expect(dueAfter(timing, time, due.length || 1)).toEqual(due);
});

test.each<[string, Timing, RegExp]>([
  ["a year beyond what clocks count", { at: "9999-99-99T00:00Z" }, /write a date and a time/],
  ["an hour that no day has", { at: "2026-12-04T25:00" }, /write a date and a time/],
  ["an offset that no zone has", { at: "2026-12-04T09:00+99:99" }, /write a date and a time/],
  ["a very long text", { at: "1".repeat(10_000) }, /write a date and a time/],
  ["an empty cron line", { cron: "" }, /cron line/],
  ["a cron line with seconds", { cron: "0 0 8 * * *" }, /cron line/],
  ["a cron line of words", { cron: "every day at 8" }, /cron line/],
  ["half a minute", { every: 30_000 }, /from 60000/],
  ["a period that is no number", { every: NaN }, /from 60000/],
  [
    "a zone that does not exist",
    { cron: "0 8 * * *", timeZone: "Europe/Atlantis" },
    /no time zone/,
  ],
  [
    "a zone that is hostile",
    { at: "2026-12-04T09:00", timeZone: "../../etc/passwd" },
    /no time zone/,
  ],
])("%s is refused, with what to write instead", (_, timing, message) => {
  expect(() => timesOf(timing, MADE)).toThrow(message);
});
