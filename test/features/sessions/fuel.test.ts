import { describe, expect, test } from "vitest";
import { accept, limited, prepare, type Json } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { Events } from "../../worker/mcp/legacy/session-client.ts";
import { begin } from "../../worker/mcp/legacy/session-steps.ts";

/** The fuel that all runs of one call share in a session. */
prepare();

const TOO_LONG = /too long in all runs of this call together/;
const many = (step: Json) => Array.from({ length: 60 }, () => step);
/** Room for any one of the runs below, but not for all of them together. */
const scarce = { callTanks: 0.01, sleepInPlaceMs: 0 };

describe("a servlet that computes for too long in many short runs is stopped", () => {
  test("in a session", async () => {
    limited(scarce);
    const client = await begin();
    const events = new Events(await client.call("plan", steps(...many(ELICIT))));
    let message = await events.message();
    while ("method" in message) {
      await client.answer(message["id"], accept("Ada"));
      message = await events.message();
    }
    expect(message["result"].content[0].text).toMatch(TOO_LONG);
  });
});
