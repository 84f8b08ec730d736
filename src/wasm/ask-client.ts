import { limits } from "../limits.ts";
import type { Answer, Answers, Ask, Asks } from "../asks.ts";
import { wrongForm } from "../schema/forms.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Sends these requests to the client, all at once, and records the answers. */
export async function askClient(guest: Guest, asks: Asks): Promise<Answers> {
  if (Object.keys(asks).length === 0) return {};
  const what = Object.values(asks)
    .map(({ method }) => method)
    .join(", ");
  const live = async () =>
    JSON.stringify(await guest.wait((signal) => guest.setup.ask(asks, signal)));
  const details = JSON.stringify(asks);
  guest.pay(details.length * limits.formFuel);
  const wrong = wrongForm(asks, (states) => guest.pay(states * limits.patternStateFuel));
  if (wrong !== undefined) throw new GuestError(`The servlet asked for input, but ${wrong}.`);
  const answer = await guest.answer({ what, details }, live);
  const answers = JSON.parse(answer) as Answers;
  for (const [key, { method }] of Object.entries(asks)) logAnswer(guest, method, answers[key]);
  return answers;
}

/** Logs a request that failed, or that the user declined or cancelled. */
function logAnswer(guest: Guest, method: Ask["method"], answer: Answer | undefined): void {
  if (answer === undefined) return;
  if ("failed" in answer) guest.log("warn", `${method}: ${answer.failed}: ${answer.message}`);
  else if (answer.result["action"] === "decline") guest.log("info", `${method}: decline`);
  else if (answer.result["action"] === "cancel") guest.log("info", `${method}: cancel`);
}
