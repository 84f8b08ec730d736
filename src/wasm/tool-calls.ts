/** How does a guest call tools of other servlets? */
import type { Answers, Asks } from "../core/asks.ts";
import type { CalledTools } from "../core/call-context.ts";
import { stringBytes } from "../core/text.ts";
import { isObject } from "../core/model.ts";
import { Wait } from "../core/suspension.ts";
import type { ToolAnswer, ToolCall, ToolCallReason, ToolCalls } from "../core/tool-calls.ts";
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
  const refusal =
    guest.setup.confirmsCalls === true && (await declined(guest, { what, details, calls }));
  const recorded = refusal
    ? JSON.stringify(refusals(calls, "declined", refusal))
    : await guest.answer({ what, details }, () => called(guest, calls));
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

/**
 * Has the user allow what they must, in one question for all calls. Gives why they may not be made; "" if they may. Each question
 * is recorded, also one that need not be put: whether it must be may change before a run is repeated.
 */
async function declined(
  guest: Guest,
  { what, details, calls }: { what: string; details: string; calls: ToolCalls },
): Promise<string> {
  const recorded = await guest.answer({ what: `allow ${what}`, details }, async () => {
    const outcome = await outcomeOf(guest, calls, { isTrial: true });
    if (outcome === undefined || !("question" in outcome)) return "{}";
    const params = {
      message: outcome.question,
      requestedSchema: { type: "object", properties: {} },
    };
    const asks: Asks = { allow: { method: "elicitation/create", params } };
    return JSON.stringify(await guest.wait((signal) => guest.setup.ask(asks, signal)));
  });
  const { allow } = JSON.parse(recorded) as Answers;
  if (allow === undefined) return "";
  if ("failed" in allow) return `The user could not be asked whether to allow it: ${allow.message}`;
  return allow.result["action"] === "accept" ? "" : "The user has not allowed it.";
}

/** Undefined where the servlet may call no tools. */
async function outcomeOf(
  guest: Guest,
  calls: ToolCalls,
  how: { isTrial?: true } = {},
): Promise<CalledTools | undefined> {
  const { setup, journal, budget } = guest;
  const { callTools: call } = setup;
  if (call === undefined) return undefined;
  const asked = {
    ...{ calls, at: journal.position, seed: await journal.callSeed(), time: journal.now },
    ...{ fuel: guest.fuelMeter!.left, waitMs: budget.leftMs, ...how },
  };
  return guest.wait<CalledTools>((signal) => call(asked, signal));
}

/** The answers, as JSON. What the calls have computed counts as computed by this guest. */
async function called(guest: Guest, calls: ToolCalls): Promise<string> {
  const { journal } = guest;
  const outcome = await outcomeOf(guest, calls);
  if (outcome === undefined || !("reason" in outcome || "answers" in outcome))
    return JSON.stringify(
      refusals(
        calls,
        "not-allowed",
        "The servlet may not call tools of other servlets: name them in `may_call` in its servlet.json.",
      ),
    );
  guest.fuelMeter!.payCounted(outcome.fuelUsed);
  if ("reason" in outcome) throw new Wait(outcome.reason);
  journal.comesAfter(outcome.time);
  return JSON.stringify(outcome.answers);
}

const refusals = (calls: ToolCalls, failed: ToolCallReason, message: string) =>
  Object.fromEntries(
    Object.keys(calls).map((key): [string, ToolAnswer] => [key, { failed, message }]),
  );
