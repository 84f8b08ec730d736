import type { EmaOptions } from "@cloudflare/workers-oauth-provider";
import type { Enterprise } from "./settings.ts";
import type { Attempts } from "../../kernel/auth/attempts.ts";
import { hexDigestNow } from "../../kernel/core/digest.ts";

/** Maximum age of an identity assertion of an enterprise. */
const ASSERTION_MS = 300_000;

/** The grant type with which a client sends an identity assertion (ID-JAG). */
export const ASSERTION_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Data that is stored with the token of an enterprise's user. */
export interface EnterpriseProps {
  /** Issuer and subject. */
  name: string;
}

interface EnterpriseOptions {
  issuers: readonly Enterprise[];
  /** Counters in Durable Objects, so that each assertion is accepted only once. */
  attempts: DurableObjectNamespace<Attempts>;
  /** The props of the token of a user with this name. */
  propsOf(name: string): EnterpriseProps;
  isScope(scope: string): boolean;
}

/**
 * Exchanges identity assertions of enterprises for tokens.
 * https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization
 */
export const enterpriseAuthorization = ({
  issuers,
  attempts,
  propsOf,
  isScope,
}: EnterpriseOptions): EmaOptions<{ OAUTH_KV: KVNamespace }> => ({
  allowPublicClients: issuers.some((one) => one.public_clients),
  maxAssertionLifetimeSeconds: ASSERTION_MS / 1000,
  async trustedIssuers({ iss, clientInfo }) {
    const found = issuers.find(({ issuer }) => issuer === iss);
    const isPublic = clientInfo.tokenEndpointAuthMethod === "none";
    if (found === undefined || (isPublic && !found.public_clients)) return null;
    return { issuer: iss, jwksUri: found.jwks_uri, algorithms: found.algorithms };
  },
  async mapClaims({ claims: { iss, sub, jti, scope = "" }, requestedScope }) {
    // If an assertion names no scopes, the library lets the client choose.
    const named = scope.split(" ");
    const digest = hexDigestNow(JSON.stringify([iss, jti]));
    // The library records used assertions in KV, which is only eventually consistent.
    const counter = attempts.getByName(`assertion ${digest}`);
    if ((await counter.take(1, 2 * ASSERTION_MS)) > 0) return null;
    const name = `${iss} ${sub}`;
    return {
      userId: hexDigestNow(name),
      scope: requestedScope.filter((one) => named.includes(one) && isScope(one)),
      props: propsOf(name),
    };
  },
});
