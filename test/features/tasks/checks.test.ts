import { describe, expect, test } from "vitest";
import { accept, prepare } from "../../worker/calls/client.ts";
import { updateTask } from "../../worker/calls/faults.ts";
import { planned as plannedTask, until } from "../../worker/calls/task-steps.ts";
import { ALMOST, form, refusedForms } from "../../worker/calls/hostile-forms.ts";

/** Forms whose answers take long to check. */
prepare();

describe("a user's answer to a form", () => {
  test.each(refusedForms)("%s, in a task", async (_, schema, message) => {
    const id = await plannedTask(form(schema));
    await until(id, "input_required");
    const { error } = await updateTask(id, { a: accept(ALMOST) });
    expect(error?.message).toMatch(message);
  });
});
