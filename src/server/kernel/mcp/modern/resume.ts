/** Requests that answer a call's asks. https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr */
import { demandCapabilities, responsesIn } from "../../asks/answers.ts";
import type { Waiting } from "../../calls/engine.ts";
import { Fault } from "../../core/errors.ts";
import type { Json } from "../../core/model.ts";
import {
  canAsk,
  type WaitingRequest,
  type Exchange,
  type FoundRequest,
  type RunInput,
} from "../method.ts";

/** True for a request that resumes a call or carries `inputResponses`. */
export const resumes = ({ requestState, inputResponses }: Json): boolean =>
  requestState !== undefined || inputResponses !== undefined;

/** Reads `requestState` and `inputResponses`, and continues the call with `run`. Throws `invalid_params`. */
export async function resume(
  request: FoundRequest,
  exchange: Exchange,
  run: (runInput: RunInput) => Promise<Json>,
): Promise<Json> {
  const { requestState: sealed, inputResponses: given } = request.params;
  if (!canAsk(request.row)) return run({ rounds: 0 });
  const responses = given === undefined ? {} : responsesIn(given);
  if (sealed === undefined) return run({ rounds: 0, input: { responses, unasked: true } });
  if (typeof sealed !== "string") throw stateRefused("is not a string");
  if (exchange.carried === undefined) throw stateRefused("was altered or has expired", CHECK);
  return exchange.carried.resume({ ...request, sealed, responses }, exchange, run);
}

/** The result that asks the client for input. Throws `missing_capability`, `servlet_failed`. */
export async function askClient(
  waiting: Waiting,
  of: WaitingRequest,
  exchange: Exchange,
): Promise<Json> {
  const { reason } = waiting;
  if (reason.kind !== "input" || !canAsk(of.request.row)) {
    throw new Fault(
      "servlet_failed",
      "The servlet asked for input in a request that cannot carry any. Use tools/call, prompts/get or resources/read.",
    );
  }
  demandCapabilities(reason.asks, of.call.client);
  if (exchange.carried !== undefined)
    return exchange.carried.ask(waiting as Waiting<"input">, of, exchange);
  throw new Fault(
    "servlet_failed",
    "The servlet asks for input, but this server cannot store its call. Add the bindings KEY_RING and STATES to wrangler.toml.",
  );
}

/** The advice if the call may have continued with an earlier answer. */
export const CHECK = "Check what the call has done before you call again without it.";

/** The fault of a rejected `requestState`, with what to do instead. */
export const stateRefused = (why: string, advice = "Call again without it.") =>
  new Fault("invalid_params", `params.requestState ${why}. ${advice}`);
