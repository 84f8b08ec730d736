/** How does a guest call tools of other servlets? */
import type { CalledTools } from "../core/call-context.ts";
import { stringBytes } from "../core/text.ts";
import { isObject } from "../core/model.ts";
import { Wait } from "../core/suspension.ts";
import type { ToolAnswer, ToolCall, ToolCalls } from "../core/tool-calls.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Fuel for each byte of arguments, which are checked. */
const ARGUMENT_FUEL = 100;

/**
 * Makes these calls together: `{name, arguments}`, or several under keys of the guest's own. Gives their answers, or the one
 * answer, and records them as one.
 */
export async function callTools(guest: Guest, block: bigint): Promise<bigint> {
  const given = guest.json(block, "call_tool");
  const isOne = typeof given["name"] === "string";
  const asked = Object.entries(isOne ? { one: given } : given).map(
    ([key, one]) => [key, toolCallIn(one)] as const,
  );
  const calls: ToolCalls = Object.fromEntries(asked);
  const details = JSON.stringify(calls);
  guest.pay(stringBytes(details) * ARGUMENT_FUEL);
  const names = Object.values(calls).map(({ name }) => name.slice(0, 100));
  const what = `call ${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}`;
  const recorded = await guest.answer({ what, details }, () => called(guest, calls));
  const answers = JSON.parse(recorded) as Record<string, ToolAnswer>;
  return guest.put(isOne ? JSON.stringify(answers["one"]) : recorded);
}

function toolCallIn(given: unknown): ToolCall {
  const { name, arguments: args = {} } = isObject(given) ? given : {};
  if (typeof name === "string" && isObject(args)) return { name, arguments: args };
  throw new GuestError(
    "call_tool expects the name of a tool and an object of arguments, or several such calls.",
  );
}

/** The answers, as JSON. What the calls have computed counts as computed by this guest. */
async function called(guest: Guest, calls: ToolCalls): Promise<string> {
  const { setup, journal, budget } = guest;
  const { callTools: call } = setup;
  if (call === undefined) return JSON.stringify(Object.fromEntries(refusals(calls)));
  const asked = {
    ...{ calls, at: journal.position, seed: await journal.callSeed(), time: journal.now },
    ...{ fuel: guest.fuelMeter!.left, waitMs: budget.leftMs },
  };
  const outcome = await guest.wait<CalledTools>((signal) => call(asked, signal));
  guest.fuelMeter!.payCounted(outcome.fuelUsed);
  if ("reason" in outcome) throw new Wait(outcome.reason);
  journal.comesAfter(outcome.time);
  return JSON.stringify(outcome.answers);
}

const refusals = (calls: ToolCalls) =>
  Object.keys(calls).map((key): [string, ToolAnswer] => [
    key,
    {
      failed: "not-allowed",
      message:
        "The servlet may not call tools of other servlets: name them in `may_call` in its servlet.json.",
    },
  ]);
