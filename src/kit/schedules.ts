import { callHost, hostFor } from "./host.ts";

/**
 * When `context.schedule` has a tool called: at one time, in periods, or by a cron line. `at` is a Date, or a local time of the
 * time zone such as "2026-12-04T09:00". `every` is in ms, at least a minute. `cron` has minute, hour, day of the month, month and
 * day of the week. `timeZone` is an IANA name; UTC by default.
 *
 * @example
 * const friday: ScheduleTime = { cron: "0 9 * * 5", timeZone: "Europe/Berlin" };
 */
export type ScheduleTime =
  | { at: Date | string; timeZone?: string }
  | { every: number }
  | { cron: string; timeZone?: string };

/**
 * A schedule that `context.schedule` has made.
 *
 * @example
 * const all: MadeSchedule[] = await context.schedules();
 * return all.map(({ id, next }) => `${id}: ${next?.toISOString() ?? "over"}`).join("\n");
 */
export interface MadeSchedule {
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
  at?: string;
  every?: number;
  cron?: string;
  timeZone?: string;
  /** When it is due next; null if it is over or paused. */
  next: Date | null;
  /** When its last run began, if any has. */
  last: Date | null;
  /** Why it is paused. */
  paused?: string;
}

/**
 * Has a tool of this servlet called later, for the caller and with the rights that the caller has then. An `id` replaces the
 * caller's schedule of that id. Throws an `Error` that says what to change if the time, the tool or its arguments are not valid, or
 * there are too many schedules.
 */
export async function schedule({
  id = newId(),
  at,
  ...given
}: ScheduleTime & {
  tool: string;
  arguments?: object;
  id?: string;
  at?: Date | string;
}): Promise<MadeSchedule> {
  const when = at !== undefined && { at: at instanceof Date ? at.toISOString() : at };
  return made(await callHost("schedule()", "schedules.add", { id, ...when, ...given }));
}

/** The schedules that this servlet has made for the caller, by when they are due. */
export async function schedules(): Promise<MadeSchedule[]> {
  return ((await callHost("schedules()", "schedules.list", {})) as unknown[]).map(made);
}

/** Cancels a schedule of the caller; a run that has begun goes on. False if there is none with this id. */
export async function cancelSchedule(id: string): Promise<boolean> {
  return (await callHost("cancelSchedule()", "schedules.cancel", { id })) === true;
}

/** Random numbers of the guest are the same if the call is repeated, and so is the schedule. */
const newId = (): string => new Uint8Array(hostFor("schedule()").random(8)).toHex();

function made(answer: unknown): MadeSchedule {
  const { next, last, ...rest } = answer as MadeSchedule & Record<"next" | "last", number | null>;
  const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));
  return { ...rest, next: dateOf(next), last: dateOf(last) };
}
