import { Fault } from "../errors.ts";
import type { Principal } from "../model.ts";

/** Whoever calls where no keys are configured. */
export const ANONYMOUS: Principal = { name: "anonymous" };

/** Names by the SHA-256 of their API key, in lower-case hex. */
export type ApiKeys = ReadonlyMap<string, string>;

/**
 * Who is calling, by the key in `Authorization: Bearer`. Keys are compared by their hashes, so how
 * long that takes says nothing of the key.
 *
 * Throws `unauthorized`.
 */
export async function principalOf(authorization: string | null, keys: ApiKeys): Promise<Principal> {
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  if (key === undefined)
    throw new Fault("unauthorized", "Authorization: Bearer with an API key is needed.");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  const name = keys.get(hex);
  if (name === undefined) throw new Fault("unauthorized", "The API key is not known.");
  return { name };
}
