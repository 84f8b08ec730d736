import { callerKey } from "../../kernel/core/callers.ts";
import { canonicalJson, hexDigestNow } from "../../kernel/core/digest.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

/**
 * For whom a servlet's state is kept: a session by its id; a caller by its key (see `callerKey`, "" where it has none),
 * `sessionless` where the servlet keeps state for sessions.
 */
export type Scope = readonly ["caller" | "session" | "sessionless", string] | readonly ["server"];

/** The scope of a servlet that keeps state, for the calls of this caller. */
export function scopeOf({ state }: Pick<Manifest, "state">, { principal, session }: Viewer): Scope {
  if (state === "server") return ["server"];
  if (state === "session" && session !== undefined) return ["session", session];
  return callerScope(state, callerKey(principal) ?? "");
}

/** The scope of a caller, by its key, where a servlet's manifest has this `state`. */
export const callerScope = (state: Manifest["state"], key: string): Scope =>
  state === "session" ? ["sessionless", key] : ["caller", key];

/** The name of the Durable Object with the state of a servlet in a scope: a SHA-256, 64 hex digits. */
export const stateName = (servlet: string, scope: Scope): string =>
  hexDigestNow(canonicalJson([servlet, ...scope]));
