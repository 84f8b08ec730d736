/** Requests that servlets make to the client during a call, and the answers. */
import type { Json } from "./model.ts";

/** An MCP request that a servlet makes to the client during a call. */
export interface Ask {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params: Json;
  /** How long the user has to answer, from when the client can see it. */
  timeoutMs?: number;
  /** Unix time in ms after which the user has cancelled; absent until the client can see the ask. */
  deadline?: number;
  /** True for the server's own request for consent: answers sent before the question do not count. */
  isConsent?: true;
}

/** Elicitation modes that the server answers itself: with a stored secret or a connected account, or by a page. */
export const SECRET_MODE = "secret";
export const ACCOUNT_MODE = "account";

export const isAskMethod = (method: unknown): method is Ask["method"] =>
  method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";

/** A client's answer, or the reason why there is no usable one. */
export type Answer = { result: Json } | AskFailure;

/**
 * The failure of a request without a usable answer. It is never the user's decision: `decline` and `cancel` are
 * results.
 */
export interface AskFailure {
  failed: "cannot-ask" | "client-error" | "unusable-answer";
  method: Ask["method"];
  /** For the servlet and its caller. */
  message: string;
  /**
   * The capabilities that the client lacks. If present and the servlet does not handle the failure, the call
   * ends with `missing_capability`.
   */
  requiredCapabilities?: Json;
}

/** Requests made together, and their answers, under the same keys. */
export type Asks = Readonly<Record<string, Ask>>;
export type Answers = Readonly<Record<string, Answer>>;

/**
 * Answers a guest's requests to the client. Rejects with a `Fault` that ends the call, with a `Wait` that interrupts
 * it, and soon after `signal` aborts.
 */
export type Asker = (asks: Asks, signal: AbortSignal) => Promise<Answers>;

/**
 * Answers an elicitation in place of the client, by its params: a stored secret, a connected account, or the page for
 * it. Rejects soon after `signal` aborts.
 */
export type LookUp = (params: Json, signal: AbortSignal) => Promise<Answer>;
