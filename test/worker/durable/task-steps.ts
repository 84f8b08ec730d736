import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import { clock, type Json } from "./client.ts";
import { beginTask, objectOf, taskOf } from "./faults.ts";
import { steps } from "./plans.ts";

/** Steps that the tests of tasks share; alarms go off by themselves there. */

export const NAP = { do: "sleep", ms: 30 };
/** Begins a plan as a task; gives its id. */
export const planned = (...all: Json[]) => beginTask("plan_always", steps(...all));

/** Waits until the task has this status; gives it. */
export async function until(id: string, status: string): Promise<Json> {
  for (let look = 0; look < 500; look++) {
    const task = await taskOf(id);
    if (task["status"] === status) return task;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`the task does not become ${status}: ${JSON.stringify(await taskOf(id))}`);
}

/** Waits until the task's alarm is at this distance from now, in ms, and lets it go off then, or later. */
export async function later(id: string, ms: number, lateMs = 0): Promise<void> {
  const object = objectOf(id);
  for (let look = 0; look < 500; look++) {
    const at = await runInDurableObject(object, (_instance, { storage }) => storage.getAlarm());
    if (at !== null && Math.abs(at - Date.now() - ms) < 60_000) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  clock.aheadMs += ms + lateMs;
  expect(await runDurableObjectAlarm(object)).toBe(true);
}
