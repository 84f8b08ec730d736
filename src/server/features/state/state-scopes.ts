import { callerKey } from "../../kernel/core/callers.ts";
import { canonicalJson, hexDigestNow } from "../../kernel/core/digest.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

/**
 * The owner of a servlet's state: a session by its id; a caller by its key (see `callerKey`; "" if it has none),
 * as `sessionless` if the servlet keeps state for sessions.
 */
export type Scope = readonly ["caller" | "session" | "sessionless", string] | readonly ["server"];

/** The scope of a servlet's state for the calls of this caller. */
export function scopeOf({ state }: Pick<Manifest, "state">, { principal, session }: Viewer): Scope {
  if (state === "server") return ["server"];
  if (state === "session" && session !== undefined) return ["session", session];
  return callerScope(state, callerKey(principal) ?? "");
}

/** The scope of the caller with this key if a servlet's manifest has this `state`. */
export const callerScope = (state: Manifest["state"], key: string): Scope =>
  state === "session" ? ["sessionless", key] : ["caller", key];

/** The name of the Durable Object with the state of a servlet in a scope: a SHA-256, 64 hex digits. */
export const stateName = (servlet: string, scope: Scope): string =>
  hexDigestNow(canonicalJson([servlet, ...scope]));
