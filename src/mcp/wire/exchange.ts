import type { Json, Principal, CallerQuota } from "../../model.ts";
import type { Keeper, Recorded } from "../../record.ts";
import type { WaitReason } from "../../suspension.ts";
import type { Registry } from "../../servlets/registry.ts";
import type { Accepts } from "./reply.ts";
import type { Sessions } from "./session.ts";
import type { Hub } from "./subscription.ts";
import type { Tasks } from "./tasks.ts";

/** How the server introduces itself. */
export interface Server {
  /** https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
  info: Json;
  instructions?: string;
}

/** Options of `Vault.seal`. */
export interface Sealing extends Pick<CallerQuota, "keep"> {
  /** Unix time in ms. */
  until: number;
  /** True if only one set of answers may be given (single use). */
  once: boolean;
}

/** The point at which a call resumes: a state and the answers that the client sent with it. */
export interface Resumed extends Pick<CallerQuota, "keep"> {
  /** Digest of both; the same in each retry. */
  name: () => Promise<string>;
  /** Unix time in ms when the state expires. */
  until: number;
  /** The record with the newest answer in it; absent where the servlet is called anew. */
  recorded: Recorded | undefined;
}

/**
 * All requests that bring the same answers to the same state: one, and its retries. Nothing is stored
 * before one of them sends an HTTP request that must not be repeated, where the state is not single use.
 */
export interface Resumption extends Keeper {
  /**
   * Claims a single-use state: undefined where it was claimed with other answers. Gives what an earlier
   * request was answered.
   */
  claim(): Promise<{ outcome?: Json } | undefined>;
  /** Stores what the request is answered; gives what the first one was. */
  settle(outcome: Json): Promise<Json>;
  /** What has become of the call where an earlier request has sent something; from then on this one goes on from that. */
  earlier(): Promise<Earlier | undefined>;
  /** The task that the call has become, or becomes under this id. */
  task(id: string): Promise<Promotion>;
  /** Ends the request: what it was sending is no longer in progress. Never throws. */
  release(): Promise<void>;
}

/** The task that a call becomes: the same for all requests with the same state and answers. */
export interface Promotion {
  id: string;
  /** What the task goes on from, where a request has sent something: that it may have, too. */
  recorded?: Recorded;
}

/** A call that an earlier request has gone on with: its record, or that it has become a task. */
export type Earlier = Extract<WaitReason, { kind: "earlier" | "task" }>;

/** Seals state that clients carry, so that only this deployment can read it. */
export interface Vault {
  /** Seals values of JSON. */
  seal(values: readonly unknown[], how: Sealing): Promise<string>;
  /** Undefined if it was not sealed here, was altered or has expired. */
  open(sealed: string): Promise<unknown[] | undefined>;
  resumption(sealed: string, by: Resumed): Resumption;
}

/** One POST and what answering it needs. */
export interface Exchange extends Pick<CallerQuota, "keep"> {
  server: Server;
  registry: Registry;
  principal: Principal;
  headers: Headers;
  accepts: Accepts;
  /** The principal's hub; absent where nobody can listen. */
  hub?: (() => Hub) | undefined;
  /** Seals calls that wait for their client; absent if calls cannot wait. */
  vault?: Vault | undefined;
  /** The principal's tasks; absent where there are none. */
  tasks?: Tasks | undefined;
  /** The principal's sessions; absent where each request is by itself. */
  sessions?: Sessions | undefined;
  /** Aborts when the client disconnects before the response. Created on first use. */
  leaving(): AbortSignal;
}
