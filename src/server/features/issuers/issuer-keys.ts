import { isRecent } from "../../kernel/core/recent.ts";
import { createLocalJWKSet, type JWTVerifyGetKey } from "jose";
import { JWKSNoMatchingKey } from "jose/errors";
import * as z from "zod/mini";
import type { Issuer } from "../../kernel/settings/oauth-settings.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { fetchJson, type Fetch } from "../../kernel/auth/fetch-json.ts";

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/**
 * An issuer's keys, as a key function for jose. They are fetched for the first token, when they are old, and
 * when a token names an unknown key, since issuers rotate keys that way. Requests share keys but never a promise:
 * in workerd a request cannot wait for the fetch of another.
 *
 * Not jose's `createRemoteJWKSet`: that neither uses old keys while an issuer is down, nor pauses after a failed
 * fetch, nor bounds the size of a response.
 *
 * Throws `unavailable` if no keys can be fetched.
 * https://www.rfc-editor.org/rfc/rfc7517
 */
export function issuerKeys({ issuer, jwks_uri }: Issuer, fetch: Fetch): JWTVerifyGetKey {
  let address = jwks_uri;
  let keys: JWTVerifyGetKey | undefined;
  let fetchedAt = 0;
  let failedAt = 0;

  async function refresh(): Promise<JWTVerifyGetKey> {
    const isDown = isRecent(failedAt, limits.issuerRetryMs);
    try {
      if (isDown) throw new Error(`${issuer} did not answer a moment ago`);
      address ??= await keyAddressOf(issuer, fetch);
      keys = createLocalJWKSet(
        z.parse(keySetSchema, await fetchJson(fetch, address, limits.issuerBytes)),
      );
      fetchedAt = Date.now();
      return keys;
    } catch (error) {
      if (!isDown) failedAt = Date.now();
      address = jwks_uri; // The metadata may have changed.
      if (keys !== undefined && isRecent(fetchedAt, limits.keySetStaleMs)) return keys;
      const cause = new Error(`The keys of ${issuer} cannot be fetched`, { cause: error });
      throw new Fault(
        "unavailable",
        "The access token cannot be verified: the keys of its issuer are unavailable. Try again later.",
        { cause },
      );
    }
  }

  return async (header, token) => {
    const isFresh = isRecent(fetchedAt, limits.keySetMs);
    const current = keys !== undefined && isFresh ? keys : await refresh();
    try {
      return await current(header, token);
    } catch (error) {
      const isRotated = error instanceof JWKSNoMatchingKey;
      if (!isRotated || isRecent(fetchedAt, limits.keySetCooldownMs)) throw error;
      return await (
        await refresh()
      )(header, token);
    }
  };
}

/**
 * The `jwks_uri` of an issuer's metadata.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
async function keyAddressOf(issuer: string, fetch: Fetch): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  const failures: unknown[] = [];
  for (const place of places) {
    try {
      const metadata = z.parse(metadataSchema, await fetchJson(fetch, place, limits.issuerBytes));
      if (metadata.issuer !== issuer) {
        throw new Error(`Its issuer is ${JSON.stringify(metadata.issuer)}`);
      }
      const isSecure = new URL(metadata.jwks_uri).protocol === "https:";
      if (!isSecure && new URL(metadata.jwks_uri).origin !== origin) {
        throw new Error("Its jwks_uri is not https");
      }
      return metadata.jwks_uri;
    } catch (error) {
      failures.push(new Error(place, { cause: error }));
    }
  }
  throw new AggregateError(failures, `No metadata of ${issuer} was found`);
}
