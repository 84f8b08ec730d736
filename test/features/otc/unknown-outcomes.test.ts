import { afterEach, describe, expect, test } from "vitest";
import { call as callOtc, serverOf, valueOf } from "./client.ts";
import { CallRecord } from "../../worker/index.ts";
import { prepare } from "../../worker/calls/client.ts";
import { newWorld } from "../../worker/calls/faults.ts";
import { steps } from "../../worker/calls/plans.ts";
import { linesOf, PAY } from "../../worker/calls/retry-steps.ts";
import { instead } from "../../worker/mcp/legacy/session-faults.ts";

/** Calls that may have run without a response: their callers learn it. */
prepare();

const { fetch } = globalThis;
const undo: (() => void)[] = [];
afterEach(() => {
  globalThis.fetch = fetch;
  for (const one of undo.splice(0)) one();
});

const UNKNOWN = /^Internal error\. .* outcome is unknown/;

/** The method does what it does, and its reply is lost so many times; gives the ids of its objects. */
function loseReplies(of: object, method: string, times = Infinity): Set<string> {
  const ids = new Set<string>();
  let lost = 0;
  const work: Parameters<typeof instead>[2] = async ({ plain, args, state }) => {
    const reply = await plain(...args);
    ids.add(state.id.toString());
    if (++lost <= times) throw new Error("the connection is cut");
    return reply;
  };
  undo.push(instead(of, method, work));
  return ids;
}

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
