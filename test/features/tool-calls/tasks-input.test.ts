// @module-tag tasks
import { expect, test } from "vitest";
import { accept, prepare, send } from "../../worker/calls/client.ts";
import { updateTask, withTasks } from "../../worker/calls/faults.ts";
import { HOUR, saidIn, steps } from "../../worker/calls/plans.ts";
import { later, ring, until } from "../../worker/calls/task-steps.ts";

prepare();

test("answers that came before they were asked are used once, also by a tool that a task calls", async () => {
  const asking = { do: "inputs", keys: ["a"] };
  const inside = { do: "call", calls: [{ tool: "plan", args: steps(asking) }] };
  const call = {
    name: "plan_always",
    arguments: steps(inside, { do: "sleep", ms: HOUR }, asking),
    inputResponses: { a: accept("early") },
  };
  const { taskId } = (await send("tools/call", call, withTasks)).result!;
  await later(taskId, HOUR);
  await until(taskId, "input_required");
  await updateTask(taskId, { a: accept("asked") });
  await ring(taskId, 0);
  const said = JSON.stringify(saidIn(await until(taskId, "completed")));
  expect(said).toMatch(/early.*slept.*asked/);
});
