import { decodeProtectedHeader, jwtVerify } from "jose";
import { Fault } from "../../kernel/core/errors.ts";
import type { Principal } from "../../kernel/core/model.ts";
import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import { isEndpoint } from "../../kernel/auth/metadata.ts";
import { arrivedAs, audienceAt } from "../../kernel/auth/origin.ts";
import { anonymousAt, bearerIn } from "../../kernel/auth/principal.ts";

/** The means of authentication for Open Tool Calling: those of MCP, and JWTs signed with a shared secret. */
interface Proofs {
  authenticator: Pick<Authenticator, "isOpen" | "identify">;
  /** The principal of a JWT that is signed with the shared secret. Throws `unauthorized`. */
  shared: ((jwt: string, request: Request) => Promise<Principal>) | undefined;
}

/** The header of the specification, of its draft, and of OXP, as it was named later. */
const KEY_HEADERS = ["otc-api-key", "x-api-key", "oxp-api-key"];

/**
 * The principal of a request, by an API key, or by `Authorization: Bearer` with a JWT or an API key.
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#server-authentication
 *
 * Throws `unauthorized`, and what `Authenticator.identify` throws.
 */
export async function otcPrincipal(
  request: Request,
  { authenticator, shared }: Proofs,
): Promise<Principal> {
  if (authenticator.isOpen && shared === undefined) return anonymousAt(request);
  const { headers, url } = request;
  const key = KEY_HEADERS.map((name) => headers.get(name)).find((one) => one !== null);
  if (key !== undefined && !authenticator.isOpen) {
    const made = new Request(url, { headers: { authorization: `Bearer ${key}` } });
    return authenticator.identify(arrivedAs(request, made));
  }
  const token = bearerIn(headers.get("authorization"));
  if (token !== undefined && shared !== undefined && isShared(token)) return shared(token, request);
  if (!authenticator.isOpen && token !== undefined) return authenticator.identify(request);
  const wanted = [
    ...(authenticator.isOpen ? [] : ["an API key in OTC-API-Key"]),
    ...(shared === undefined ? [] : ["a JWT in Authorization: Bearer"]),
  ];
  throw new Fault("unauthorized", `The request has no credentials. Send ${wanted.join(" or ")}.`);
}

/** True for a JWT that claims the algorithm of the shared secret. */
function isShared(token: string): boolean {
  try {
    return decodeProtectedHeader(token).alg === "HS256";
  } catch {
    return false;
  }
}

/**
 * Verifies JWTs that are signed with a shared secret.
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#jwt-bearer-token-authentication
 */
export function sharedSecret(
  secret: string,
  audiences: readonly string[],
): NonNullable<Proofs["shared"]> {
  const key = new TextEncoder().encode(secret);
  return async (jwt, request) => {
    const verified = await jwtVerify(jwt, key, {
      algorithms: ["HS256"],
      requiredClaims: ["exp"],
    }).catch(() => undefined);
    const { origin } = new URL(audienceAt(request));
    const isOurs = (one: string) =>
      audiences.length > 0 ? audiences.includes(one) : isEndpoint(one, origin);
    const { sub, aud } = verified?.payload ?? {};
    const isForUs = aud === undefined || [aud].flat().some(isOurs);
    if (verified === undefined || !isForUs) {
      throw new Fault(
        "unauthorized",
        "The JWT is not valid, has expired or is for another audience. Send a new one.",
      );
    }
    return { name: sub === undefined ? "jwt" : `jwt:${sub}` };
  };
}
