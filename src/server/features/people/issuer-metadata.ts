/** The metadata of an issuer that ACCOUNTS does not list: https://www.rfc-editor.org/rfc/rfc8414 */
import * as z from "zod/mini";
import { requestProvider } from "../../kernel/auth/account-provider.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject } from "../../kernel/core/model.ts";
import { once } from "../../kernel/core/once.ts";
import { jsonIn, printable, shortened } from "../../kernel/core/text.ts";
import { isPrivate } from "../../kernel/http/private-hosts.ts";
import { isSecureUrl } from "../../kernel/settings/oauth-settings.ts";

const endpoint = () => z.string().check(z.maxLength(2048));
const names = () => z.array(z.string());

const metadataSchema = once(() =>
  z.object({
    issuer: z.string(),
    authorization_endpoint: endpoint(),
    token_endpoint: endpoint(),
    revocation_endpoint: z.exactOptional(endpoint()),
    registration_endpoint: z.exactOptional(endpoint()),
    code_challenge_methods_supported: z._default(names(), []),
    scopes_supported: z._default(names(), []),
    token_endpoint_auth_methods_supported: z.exactOptional(names()),
    id_token_signing_alg_values_supported: z.exactOptional(names()),
    authorization_response_iss_parameter_supported: z.exactOptional(z.boolean()),
    client_id_metadata_document_supported: z.exactOptional(z.boolean()),
  }),
);

/** The checked members of the metadata that this server uses. */
export type IssuerMetadata = z.infer<ReturnType<typeof metadataSchema>>;

/** The members with URLs that browsers or this server request. */
const ENDPOINTS = [
  "authorization_endpoint",
  "token_endpoint",
  "revocation_endpoint",
  "registration_endpoint",
] as const;

/**
 * The metadata of this issuer. With `isSelfHosted`, an issuer in a private network may have its endpoints there. Throws
 * `unavailable`, with the reason.
 */
export async function metadataAt(issuer: string, isSelfHosted: boolean): Promise<IssuerMetadata> {
  const expected = new URL(issuer);
  const unusable = (why: string) =>
    new Fault("unavailable", `The issuer ${expected.host} cannot be used: ${why}.`);
  const isInPrivate = isPrivate(expected.hostname);
  if (isInPrivate && !isSelfHosted)
    throw unusable(
      "it is in a private network: a Worker on Cloudflare reaches none, and a server of npm start does with --private-network",
    );
  const published = await publishedBy(expected).catch((cause: unknown) => {
    const message = `The issuer ${expected.host} cannot be reached. Try again later.`;
    throw new Fault("unavailable", message, { cause });
  });
  if (published === undefined)
    throw unusable(
      "it publishes no metadata (RFC 8414, or OpenID Connect) at its well-known addresses; redirects are not followed",
    );
  const read = metadataSchema().safeParse(published);
  if (!read.success) {
    const [{ path, message }] = read.error.issues as [z.core.$ZodIssue];
    throw unusable(`its metadata is not valid: ${[...path, message].join(" ")}`);
  }
  const metadata = read.data;
  if (URL.parse(metadata.issuer)?.href !== expected.href)
    throw unusable(
      `its metadata is that of another issuer, ${quoted(metadata.issuer)}; the servlet's manifest names ${issuer}`,
    );
  for (const name of ENDPOINTS) {
    const text = metadata[name];
    if (text === undefined) continue;
    const url = isSecureUrl(text) ? URL.parse(text) : null;
    if (url === null || url.username + url.password + url.hash !== "")
      throw unusable(`its ${name} is ${quoted(text)}, which is not an https URL`);
    // Metadata from the internet must not lead into a private network.
    if (isPrivate(url.hostname) && !isInPrivate)
      throw unusable(`its ${name} is on ${quoted(url.host)}, which is in a private network`);
  }
  if (!metadata.code_challenge_methods_supported.includes("S256"))
    throw unusable("its metadata does not name PKCE with S256, which this server requires");
  return usedPartOf(metadata);
}

/** The metadata with only the list entries that this server uses: each account stores a copy. */
function usedPartOf(metadata: IssuerMetadata): IssuerMetadata {
  const {
    token_endpoint_auth_methods_supported: methods,
    id_token_signing_alg_values_supported: algorithms,
    ...others
  } = metadata;
  return {
    ...others,
    code_challenge_methods_supported: ["S256"],
    scopes_supported: metadata.scopes_supported.filter((one) => one === OFFLINE_SCOPE),
    ...(methods && {
      token_endpoint_auth_methods_supported: CLIENT_METHODS.filter((one) => methods.includes(one)),
    }),
    ...(algorithms && {
      id_token_signing_alg_values_supported: algorithms
        .filter((one) => /^[\w-]{1,16}$/.test(one))
        .slice(0, 16),
    }),
  };
}

/** The scope that some issuers require for a refresh token. */
export const OFFLINE_SCOPE = "offline_access";

/** The client authentication methods of this server, the preferred one first: a public client has no secret that expires. */
export const CLIENT_METHODS = ["none", "client_secret_basic", "client_secret_post"];

/**
 * The first document at the addresses that MCP names; undefined if there is none.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-server-metadata-discovery
 */
async function publishedBy({ origin, pathname }: URL): Promise<object | undefined> {
  const path = pathname.replace(/\/$/, "");
  const addresses = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  for (const address of addresses) {
    const headers = { accept: "application/json" };
    const response = await requestProvider(address, { headers });
    const body = jsonIn(await response.text());
    // Some sites have a page at any address.
    if (response.status === 200 && isObject(body)) return body;
  }
  return undefined;
}

/** A text of another server, quoted for a message. */
const quoted = (text: string): string => JSON.stringify(shortened(printable(text), 200));
