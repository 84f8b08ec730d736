/** Askers that interrupt a call until its client answers. */
import type { Answers, AskFailure, Asker, Asks } from "../core/asks.ts";
import type { CallContext, ClientDescription } from "../core/call-context.ts";
import { asksByViews, withoutView } from "../core/views.ts";
import { Wait } from "../core/suspension.ts";
import type { Recorded } from "../core/record.ts";
import { mapValues } from "../core/values.ts";
import { fittingAnswers, isComplete, unaskable } from "./answers.ts";

/** An asker that interrupts the call until its client answers, unless the client supports none of the asks. */
export function sessionAsker(client: ClientDescription): Asker {
  return async (asks) => {
    const given = sessionFailures(asks, client);
    if (Object.keys(given).length === Object.keys(asks).length) return given;
    throw new Wait({ kind: "input", asks: asksFor(client, asks), given });
  };
}

/** The asks for this client: without views, unless it lets views answer. */
const asksFor = ({ capabilities }: ClientDescription, asks: Asks): Asks =>
  asksByViews(capabilities) ? asks : mapValues(asks, withoutView);

/** A failure for each ask that a session's client does not support. None ends the call. */
export const sessionFailures = (
  asks: Asks,
  client: ClientDescription,
): Record<string, AskFailure> =>
  mapValues(unaskable(asks, client), (failure) => {
    const { requiredCapabilities: _, ...rest } = failure;
    return rest;
  });

/**
 * An asker that interrupts the call until its client answers. It first uses the answers that the client sent in
 * advance, each once, but never for a consent: the user had not seen the question. If the client does not support one
 * of the asks, it gets none of them.
 */
export function inputAsker({
  client,
  input,
  recorded,
}: Pick<CallContext, "client" | "input" | "recorded">): Asker {
  const responses = input?.unasked === true ? input.responses : {};
  const used = new Set(input?.unasked && recorded && usedBefore(responses, recorded));
  return (asks) => {
    const failures = unaskable(asks, client);
    if (Object.keys(failures).length > 0) return Promise.resolve(failures);
    const isUsable = (key: string) => !used.has(key) && asks[key]?.isConsent !== true;
    const unused = Object.fromEntries(Object.entries(responses).filter(([key]) => isUsable(key)));
    const given = fittingAnswers(asks, unused, Date.now());
    for (const key of Object.keys(given)) used.add(key);
    if (isComplete(asks, given)) return Promise.resolve(given);
    return Promise.reject(new Wait({ kind: "input", asks: asksFor(client, asks), given }));
  };
}

/** Labels of journal entries for asks and tool calls. */
const ASKS = /^(elicitation|sampling|roots)\//;
const CALLS = /^call /;

/**
 * The keys of answers that earlier runs may have used: all of them once the call has called tools, whose use of answers
 * is not recorded.
 */
function usedBefore(responses: Answers, { entries, inner }: Recorded): string[] {
  if (inner !== undefined || entries.some(({ what }) => CALLS.test(what)))
    return Object.keys(responses);
  const asked = entries.filter(({ what }) => ASKS.test(what));
  return asked.flatMap(({ answer }) => Object.keys(JSON.parse(answer)));
}
