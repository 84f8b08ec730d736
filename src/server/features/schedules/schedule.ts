/** Schedules as they are described, stored and shown. */
import type { Json, Principal } from "../../kernel/core/model.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";
import type { Timing } from "./times.ts";

/** What runs, and when. */
export interface Schedule {
  /** Unique among its owner's schedules of the servlet. */
  id: string;
  servlet: string;
  timing: Timing;
  /** The tool that is called, by its own name; absent if the servlet runs its code for schedules. */
  tool?: string | undefined;
  arguments?: Json | undefined;
  /** True for a schedule of the servlet's manifest. */
  isDeclared: boolean;
}

/** A schedule with its maker, as it is stored. */
export interface StoredSchedule extends Schedule {
  principal: Principal;
  /** The origin of the pages on which questions of its runs are answered; absent if nobody could open them. */
  origin?: string | undefined;
  /** When it was made, in Unix ms: periods begin there. */
  made: number;
}

/** A run that has begun, or the reason why it has not: consecutive runs with the same reason are one record. */
export interface ScheduledRun {
  /** When it was due and when it began, in Unix ms. */
  due: number;
  at: number;
  /** Number of earlier due times that it makes up for. */
  missed: number;
  /** The id of its task; absent if it did not begin. */
  task?: string;
  /** Why it did not begin. */
  why?: string;
}

/** A schedule as people and servlets see it. */
export interface ShownSchedule extends Schedule {
  /** When it is due next, in Unix ms; absent if it is paused or over. */
  next?: number;
  /** Why it is paused. */
  paused?: string;
  /** Whose rights its runs have. */
  by: Principal;
  /** The newest first. */
  runs: ScheduledRun[];
}

/** The facts that a run gets about its schedule: in `_meta` under `SCHEDULE_META`, or as the input of `run_schedule`. */
export interface RunNote extends Json {
  name: string;
  /** When it was due: ISO 8601, in UTC. */
  due: string;
  /** How many earlier due times it makes up for, at which the server could not run it. */
  missed: number;
}

export const SCHEDULE_META = "edge-servlets/schedule";

/** A schedule in a manifest. */
type Declared = NonNullable<Manifest["schedules"]>[string];

/** The timing of a declared schedule. */
export const timingIn = ({ cron, every = 0, timeZone }: Declared): Timing =>
  cron === undefined ? { every } : { cron, ...(timeZone !== undefined && { timeZone }) };

/** The schedules of a servlet's manifest. */
export const declaredIn = ({
  name: servlet,
  manifest,
}: {
  name: string;
  manifest: Manifest;
}): Schedule[] =>
  Object.entries(manifest.schedules ?? {}).map(([id, declared]) => {
    const { tool, arguments: input } = declared;
    const calls = tool !== undefined && { tool, ...(input && { arguments: input }) };
    return { id, servlet, timing: timingIn(declared), ...calls, isDeclared: true };
  });
