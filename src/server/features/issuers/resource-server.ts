import { JWTClaimValidationFailed, JWTExpired } from "jose/errors";
import { decodeJwt, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import type { Issuer } from "../../kernel/settings/oauth-settings.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { printable } from "../../kernel/core/text.ts";
import type { Resources, Verify } from "../../kernel/auth/authenticator.ts";
import type { Fetch } from "../../kernel/auth/fetch-json.ts";
import { issuerKeys } from "./issuer-keys.ts";
import { isSameEndpoint } from "../../kernel/auth/metadata.ts";

interface Trusted extends Issuer {
  keys: JWTVerifyGetKey;
}

/**
 * Verifies JWT access tokens of these issuers.
 * https://www.rfc-editor.org/rfc/rfc9068, https://www.rfc-editor.org/rfc/rfc8707
 */
export function resourceServer(issuers: readonly Issuer[], fetch: Fetch): Verify {
  const trusted = new Map<string, Trusted>(
    issuers.map((issuer) => [issuer.issuer, { ...issuer, keys: issuerKeys(issuer, fetch) }]),
  );
  return async (token, resources) => {
    const issuer = trusted.get(issuerOf(token));
    if (issuer === undefined)
      throw invalid(
        "The access token is from an unknown issuer. Use one from an issuer in this server's metadata.",
      );
    const { claims, isForProfile } = await verified(token, issuer, resources);
    // The holder would have to prove possession of the key.
    if (claims["cnf"] !== undefined)
      throw invalid(
        "The access token is bound to a key (`cnf`), which is not supported. Request a bearer token.",
      );
    if (claims["nonce"] !== undefined || claims["at_hash"] !== undefined) {
      throw invalid("This is an ID token. Send an access token.");
    }
    const scopes = scopesOf(claims);
    const missing = issuer.required_scopes.some((scope) => !scopes.includes(scope));
    if (missing) {
      const scope = issuer.required_scopes.join(" ");
      throw new Fault(
        "insufficient_scope",
        `The access token lacks the scope ${scope}. Request a token with it.`,
        { data: { scope } },
      );
    }
    return {
      name: `${issuer.issuer} ${claims.sub}`,
      scopes,
      expires: (claims.exp ?? 0) * 1000,
      isForProfile,
    };
  };
}

/** The types of access tokens in their header; most issuers write JWT. https://www.rfc-editor.org/rfc/rfc9068#section-2.1 */
const ACCESS_TOKEN = /^(application\/)?(at\+)?jwt$/i;

const invalid = (message: string, cause?: unknown) => new Fault("unauthorized", message, { cause });

/** The unverified issuer of a token. */
function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? "";
  } catch (error) {
    throw invalid(
      "The access token is neither a JWT nor a token of this server. Sign in again.",
      error,
    );
  }
}

async function verified(
  token: string,
  issuer: Trusted,
  { whole, profile }: Resources,
): Promise<{ claims: JWTPayload; isForProfile: boolean }> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, issuer.keys, {
      issuer: issuer.issuer,
      algorithms: issuer.algorithms,
      clockTolerance: limits.clockToleranceMs / 1000,
      requiredClaims: ["exp", "sub"],
    });
    const { typ = "JWT" } = protectedHeader;
    if (!ACCESS_TOKEN.test(typ))
      throw invalid(`The token has the type ${printable(typ)}. Send an access token.`);
    if (typeof payload.sub !== "string" || payload.sub.trim() === "")
      throw invalid("The access token has an empty `sub`. Request a token that names its subject.");
    const isMadeFor = (resource: string) =>
      [payload.aud].flat().some((one) => isFor(one ?? "", resource));
    // A configured audience is for the whole server.
    const isForProfile =
      issuer.audience === undefined && profile !== undefined && isMadeFor(profile);
    if (isForProfile || isMadeFor(issuer.audience ?? whole))
      return { claims: payload, isForProfile };
    throw invalid("The access token is for another resource. Request one for this server.");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw invalid(complaint(error), error);
  }
}

/** True for the required audience. All URLs that name an MCP endpoint count as the same. */
function isFor(audience: string, required: string): boolean {
  if (audience === required) return true;
  const { origin, pathname } = URL.parse(required) ?? {};
  return origin !== undefined && pathname !== "/" && isSameEndpoint(audience, required, origin);
}

function complaint(error: unknown): string {
  if (error instanceof JWTExpired) return "The access token has expired. Request a new one.";
  if (error instanceof JWTClaimValidationFailed) {
    if (error.claim === "nbf")
      return "The access token is not valid yet. Check the clocks of its issuer and this server.";
  }
  return "The access token is not valid. Request a new one.";
}

/** https://www.rfc-editor.org/rfc/rfc8693#section-4.2; Entra ID and Okta use `scp` instead. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const said = scope ?? scp;
  if (typeof said === "string") return said.split(" ").filter((word) => word !== "");
  return Array.isArray(said) ? said.filter((word) => typeof word === "string") : [];
}
