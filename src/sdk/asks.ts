import { hostFor } from "./host.ts";
import type { InputRequest } from "./types.ts";

type Json = Record<string, unknown>;

/** What the host gives for a request. */
export type AskAnswer = { result: Json } | Failure;

interface Failure {
  failed: AskError["reason"];
  method: InputRequest["method"];
  message: string;
  requiredCapabilities?: Json;
}

/**
 * Thrown where a request to the client has no usable answer. Nobody has decided anything: what a user
 * declines or cancels is a result. Unless a tool handles it, the call's result is this message as an
 * error; or, with `requiredCapabilities`, the protocol's error that names them.
 */
export class AskError extends Error {
  override name = "AskError";
  /**
   * `cannot-ask`: the client does not support the request. `client-error`: it answered with an error.
   * `unusable-answer`: its answer does not fit the request.
   */
  readonly reason: "cannot-ask" | "client-error" | "unusable-answer";
  readonly method: InputRequest["method"];
  /** What the client would have to declare, where the protocol has an error for that. */
  readonly requiredCapabilities: Json | undefined;
  /** The answers to other requests that were made together with this one. */
  readonly answers: Readonly<Record<string, Json>>;

  constructor(
    { failed, method, message, requiredCapabilities }: Failure,
    answers: Record<string, Json> = {},
  ) {
    super(message);
    this.reason = failed;
    this.method = method;
    this.requiredCapabilities = requiredCapabilities;
    this.answers = answers;
  }
}

function ask(what: string, requests: object): unknown {
  return JSON.parse(hostFor(what).call("ask_client", JSON.stringify(requests)));
}

/** Asks the client for one thing. Throws an `AskError` where that fails. */
export function askOne(method: InputRequest["method"], params: object): Json {
  return resultsOf({ one: ask(method, { method, params }) as AskAnswer })["one"]!;
}

/** Asks the client for several things; the results come under the same keys. */
export const askAll = (requests: Record<string, InputRequest>): Record<string, Json> =>
  resultsOf(ask("requestInput()", requests) as Record<string, AskAnswer>);

/** The results of answers. Throws the first failure as an `AskError`. */
export function resultsOf(answers: Record<string, AskAnswer>): Record<string, Json> {
  const entries = Object.entries(answers);
  const results = Object.fromEntries(
    entries.flatMap(([key, answer]) => ("result" in answer ? [[key, answer.result]] : [])),
  ) as Record<string, Json>;
  for (const [, answer] of entries) if ("failed" in answer) throw new AskError(answer, results);
  return results;
}
