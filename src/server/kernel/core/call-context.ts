import type { Answers, Asker, LookUp } from "./asks.ts";
import type { Json, Notification, Principal } from "./model.ts";
import type { Keeper, Recorded } from "./record.ts";
import type { WaitReason } from "./suspension.ts";
import type { ToolAnswer, ToolCalls } from "./tool-calls.ts";
import type { Trace } from "../observe/trace-context.ts";

/**
 * Credentials of the caller for one call. Only its guest sees them; they never reach a log, error, journal or
 * table.
 */
export interface CallCredentials {
  /** By id. */
  secrets: ReadonlyMap<string, string>;
  /** Access tokens, by the id of the authorization. */
  tokens: ReadonlyMap<string, string>;
  userId?: string;
}

/** The client as it describes itself. */
export interface ClientDescription {
  /** The revision of MCP that the client speaks; absent if unknown. */
  protocolVersion?: string;
  capabilities: Json;
  name?: string;
  version?: string;
}

/** The pages of this server on which the user of a call may answer. */
export interface Link {
  /** `https://host` */
  origin: string;
  /** True if the tool has an `outputSchema`. */
  isTyped: boolean;
}

/** Tool calls that a guest makes together, and their share of its budget. */
export interface CallBatch {
  calls: ToolCalls;
  /** The question's position in the guest's journal. */
  at: number;
  /** As in `JournalHead`. */
  seed: string;
  /** The guest's clock, in Unix ms. */
  time: number;
  fuel: number;
  /** How long they may wait. */
  waitMs: number;
  /** True to report which calls need consent, without calling anything. */
  isTrial?: boolean;
  /** The calls that the user has allowed; others that need consent are refused. */
  allowed?: Confirmation["servlets"];
}

/** The calls that need the user's consent. */
export interface Confirmation {
  /** The question that lists the calls; "" if there are none. */
  question: string;
  /** The servlet of each such call, by the call's key. */
  servlets: Readonly<Record<string, string>>;
  /** The tools among these calls that need no consent. */
  unasked: readonly string[];
}

/** The answers, the fuel used, and the time on the calls' clocks; for a trial, the calls that need consent. */
export type CalledTools =
  | ({ fuelUsed: number; time: number } & (
      | { answers: Readonly<Record<string, ToolAnswer>> }
      | { reason: WaitReason }
    ))
  | Confirmation;

/** A call of a host function that a feature adds. */
export interface HostCall {
  name: string;
  /** JSON that the guest chose. */
  payload: unknown;
}

/** The function's result, which is JSON; or why there is none, for the guest. */
export type HostAnswer = { result: unknown } | { failed: string };

/** The nesting of a call that a servlet has made, or whose servlet may make calls. */
export interface CallChain {
  /** Unique path of the call: the places of the calls around it, each followed by a slash, then its own. */
  place: string;
  depth: number;
  /** The stateful servlets among the calls around it, and its own: their states are in use. */
  keeping: readonly string[];
  /** How many more calls may be made within the outermost call, in this run. */
  left: { calls: number };
  /** Asks the client of the outermost call. */
  ask: Asker;
}

/**
 * Functions that a run calls where its call was made. If the guest runs in another object or isolate, each is called by
 * RPC, by its name in `CALL_FUNCTIONS`.
 */
export interface CallFunctions {
  ask: Asker;
  /** The server's own answer to an elicitation; absent before a run has begun. */
  lookUp?: LookUp;
  /** Calls tools of other servlets; absent if the servlet may call none. */
  callTools?(asked: CallBatch, signal: AbortSignal): Promise<CalledTools>;
  /** Calls a host function of a feature. */
  callHost?(asked: HostCall, signal: AbortSignal): Promise<HostAnswer>;
  /**
   * Called before a guest waits for something slow (`ms` if known). Throws a `Wait` if the call should not continue
   * here, a `Fault` if it should not continue at all.
   */
  gate?(ms: number): Promise<void> | void;
  /** Called before an HTTP request that must not be sent twice. */
  sending?(): Promise<void> | void;
}

/** The names of these functions. */
export const CALL_FUNCTIONS = Object.keys({
  ask: "",
  lookUp: "",
  callTools: "",
  callHost: "",
  gate: "",
  sending: "",
} satisfies Record<keyof CallFunctions, "">) as (keyof CallFunctions)[];

/** The parts of a call's context that a guest's run needs. */
export interface RunContext extends CallFunctions {
  /** Aborts when the result is no longer wanted. */
  signal(): AbortSignal;
  /** Delivers a notification of the servlet. Never throws. */
  notify(notification: Notification): void;
  /** Stores the journal; absent if it stays in memory. */
  keeper?: Keeper | undefined;
}

/** The key of `_meta` that counts the servers that a call has come through, so that a loop of servers ends. */
export const HOPS_META = "edge-servlets/hops";

/** Context of a call, from the request that made it. */
export interface CallContext extends RunContext {
  /** The request's id, as sent by the client. */
  id: string | number;
  /** The request's `_meta`, as sent by the client. */
  meta: Json;
  principal: Principal;
  client: ClientDescription;
  /** Where the user may answer asks that the client does not support; absent if nobody could open that page. */
  link?: Link;
  /** The session of the call; absent for clients without sessions. */
  session?: string | undefined;
  /** The id of the task that it runs as, if any. */
  taskId?: string;
  /** The name or URI of the called entry, for the log. */
  subject?: string;
  /** The trace that the call belongs to; the servlet's own requests continue it. */
  trace?: Trace | undefined;
  /**
   * The client's answers to earlier requests; with `unasked`, answers sent in advance. `seed` (32 bytes in hex)
   * determines the random numbers of the call, so that each retry is the same.
   */
  input?: { responses: Answers; state?: string; unasked?: true; seed?: string };
  /** The record of an earlier run of this call, from which this one continues. */
  recorded?: Recorded | undefined;
  /** Fuel that earlier runs of this call have used. */
  fuelUsed?: number;
  /** For a nested call: its share of the budget of the call around it. */
  share?: { fuel: number; waitMs: number };
  /** Called with the fuel that the run has used, once it has ended; Infinity if unknown. */
  spent?(fuel: number): void;
  /** For a nested call without a record: the seed and time of its journal. */
  begun?: { seed: string; time: number };
  /** Absent for calls that cannot be nested. */
  chain?: CallChain;
  /** Credentials that the caller provided for this call. */
  credentials?: CallCredentials;
}
