import type { Answers, Asker, LookUp } from "./asks.ts";
import type { Json, Notification, Principal } from "./model.ts";
import type { Keeper, Recorded } from "./record.ts";
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

/** Context of a call, from the request that made it. */
export interface CallContext {
  /** The request's id, as the client gave it. */
  id: string | number;
  /** The request's `_meta`, as the client gave it. */
  meta: Json;
  principal: Principal;
  client: ClientDescription;
  /** Where its user may answer what its client cannot be asked; absent if nobody could open that page. */
  link?: Link;
  /** The session that it belongs to; absent for clients without sessions. */
  session?: string | undefined;
  /** The name or URI of what is called, for the log. */
  subject?: string;
  /** The trace that it is a part of, which goes on with the servlet's own requests. */
  trace?: Trace | undefined;
  /** Aborts when the result is no longer wanted. */
  signal(): AbortSignal;
  /**
   * The client's answers to earlier requests; with `unasked`, answers that it has sent in advance. `seed` (32
   * bytes in hex) determines the random numbers of the call, so that each retry is the same.
   */
  input?: { responses: Answers; state?: string; unasked?: true; seed?: string };
  /** The record of an earlier run of this call, from which this one continues. */
  recorded?: Recorded | undefined;
  /** Fuel that earlier runs of this call have used. */
  fuelUsed?: number;
  /** Credentials that the caller provided for this call. */
  credentials?: CallCredentials;
  /** Stores the journal; absent if it stays in memory. */
  keeper?: Keeper;
  /**
   * Called before a guest asks for something slow (`ms` if known). Throws a `Wait` if the call should not
   * continue here, a `Fault` if it should not continue at all.
   */
  gate?(ms: number): Promise<void> | void;
  /** Called before an HTTP request is sent that must not be sent twice. */
  sending?(): Promise<void> | void;
  /** Delivers a notification of the servlet. Never throws. */
  notify(notification: Notification): void;
  ask: Asker;
  /** The server's own answer to an elicitation, by its params; absent where a run has not begun. */
  lookUp?: LookUp;
}
