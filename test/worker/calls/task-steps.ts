import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import { Turns } from "../../../src/server/kernel/storage/turns.ts";
import { eventually } from "../waiting.ts";
import { clock, type Json } from "./client.ts";
import { beginTask, objectOf, taskOf } from "./faults.ts";
import { steps } from "./plans.ts";

/** Steps that the tests of tasks share; alarms go off by themselves there. */

export const NAP = { do: "sleep", ms: 30 };
/** Begins a plan as a task; gives its id. */
export const planned = (...all: Json[]) => beginTask("plan_always", steps(...all));

/** Has the state of servlets be in use by too many, the first so many times; gives how often it was asked for. */
export function busyTurns(times: number): () => number {
  const full = new Turns(0);
  full.takeNow();
  const { take, takeNow } = Turns.prototype;
  let asked = 0;
  // A call takes a free turn at once, and asks for one only then.
  vi.spyOn(Turns.prototype, "takeNow").mockImplementation(function (this: Turns) {
    const isTaken = asked >= times && takeNow.call(this);
    if (isTaken) asked++;
    return isTaken;
  });
  vi.spyOn(Turns.prototype, "take").mockImplementation(function (this: Turns, signal) {
    return take.call(asked++ < times ? full : this, signal);
  });
  return () => asked;
}

/** Waits until the task has this status; gives it. */
export async function until(id: string, status: string): Promise<Json> {
  return eventually(async () => {
    const task = await taskOf(id);
    if (task["status"] !== status)
      throw new Error(`The task does not become ${status}: ${JSON.stringify(task)}`);
    return task;
  });
}

/** Waits until the task's alarm is due in this time, give or take a minute. */
export async function alarmIn(id: string, ms: number): Promise<void> {
  await eventually(async () => {
    const at = await runInDurableObject(objectOf(id), (_instance, { storage }) =>
      storage.getAlarm(),
    );
    if (at === null || Math.abs(at - Date.now() - ms) > 60_000)
      throw new Error(
        `The alarm is not due in ${ms} ms, but ${at === null ? at : at - Date.now()}`,
      );
  });
}

/** Lets the task's alarm go off after this time. */
export async function ring(id: string, ms: number): Promise<void> {
  clock.aheadMs += ms;
  expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
}

/** Waits until the task's alarm is due in this time, and lets it go off then, or later. */
export async function later(id: string, ms: number, lateMs = 0): Promise<void> {
  await alarmIn(id, ms);
  await ring(id, ms + lateMs);
}
