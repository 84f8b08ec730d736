import { jwtVerify } from "jose";
import { Fault } from "../errors.ts";
import type { Principal } from "../model.ts";
import { ANONYMOUS, principalOf, type ApiKeys } from "./principal.ts";

/** How callers of Open Tool Calling may prove who they are; with none of it, anybody may call. */
export interface Proofs {
  keys: ApiKeys | undefined;
  /** Tells who a JWT is of. Throws `unauthorized`. */
  token: ((jwt: string, request: Request) => Promise<Principal>) | undefined;
}

/** The header of the specification, that of its draft, and that of what it was renamed to. */
const KEY_HEADERS = ["otc-api-key", "x-api-key", "oxp-api-key"];

/**
 * Who is calling, by an API key or by `Authorization: Bearer` with a JWT or with such a key.
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#server-authentication
 *
 * Throws `unauthorized`.
 */
export async function otcPrincipal(request: Request, { keys, token }: Proofs): Promise<Principal> {
  if (keys === undefined && token === undefined) return ANONYMOUS;
  const { headers } = request;
  const key = KEY_HEADERS.map((name) => headers.get(name)).find((one) => one !== null);
  if (key !== undefined && keys !== undefined) return principalOf(`Bearer ${key}`, keys);
  const authorization = headers.get("authorization");
  const [, jwt] = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(authorization ?? "") ?? [];
  if (jwt !== undefined && token !== undefined) return token(jwt, request);
  if (keys !== undefined && authorization !== null) return principalOf(authorization, keys);
  const wanted = [
    ...(keys === undefined ? [] : ["an API key in OTC-API-Key"]),
    ...(token === undefined ? [] : ["a JWT in Authorization: Bearer"]),
  ];
  throw new Fault("unauthorized", `Who is calling is not known: send ${wanted.join(" or ")}.`);
}

/**
 * Takes JWTs that are signed with a shared secret.
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#jwt-bearer-token-authentication
 */
export function sharedSecret(secret: string, audiences: readonly string[]): Proofs["token"] {
  const key = new TextEncoder().encode(secret);
  return async (jwt, { url }) => {
    const verified = await jwtVerify(jwt, key, {
      algorithms: ["HS256"],
      requiredClaims: ["exp"],
    }).catch(() => undefined);
    const allowed = audiences.length > 0 ? audiences : [new URL(url).origin];
    const { sub, aud } = verified?.payload ?? {};
    const isForUs = aud === undefined || [aud].flat().some((one) => allowed.includes(one));
    if (verified === undefined || !isForUs) {
      throw new Fault("unauthorized", "The JWT is not valid, has expired or is for somebody else.");
    }
    return { name: sub === undefined ? "jwt" : `jwt:${sub}` };
  };
}
