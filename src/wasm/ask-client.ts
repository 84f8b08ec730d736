import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Answer, Answers, Ask, Asks } from "../core/asks.ts";
import { sentAsks, wrongElicitation } from "../schema/elicitations.ts";
import { Wait } from "../core/suspension.ts";
import { inSpan } from "../observe/spans.ts";
import { GuestError, type Guest } from "./guest.ts";

/**
 * Sends these requests of a guest to the client, all at once, and records the answers. Throws a `GuestError` where an
 * elicitation cannot be used.
 */
export async function askClient(guest: Guest, asks: Asks): Promise<Answers> {
  guest.pay(JSON.stringify(asks).length * limits.formFuel);
  const spend = (states: number) => guest.pay(states * limits.patternStateFuel);
  const wrong = wrongElicitation(asks, spend);
  if (wrong !== undefined) throw new GuestError(`The servlet asked for input, but ${wrong}.`);
  return sendAsks(guest, asks, sentAsks(asks));
}

/** Sends checked requests; the journal knows them as the guest has made them. */
export async function sendAsks(guest: Guest, asks: Asks, sent = asks): Promise<Answers> {
  if (Object.keys(asks).length === 0) return {};
  const what = Object.values(asks)
    .map(({ method }) => method)
    .join(", ");
  const live = async () => JSON.stringify(await inAskSpan(guest, sent));
  const details = JSON.stringify(asks);
  const answer = await guest.answer({ what, details }, live);
  const answers = JSON.parse(answer) as Answers;
  for (const [key, { method }] of Object.entries(asks)) logAnswer(guest, method, answers[key]);
  return answers;
}

/** https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#client */
function inAskSpan(guest: Guest, sent: Asks): Promise<Answers> {
  const all = Object.values(sent);
  const start = () => {
    const method = all[0]?.method ?? "";
    const attributes = { "mcp.method.name": method, "edge_servlets.asks": all.length };
    return { name: method, attributes };
  };
  return inSpan(guest.setup.trace, start, async (span) => {
    try {
      const answers = await guest.wait((signal) => guest.setup.ask(sent, signal));
      const failure = Object.values(answers).find((answer) => "failed" in answer);
      if (failure && "failed" in failure) span.set({ "error.type": failure.failed });
      return answers;
    } catch (error) {
      const isLater = error instanceof Wait;
      span.set(
        isLater ? { "edge_servlets.outcome": "waits" } : { "error.type": Fault.from(error).code },
      );
      throw error;
    }
  });
}

/** Logs a request that failed, or that the user declined or cancelled. */
function logAnswer(guest: Guest, method: Ask["method"], answer: Answer | undefined): void {
  if (answer === undefined) return;
  if ("failed" in answer) guest.log("warn", `${method}: ${answer.failed}: ${answer.message}`);
  else if (answer.result["action"] === "decline") guest.log("info", `${method}: decline`);
  else if (answer.result["action"] === "cancel") guest.log("info", `${method}: cancel`);
}
