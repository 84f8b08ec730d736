import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tasksOf } from "../../../src/server/features/tasks/tasks.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { accept, prepare } from "../../worker/calls/client.ts";
import { objectOf, taskOf, updateTask } from "../../worker/calls/faults.ts";
import { ELICIT, NIGHT } from "../../worker/calls/plans.ts";
import { alarmIn, planned, until } from "../../worker/calls/task-steps.ts";

/** Polls open as little as they can of what a task has sealed. */
prepare();
const { open } = Sealer.prototype;
let opened = 0;

beforeEach(() => {
  Sealer.prototype.open = function (...given) {
    opened++;
    return open.apply(this, given);
  };
});
afterEach(() => {
  Object.assign(Sealer.prototype, { open });
});

/** How many sealed values this opens. */
async function opens(work: () => Promise<unknown>): Promise<number> {
  opened = 0;
  await work();
  return opened;
}

const PROGRESS = { do: "progress", message: "half" };
const HOUR = 3_600_000;
const LIMITED = tasksOf(env)!({ name: "anonymous", scopes: ["durable:*"] }, async () => {});

test("a poll opens nothing where nothing has changed, and one value at most where something has", async () => {
  const id = await planned(PROGRESS, ELICIT);
  await until(id, "input_required");
  expect(await opens(() => taskOf(id))).toBe(0);
  expect(await opens(() => LIMITED.get(id))).toBe(0);
  await updateTask(id, { ask_1: accept("Ada") });
  await until(id, "completed");
  expect(await opens(() => taskOf(id))).toBe(0);
});

test("the first poll of an object that was evicted opens what it shows", async () => {
  const id = await planned(NIGHT);
  await alarmIn(id, 10 * HOUR);
  await evictDurableObject(objectOf(id));
  expect(await opens(() => taskOf(id))).toBe(1);
  expect(await opens(() => taskOf(id))).toBe(0);
  expect(await opens(() => LIMITED.get(id))).toBe(1);
});

test("a large text is opened each time: an object that nobody calls must stay small", async () => {
  const id = await planned({ ...ELICIT, message: "Who? ".repeat(1000) });
  await until(id, "input_required");
  expect(await opens(() => taskOf(id))).toBe(1);
  expect(await opens(() => taskOf(id))).toBe(1);
});
