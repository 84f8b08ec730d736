/** When a schedule is due. Cron lines, time zones and daylight saving are croner's job. */
import { Cron } from "croner";
import { Fault } from "../../kernel/core/errors.ts";
import { beginningOf, printable } from "../../kernel/core/text.ts";
import { limits } from "./limits.ts";

/** One time, or a rule for many. */
export type Timing =
  /** A local time in the time zone, without an offset, such as `2026-12-04T09:00`; or one with an offset. */
  | { at: string; timeZone?: string | undefined }
  /** A period in ms, from when the schedule was made. */
  | { every: number }
  /** Minute, hour, day of the month, month, day of the week; in UTC by default. */
  | { cron: string; timeZone?: string | undefined };

/** The times of one schedule. */
export interface Times {
  /** The first due time after this one, in Unix ms; undefined if there is none. */
  after(time: number): number | undefined;
}

const TIME =
  /^(?<date>\d{4}-\d\d-\d\d)[t ](?<clock>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?<offset>z|[+-]\d\d:\d\d)?$/i;

/** The times of this rule; `from` (Unix ms) is when a period begins. Throws `invalid_params`, with what to write instead. */
export function timesOf(timing: Timing, from: number): Times {
  if ("cron" in timing) return cronTimes(timing);
  if ("every" in timing) return periods(timing.every, from);
  const at = instantOf(timing);
  return { after: (time) => (at > time ? at : undefined) };
}

/**
 * The first due time (Unix ms) of a schedule that was made at `from`. Throws `invalid_params` if it is never due, too far
 * ahead or too often.
 */
export function firstDue(timing: Timing, from: number): number {
  const now = Date.now();
  const times = timesOf(timing, from);
  const first = times.after(now);
  if (first === undefined) throw bad("it is over, or there is no such day");
  if (first - now > limits.scheduleAheadMs) throw bad("it is first due in more than ten years");
  if (limits.scheduleMs > MINUTE_MS) demandPauses(times, first);
  return first;
}

/** A cron line is due once a minute at most. For longer pauses, looks at as many due times as an hour can have. */
function demandPauses({ after }: Times, first: number): void {
  let [due, next]: [number, number | undefined] = [first, after(first)];
  for (let nth = 0; nth < 60 && next !== undefined; nth++) {
    if (next - due < limits.scheduleMs)
      throw new Fault(
        "invalid_params",
        `The schedule is due too often: at ${new Date(due).toISOString()} and at ${new Date(next).toISOString()}. Leave at least ${limits.scheduleMs} ms between its times.`,
      );
    [due, next] = [next, after(next)];
  }
}

const MINUTE_MS = 60_000;

function cronTimes({ cron, timeZone }: Extract<Timing, { cron: string }>): Times {
  demandZone(timeZone);
  let parsed: Cron;
  try {
    parsed = new Cron(cron, { timezone: timeZone ?? "UTC", mode: "5-part" });
  } catch (error) {
    const why = (error as Error).message.replace(/^\w+: /, "");
    throw bad(
      `the cron line ${shown(cron)} is not valid: ${shown(why)} Write minute, hour, day of the month, month and day of the week, as in "0 8 * * 1-5"`,
    );
  }
  return { after: (time) => parsed.nextRun(new Date(time))?.getTime() };
}

function periods(every: number, from: number): Times {
  if (!Number.isSafeInteger(every) || every < limits.scheduleMs || every > limits.scheduleAheadMs)
    throw bad(
      `every is ${every} ms; write a whole number of ms from ${limits.scheduleMs} to ${limits.scheduleAheadMs}`,
    );
  return {
    after: (time) => from + every * (Math.floor(Math.max(0, time - from) / every) + 1),
  };
}

/** The instant of a time with an offset, or of a local time in a time zone, in Unix ms. */
function instantOf({ at, timeZone }: Extract<Timing, { at: string }>): number {
  demandZone(timeZone);
  const { date, clock, offset } = TIME.exec(at)?.groups ?? {};
  const asUtc = Date.parse(`${date}T${clock}Z`);
  // Days that a month lacks would be of the next one.
  const isDate = !Number.isNaN(asUtc) && new Date(asUtc).toISOString().startsWith(date!);
  const instant = isDate ? instantAt(`${date}T${clock}`, offset, timeZone) : NaN;
  if (!Number.isNaN(instant)) return instant;
  throw bad(
    `at is ${shown(at)}; write a date and a time as in ISO 8601, to the minute, with an offset or a timeZone`,
  );
}

function instantAt(local: string, offset: string | undefined, timeZone = "UTC"): number {
  if (offset !== undefined) return Date.parse(local + offset.toUpperCase());
  // Croner moves a local time that does not exist to the hour after it, and takes the first of one that comes twice.
  return new Cron(local, { timezone: timeZone }).nextRun(new Date(0))?.getTime() ?? NaN;
}

function demandZone(timeZone: string | undefined): void {
  if (timeZone === undefined) return;
  try {
    void new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw bad(
      `there is no time zone ${shown(timeZone)}; write a name of the IANA database, such as "Europe/Berlin"`,
    );
  }
}

const shown = (text: string): string => printable(beginningOf(text, 100));

const bad = (what: string): Fault =>
  new Fault("invalid_params", `The time of the schedule is not valid: ${what}.`);
