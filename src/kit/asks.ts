import { hostFor } from "./host.ts";
import { RpcError } from "./run.ts";
import type { InputRequest } from "./types.ts";

type Json = Record<string, unknown>;

/** The host's report of a request without a usable answer. */
interface Failure {
  failed: AskError["reason"];
  method: InputRequest["method"];
  message: string;
  requiredCapabilities?: Json;
}

/** The host's answer to a request. */
export type AskAnswer = { result: Json } | Failure;

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes */
const [MISSING_CAPABILITY, INTERNAL_ERROR] = [-32021, -32603];

/**
 * Thrown when a request to the client has no usable answer. A user's decision to decline or cancel is a result, not an error.
 * If a tool does not catch it, the call's result is an error with this message or, with `data`, the protocol's error for a
 * client that lacks a capability.
 *
 * @example
 * try {
 *   return (await context.roots()).length;
 * } catch (error) {
 *   if (!(error instanceof AskError) || error.reason !== "cannot-ask") throw error;
 *   return "Your client has no folders.";
 * }
 */
export class AskError extends RpcError {
  override name = "AskError";
  declare readonly data: { requiredCapabilities: Json } | undefined;
  /**
   * `cannot-ask`: the client does not support the request. `client-error`: it answered with an error.
   * `unusable-answer`: its answer does not match the request.
   */
  declare readonly reason: "cannot-ask" | "client-error" | "unusable-answer";
  declare readonly method: InputRequest["method"];
  /** The answers to the other requests that were made at the same time. */
  declare readonly answers: Readonly<Record<string, Json>>;

  constructor(
    { failed: reason, method, message, requiredCapabilities }: Failure,
    answers: Record<string, Json> = {},
  ) {
    if (requiredCapabilities) super(MISSING_CAPABILITY, message, { requiredCapabilities });
    else super(INTERNAL_ERROR, message);
    Object.assign(this, { reason, method, answers });
  }
}

/** Sends requests to the client; `what` names the function in messages. */
export const ask = (what: string, requests: object): unknown =>
  JSON.parse(hostFor(what).call("ask_client", JSON.stringify(requests)));

/** Sends one request to the client. Throws an `AskError` if it fails. */
export const requestOne = (method: InputRequest["method"], params: object): Json =>
  resultsOf({ one: ask(method, { method, params }) as AskAnswer })["one"]!;

/** Replaces the answers by their results, in place. Throws the first failure as an `AskError`. */
export function resultsOf(answers: Record<string, AskAnswer | Json>): Record<string, Json> {
  let failure: Failure | undefined;
  for (const key of Object.keys(answers)) {
    const answer = answers[key] as AskAnswer;
    if ("result" in answer) {
      answers[key] = answer.result;
    } else {
      failure ??= answer;
      delete answers[key];
    }
  }
  if (failure) throw new AskError(failure, answers as Record<string, Json>);
  return answers as Record<string, Json>;
}
