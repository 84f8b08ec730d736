import { Fault } from "../core/errors.ts";
import type { Answer, Answers, Ask, Asks } from "../core/asks.ts";
import { sentAsks, wrongElicitation } from "../schema/elicitations.ts";
import { limits } from "./limits.ts";
import { shortened, textIn } from "../core/text.ts";
import { viewIn, withoutView, withViewAt } from "../core/views.ts";
import { Wait } from "../core/suspension.ts";
import { mapValues } from "../core/values.ts";
import { inSpan, type Span, type SpanStart } from "../observe/spans.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Fuel for each character of a request to the client, and for each state of its forms' patterns. */
const FORM_FUEL = 200;
const PATTERN_STATE_FUEL = 2000;

/** A guest's requests as they are sent to the client. Throws a `GuestError` if an elicitation cannot be used. */
export function checkedAsks(guest: Guest, asks: Asks): Asks {
  guest.pay(JSON.stringify(asks).length * FORM_FUEL);
  const spend = (states: number) => guest.pay(states * PATTERN_STATE_FUEL);
  const wrong = wrongElicitation(asks, spend);
  if (wrong !== undefined) throw new GuestError(`The servlet asked for input, but ${wrong}.`);
  return withOwnViews(guest, sentAsks(asks));
}

/** Questions without views that are not the servlet's own. */
function withOwnViews(guest: Guest, asks: Asks): Asks {
  return mapValues(asks, (ask) => {
    const named = viewIn(ask.params);
    if (named === undefined) return ask;
    const uri = typeof named === "string" ? guest.setup.viewUri?.(named) : undefined;
    if (uri !== undefined) return withViewAt(ask, uri);
    const shown = JSON.stringify(named).slice(0, 200);
    guest.log(
      "warn",
      `A question names ${shown}, which is no view of this servlet: it goes without.`,
    );
    return withoutView(ask);
  });
}

/**
 * Sends these requests of a guest to the client together, and records the answers; the journal has the requests as the
 * guest made them.
 */
export async function sendAsks(guest: Guest, asks: Asks, sent = asks): Promise<Answers> {
  if (Object.keys(asks).length === 0) return {};
  const what = Object.values(asks)
    .map(({ method }) => method)
    .join(", ");
  const live = () => inSpan(guest.setup.trace, () => askSpan(sent), askIn(guest, sent));
  const details = JSON.stringify(asks);
  const answer = await guest.answer({ what, details, words: wordsOf(guest, sent) }, live);
  const answers = JSON.parse(answer) as Answers;
  for (const [key, { method }] of Object.entries(asks)) logAnswer(guest, method, answers[key]);
  return answers;
}

/** The beginnings of the questions, for people, with secrets redacted. */
function wordsOf(guest: Guest, asks: Asks): string | undefined {
  const all = Object.values(asks).map(({ params }) => textIn(params["message"]));
  const said = all.filter((one) => one !== "").join("; ");
  const most = limits.wordsCharacters;
  return said === "" ? undefined : shortened(guest.hide(said, most + 1), most);
}

/** https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#client */
function askSpan(sent: Asks): SpanStart {
  const all = Object.values(sent);
  const method = all[0]?.method ?? "";
  return {
    name: method,
    attributes: { "mcp.method.name": method, "edge_servlets.asks": all.length },
  };
}

/** Asks the client in a span, which records the outcome. Returns the answers as JSON. */
const askIn =
  (guest: Guest, sent: Asks) =>
  async (span: Span): Promise<string> => {
    try {
      const answers = await guest.wait((signal) => guest.setup.ask(sent, signal));
      const failure = Object.values(answers).find((answer) => "failed" in answer);
      if (failure && "failed" in failure) span.set({ "error.type": failure.failed });
      return JSON.stringify(answers);
    } catch (error) {
      const isLater = error instanceof Wait;
      span.set(
        isLater ? { "edge_servlets.outcome": "waits" } : { "error.type": Fault.from(error).code },
      );
      throw error;
    }
  };

/** Logs a request that failed, or that the user declined or cancelled. */
function logAnswer(guest: Guest, method: Ask["method"], answer: Answer | undefined): void {
  if (answer === undefined) return;
  if ("failed" in answer) guest.log("warn", `${method}: ${answer.failed}: ${answer.message}`);
  else if (answer.result["action"] === "decline") guest.log("info", `${method}: decline`);
  else if (answer.result["action"] === "cancel") guest.log("info", `${method}: cancel`);
}
