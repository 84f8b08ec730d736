import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  answered,
  Wait,
  type Answers,
  type Asker,
  type Asks,
  type CallContext,
  type Client,
  type Json,
  type Recorded,
  type Suspended,
} from "../model.ts";
import {
  demandCapabilities,
  fittingAnswers,
  inputRequests,
  isComplete,
  responsesIn,
  unaskable,
  unanswered,
} from "./answers.ts";
import type { Exchange } from "./exchange.ts";
import type { Request } from "./message.ts";

/**
 * Calls that go back to their client for input, and go on with the next request: all that they have
 * come to is sealed into the `requestState` that the client brings back.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */

/** Requests that may be answered with `input_required`, and the param that says what they are about. */
const SUBJECT: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** What is sealed. */
interface State {
  /** Digest of what the call was asked to do. */
  call: string;
  principal: string;
  /** Unix time in ms. */
  until: number;
  asks: Asks;
  given: Answers;
  once: boolean;
  /** How often the client was asked. */
  rounds: number;
  recorded?: Recorded;
  /** What the servlet gave along when it returned that it needs input. */
  state?: string;
}

/** What a request brings for the call that it goes on with; or what is still missing. */
export type Resumed =
  | (Pick<CallContext, "input" | "recorded"> & { rounds: number })
  | { missing: Omit<State, "call" | "principal" | "until"> };

/** What the first request of a call brings. */
export const FIRST: Resumed = { rounds: 0 };

/** Is this a request that goes on with a call, or that brings answers to what was not asked yet? */
export const comesBack = ({ requestState, inputResponses }: Json): boolean =>
  requestState !== undefined || inputResponses !== undefined;

/** Reads `requestState` and `inputResponses`. Throws `invalid_params` that says what is wrong with them. */
export async function resume(
  { method, params }: Request,
  { vault, principal }: Exchange,
): Promise<Resumed> {
  const { requestState: sealed, inputResponses: given } = params;
  if (SUBJECT[method] === undefined) return FIRST;
  const responses = given === undefined ? {} : responsesIn(given);
  if (sealed === undefined) return { rounds: 0, input: { responses } };
  if (typeof sealed !== "string") throw refused("is not a string");
  const opened = await vault?.open(sealed);
  if (vault === undefined || opened === undefined) {
    throw refused("was altered, has expired, or was used before");
  }
  const state = JSON.parse(opened) as State;
  if (state.until < Date.now()) throw refused("has expired");
  if (state.principal !== principal.name) throw refused("is another caller's");
  if (state.call !== (await digest(method, params))) throw refused("is of another call");
  const { asks, given: before, recorded, once, rounds, state: own } = state;
  const answers = {
    ...before,
    ...fittingAnswers(unanswered(asks, before), responses, Date.now()),
  };
  if (once && !(await vault.spend(sealed))) throw refused("was used before");
  if (!isComplete(asks, answers)) {
    return {
      missing: {
        asks,
        given: answers,
        once,
        rounds,
        ...(recorded && { recorded }),
        ...(own && { state: own }),
      },
    };
  }
  if (recorded === undefined) {
    return { rounds, input: { responses: answers, ...(own !== undefined && { state: own }) } };
  }
  return { rounds, recorded: answered(recorded, JSON.stringify(answers), Date.now()) };
}

const refused = (why: string) =>
  new Fault("invalid_params", `params.requestState ${why}: call again without it.`);

/** The result that asks the client for input. */
export async function inputRequired(
  { method, params }: Request,
  { vault, principal, keep }: Exchange,
  state: Omit<State, "call" | "principal" | "until">,
): Promise<Json> {
  if (vault === undefined) throw noVault();
  if (state.rounds > limits.inputRounds) {
    throw new Fault(
      "servlet_failed",
      `The servlet has asked ${limits.inputRounds} times in one call.`,
    );
  }
  const until = Date.now() + limits.stateMs;
  const call = await digest(method, params);
  const text = JSON.stringify({ ...state, call, principal: principal.name, until });
  const requestState = await vault.seal(text, { until, once: state.once, keep });
  return {
    resultType: "input_required",
    ...(Object.keys(state.asks).length > 0 && {
      inputRequests: inputRequests(unanswered(state.asks, state.given)),
    }),
    requestState,
  };
}

/** What an interrupted call waits for, if that is its client. Throws where this client cannot be asked. */
export function stateOf(
  { reason, recorded, state, isSingleUse }: Suspended,
  method: string,
  client: Client,
): Omit<State, "call" | "principal" | "until" | "rounds"> {
  if (reason.kind !== "input" || SUBJECT[method] === undefined) {
    throw new Fault("servlet_failed", "The servlet waits for what it cannot be given here.");
  }
  demandCapabilities(reason.asks, client);
  const { asks, given } = reason;
  return { asks, given, once: isSingleUse, ...(recorded && { recorded }), ...(state && { state }) };
}

/**
 * Interrupts the call for its client's answers. Those that came without a state are used, each once.
 * Where the client cannot be asked one of them, it is asked none.
 */
export function roundAsker(client: Client, responses: Answers = {}): Asker {
  const used = new Set<string>();
  return (asks) => {
    const failures = unaskable(asks, client);
    if (Object.keys(failures).length > 0) return Promise.resolve(failures);
    const unused = Object.fromEntries(Object.entries(responses).filter(([key]) => !used.has(key)));
    const given = fittingAnswers(asks, unused, Date.now());
    for (const key of Object.keys(given)) used.add(key);
    if (isComplete(asks, given)) return Promise.resolve(given);
    return Promise.reject(new Wait({ kind: "input", asks, given }));
  };
}

const noVault = () =>
  new Fault(
    "servlet_failed",
    "The servlet asks for input, but this server has no place to keep its call: bind KEY_RING and STATES.",
  );

/** Of what a call is asked to do: later requests of it have another id and `_meta`. */
async function digest(method: string, params: Json): Promise<string> {
  const subject = [method, params[SUBJECT[method]!], params["arguments"] ?? {}];
  const text = JSON.stringify(subject, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(hash).toBase64();
}
