import { describe, expect, test } from "vitest";
import { accept, goOn, prepare } from "../../worker/calls/client.ts";
import { planned } from "../../worker/calls/plans.ts";
import { ALMOST, form, refusedForms } from "../../worker/calls/hostile-forms.ts";

/** Forms whose answers take long to check. */
prepare();

describe("a user's answer to a form", () => {
  test.each(refusedForms)("%s, in a request", async (_, schema, message) => {
    const { error } = await goOn(await planned(form(schema)), { a: accept(ALMOST) });
    expect(error?.message).toMatch(message);
  });
});
