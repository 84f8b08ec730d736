import { describe, expect, test } from "vitest";
import { accept, prepare } from "../../worker/calls/client.ts";
import { begin, planned as plannedInSession } from "../../worker/mcp/legacy/session-steps.ts";
import { ALMOST, form, refusedForms } from "../../worker/calls/hostile-forms.ts";

/** Forms whose answers take long to check. */
prepare();

describe("a user's answer to a form", () => {
  test.each(refusedForms)("%s, in a session", async (_, schema, message) => {
    const client = await begin();
    const events = await plannedInSession(client, form(schema));
    const { id } = await events.message();
    await client.answer(id, accept(ALMOST));
    expect(JSON.stringify(await events.message())).toMatch(message);
  });
});
