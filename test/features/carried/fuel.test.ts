import { describe, expect, test } from "vitest";
import { beginTool, goOn, limited, prepare, textIn, type Json } from "../../worker/calls/client.ts";
import { answersTo } from "../../worker/calls/faults.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";

/** The fuel that all runs of one call share which its client carries. */
prepare();

const TOO_LONG = /too long in all runs of this call together/;
const many = (step: Json) => Array.from({ length: 60 }, () => step);
/** Room for any one of the runs below, but not for all of them together. */
const scarce = { callTanks: 0.01, sleepInPlaceMs: 0 };

/** Answers whatever a call asks by rounds, until it has a result. */
async function ended(tool: string, args: Json): Promise<string> {
  const round = await beginTool(tool, args);
  for (;;) {
    const answer = await goOn(round, answersTo(round.requests));
    if (answer.result?.["resultType"] !== "input_required") return textIn(answer);
    round.state = answer.result["requestState"];
    round.requests = answer.result["inputRequests"];
  }
}

describe("a servlet that computes for too long in many short runs is stopped", () => {
  test("in a call that its client carries", async () => {
    limited(scarce);
    expect(await ended("plan", steps(...many(ELICIT)))).toMatch(TOO_LONG);
  });

  test("in a call that its client carries, by a servlet that returns what it asks", async () => {
    // The first instance of an isolate is started with this fuel, too.
    await beginTool("rounds", { rounds: 1 });
    limited({ ...scarce, callTanks: 0.00017 });
    expect(await ended("rounds", { rounds: 60 })).toMatch(TOO_LONG);
  });
});
