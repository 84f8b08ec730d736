/** Requests to authorization servers. */
import * as oauth from "oauth4webapi";
import { textWithin } from "../http/body.ts";
import { limits } from "../core/limits.ts";
import { isSecureUrl } from "../settings/oauth-settings.ts";

/** The metadata that an issuer publishes: by OpenID Connect, else by RFC 8414. */
export async function discovered(issuer: URL): Promise<oauth.AuthorizationServer> {
  const failures: unknown[] = [];
  for (const algorithm of ["oidc", "oauth2"] as const) {
    try {
      const response = await oauth.discoveryRequest(issuer, { algorithm, ...options(issuer.href) });
      const found = await oauth.processDiscoveryResponse(issuer, response);
      const { authorization_endpoint, token_endpoint, revocation_endpoint } = found;
      const addresses = [
        authorization_endpoint,
        token_endpoint,
        revocation_endpoint ?? issuer.href,
      ];
      if (addresses.every((url) => typeof url === "string" && isSecureUrl(url))) return found;
      throw new Error(
        `The metadata of ${issuer.href} has no endpoints, or some that are not https`,
      );
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `No metadata of ${issuer.href} was found`);
}

/** Bounded in time and size, without redirects. Plain http is for loopback hosts, as the settings demand. */
export const options = (url: string | undefined) => ({
  [oauth.customFetch]: bounded,
  [oauth.allowInsecureRequests]: url?.startsWith("http:") === true,
});

async function bounded(url: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(limits.issuerMs);
  const { status, headers, body } = await fetch(url, { ...init, redirect: "manual", signal });
  const text = await textWithin(body, limits.issuerBytes);
  if (text === undefined)
    throw new Error(`${url} answers with more than ${limits.issuerBytes} bytes`);
  const isError = status === 200 && isErrorBody(text);
  return new Response(text === "" ? null : text, { status: isError ? 400 : status, headers });
}

/** GitHub reports errors with status 200. */
function isErrorBody(text: string): boolean {
  try {
    const body = JSON.parse(text) as { error?: unknown; access_token?: unknown };
    return typeof body.error === "string" && body.access_token === undefined;
  } catch {
    return false;
  }
}
