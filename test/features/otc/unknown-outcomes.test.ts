import { describe, expect, test } from "vitest";
import { call as callOtc, serverOf, valueOf } from "./client.ts";
import { CallRecord } from "../../worker/index.ts";
import { prepare } from "../../worker/calls/client.ts";
import { newWorld } from "../../worker/calls/faults.ts";
import { steps } from "../../worker/calls/plans.ts";
import { linesOf, PAY } from "../../worker/calls/retry-steps.ts";
import { losableReplies } from "../../worker/mcp/legacy/lost-replies.ts";

/** Calls that may have run without a response: their callers learn it. */
prepare();

const loseReplies = losableReplies();

const UNKNOWN = /^Internal error\. .* outcome is unknown/;

describe("a call of Open Tool Calling whose response is lost on its way from the record", () => {
  const server = serverOf();
  const send = (call_id: string) => callOtc("durable.plan", steps(PAY), { call_id }, server);

  test("is answered all the same, and sends nothing twice", async () => {
    const world = newWorld();
    loseReplies(CallRecord.prototype, "run", 2);
    expect(valueOf(await send("lost twice"))).toMatchObject({ said: [[200, expect.any(String)]] });
    expect(linesOf(world)).toEqual(["POST /pay"]);
  });

  test("again and again, says that its outcome is unknown", async () => {
    const world = newWorld();
    loseReplies(CallRecord.prototype, "run");
    expect((await send("lost for good"))["message"]).toMatch(UNKNOWN);
    expect(linesOf(world)).toEqual(["POST /pay"]);
  });
});
