/** Calls of a guest to tools of other servlets. */
import type { CallBatch, CalledTools, Confirmation } from "../core/call-context.ts";
import { beginningOf, stringBytes } from "../core/text.ts";
import { isObject } from "../core/model.ts";
import { Wait } from "../core/suspension.ts";
import type { ToolAnswer, ToolCall, ToolCallReason, ToolCalls } from "../core/tool-calls.ts";
import { mapValues } from "../core/values.ts";
import { sendAsks } from "./ask-client.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Fuel for each call, which includes looking up its tool, and for each byte of its arguments, which are checked. */
const CALL_FUEL = 100_000;
const ARGUMENT_FUEL = 100;

/**
 * Makes these calls together: `{name, arguments}`, or several under keys that the guest chose. Returns their answers,
 * or the one answer, and records them as one.
 */
export async function callTools(guest: Guest, block: bigint): Promise<bigint> {
  const given = guest.json(block, "call_tool");
  const isOne = typeof given["name"] === "string";
  const calls: ToolCalls = mapValues(isOne ? { one: given } : given, toolCallIn);
  const asked = Object.values(calls);
  const details = JSON.stringify(calls);
  guest.pay(asked.length * CALL_FUEL + stringBytes(details) * ARGUMENT_FUEL);
  const names = asked.slice(0, 3).map(({ name }) => beginningOf(name, 100));
  const what = `call ${names.join(", ")}${asked.length > 3 ? ", …" : ""}`;
  const question = { what, details };
  const { refusal, allowed } =
    guest.setup.confirmsCalls === true ? await confirmed(guest, calls, question) : {};
  const recorded =
    refusal === undefined
      ? await guest.answer(question, () => called(guest, calls, allowed))
      : JSON.stringify(refusals(calls, "declined", refusal));
  const answers = JSON.parse(recorded) as Record<string, ToolAnswer>;
  for (const [key, answer] of Object.entries(answers)) {
    // The tool may have become destructive.
    if ("failed" in answer && answer.failed === "declined") guest.unasked.delete(calls[key]!.name);
  }
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
 * Asks the user for consent, in one question for all calls that need it. Returns what the user has allowed, or why
 * nothing may be called. The calls that need consent are recorded: they may change before a run is repeated, and before
 * the user answers. Tools that need no consent are remembered as such, and checked again when called.
 */
async function confirmed(
  guest: Guest,
  calls: ToolCalls,
  { what, details }: { what: string; details: string },
): Promise<{ refusal?: string; allowed?: Confirmation["servlets"] }> {
  if (Object.values(calls).every(({ name }) => guest.unasked.has(name))) return {};
  const recorded = await guest.answer({ what: `allow ${what}`, details }, async () => {
    const outcome = await outcomeOf(guest, calls, { isTrial: true });
    return JSON.stringify(outcome && "question" in outcome ? outcome : NOTHING_TO_ALLOW);
  });
  const { question, servlets, unasked } = JSON.parse(recorded) as Confirmation;
  for (const name of unasked) guest.unasked.add(name);
  if (question === "") return {};
  const params = { message: question, requestedSchema: { type: "object", properties: {} } };
  const asked = { method: "elicitation/create", params } as const;
  const { allow } = await sendAsks(
    guest,
    { allow: asked },
    { allow: { ...asked, isConsent: true } },
  );
  if (allow !== undefined && "failed" in allow)
    return { refusal: `The user could not be asked whether to allow it: ${allow.message}` };
  if (allow?.result["action"] !== "accept") return { refusal: "The user has not allowed it." };
  return { allowed: servlets };
}

const NOTHING_TO_ALLOW: Confirmation = { question: "", servlets: {}, unasked: [] };

/** The outcome of the calls; undefined if the servlet may call no tools. */
async function outcomeOf(
  guest: Guest,
  calls: ToolCalls,
  how: Pick<CallBatch, "isTrial" | "allowed">,
): Promise<CalledTools | undefined> {
  const { setup, journal, budget } = guest;
  const { callTools: call } = setup;
  if (call === undefined) return undefined;
  const asked = {
    calls,
    at: journal.position,
    seed: await journal.callSeed(),
    time: journal.now,
    fuel: guest.fuelMeter!.left,
    waitMs: budget.leftMs,
    ...how,
  };
  return guest.wait<CalledTools>((signal) => call(asked, signal));
}

/** The answers, as JSON. Fuel of the calls counts as used by this guest. */
async function called(
  guest: Guest,
  calls: ToolCalls,
  allowed: CallBatch["allowed"],
): Promise<string> {
  const { journal } = guest;
  const outcome = await outcomeOf(guest, calls, { ...(allowed && { allowed }) });
  if (outcome === undefined || "question" in outcome)
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
  mapValues(calls, (): ToolAnswer => ({ failed, message }));
