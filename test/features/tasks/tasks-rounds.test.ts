import { describe, expect, test, vi } from "vitest";
import { accept, limited, prepare, textIn } from "../../worker/calls/client.ts";
import { beginTask, updateTask } from "../../worker/calls/faults.ts";
import { ELICIT, saidIn } from "../../worker/calls/plans.ts";
import { planned, until } from "../../worker/calls/task-steps.ts";

/** How often servlets go back to their client, some of them with a `requestState` alone. */
prepare();

/** With a request, before which the call becomes a task. */
function silentTask(rounds: number): Promise<string> {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
  const post = "https://world.example/tick";
  return beginTask("rounds_always", { rounds, isSilent: true, post });
}

describe("a servlet that asks for nothing is called again at once", () => {
  test("in a task", async () => {
    const { result } = await until(await silentTask(3), "completed");
    expect(textIn({ status: 200, result })).toBe("nobody and nobody and nobody");
  });

  test("until it has been called too often", async () => {
    limited({ inputRounds: 2 });
    expect(await until(await silentTask(10), "failed")).toMatchObject({
      error: { message: expect.stringMatching(/too often in one call \(limit 2\)/) },
    });
  });
});

test("several questions at once are one round", async () => {
  limited({ inputRounds: 2 });
  const id = await planned({ do: "inputs", keys: ["a", "b", "c"] }, ELICIT);
  await until(id, "input_required");
  await updateTask(id, { a: accept("A"), b: accept("B"), c: accept("C") });
  await until(id, "input_required");
  await updateTask(id, { ask_2: accept("Ada") });
  expect(saidIn(await until(id, "completed")).at(-1)).toBe("Ada");
});
