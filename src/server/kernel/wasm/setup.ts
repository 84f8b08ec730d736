/** The parts of the host that one call of a guest may use. */
import type { Redact } from "../core/redaction.ts";
import type { Files } from "../files/files.ts";
import type { RunContext } from "../core/call-context.ts";
import type { Notification } from "../core/model.ts";
import type { Trace } from "../observe/trace-context.ts";
import type { World } from "./world.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** A caller's credentials for one call. They bypass the journal, and are redacted from the log. */
export interface GuestCredentials {
  config(key: string): string | undefined;
  secret(service: string, user: string): string | undefined;
  /** An access token by the id of its authorization. */
  token(id: string): string | undefined;
  /** Removes the credentials from the first `most` characters of a text, and drops the rest. */
  hide(text: string, most?: number): string;
}

/** Everything that one call of a guest may use, and the sinks of its output. Valid for one call. */
export interface Setup extends Omit<RunContext, "keeper"> {
  world: World;
  /** Extism's config: strings from the servlet's manifest. */
  config: Readonly<Record<string, string>>;
  /** Hosts that guest HTTP may reach: globs on the host name. */
  allowedHosts: readonly string[];
  /** True if POST and PATCH requests may be sent again after a crash left their outcome unknown. */
  resends?: boolean;
  /** True if the servlet keeps state between calls: then a run may deviate from an earlier one. */
  keepsState?: boolean;
  /** A secret that the manifest grants to the servlet. */
  secret(service: string, user: string): string | undefined;
  /** Guests' log calls below this are dropped. */
  logLevel: LogLevel;
  /** Trace context for its HTTP requests. */
  trace?: Trace | undefined;
  /** The caller key; absent if the caller is unknown. */
  caller?: string | undefined;
  /** Fuel of one run; default `limits.guestFuel`. */
  fuel?: number | undefined;
  /** Fuel that earlier runs of the call have used. */
  fuelUsed?: number | undefined;
  /** How long the call may wait; default `limits.waitMs`. */
  waitMs?: number | undefined;
  /** Its path among nested calls: see `CallChain`. */
  place?: string | undefined;
  log(level: LogLevel, text: string): void;
  /**
   * Takes change notifications instead, including those of replayed parts: nothing has changed until the call has
   * ended.
   */
  changed?(notification: Notification): void;
  /** The URI of the servlet's view with this URI or name; undefined if it has none. */
  viewUri?(named: string): string | undefined;
  /** True if the user must allow some of the guest's tool calls. */
  confirmsCalls?: boolean;
  credentials?: GuestCredentials;
  /** Redacts the deployment's secrets that the servlet may read: it may have kept one since an earlier call. */
  hide?: Redact;
  /** The folders of the call, if it has any. Whoever provides them commits or drops their changes. */
  files?: Files;
}
