import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { accept, callOf, limited, prepare, textIn, type Json } from "../../worker/calls/client.ts";
import { beginTask, objectOf, updateTask } from "../../worker/calls/faults.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { NAP, planned, until } from "../../worker/calls/task-steps.ts";

/** The fuel that all runs of one task share. */
prepare();

const TOO_LONG = /too long in all runs of this call together/;
const DOZE = { do: "sleep", ms: 1 };
const many = (step: Json) => Array.from({ length: 60 }, () => step);
/** Room for any one of the runs below, but not for all of them together. */
const scarce = { callTanks: 0.01, sleepInPlaceMs: 0 };

describe("a servlet that computes for too long in many short runs is stopped", () => {
  test("in a task that sleeps", async () => {
    limited(scarce);
    const { result } = await until(await planned(...many(DOZE)), "completed");
    expect(textIn({ status: 200, result })).toMatch(TOO_LONG);
  });

  test("in a task that is asked anew each time", async () => {
    limited({ ...scarce, callTanks: 0.0007 });
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 60, isSilent: true, post });
    const { result } = await until(id, "completed");
    expect(textIn({ status: 200, result })).toMatch(TOO_LONG);
  });
});

test("runs that find no room to wait in use up nothing", async () => {
  limited({ ...scarce, waitingBytes: 1, shortageMs: 5 });
  const other = callOf("plan_never", steps({ do: "sleep", ms: 500 }));
  const id = await planned(NAP);
  expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  await other;
});

test("a task of before, whose fuel was not counted, goes on", async () => {
  const id = await planned(ELICIT);
  await until(id, "input_required");
  await runInDurableObject(objectOf(id), (_task, { storage }) => {
    storage.sql.exec("ALTER TABLE task DROP COLUMN seen");
    storage.sql.exec("ALTER TABLE task DROP COLUMN fuel");
  });
  await evictDurableObject(objectOf(id));
  await updateTask(id, { ask_1: accept("Ada") });
  expect(saidIn(await until(id, "completed"))).toEqual(["Ada"]);
});
