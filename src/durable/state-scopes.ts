import { callerKey } from "../callers.ts";
import { canonicalJson, sha256 } from "../digest.ts";
import type { Viewer } from "../servlets/deployment.ts";
import type { Manifest } from "../servlets/manifest.ts";

/** For whom a servlet's state is kept: a caller by its key (see `callerKey`, "" where it has none), a session by its id. */
export type Scope = readonly ["caller" | "session", string] | readonly ["server"];

/** The scope of a servlet that keeps state, for the calls of this caller. */
export function scopeOf({ state }: Manifest, { principal, session }: Viewer): Scope {
  if (state === "server") return ["server"];
  if (state === "session" && session !== undefined) return ["session", session];
  return ["caller", callerKey(principal) ?? ""];
}

/** The name of the object that has the state of a servlet in a scope. */
export const stateName = async (servlet: string, scope: Scope): Promise<string> =>
  (await sha256(canonicalJson([servlet, ...scope]))).toHex();
