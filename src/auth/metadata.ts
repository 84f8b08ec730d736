import * as z from "zod/mini";
import type { Fault } from "../core/errors.ts";
import type { Json } from "../core/model.ts";
import { audienceAt } from "./origin.ts";

/** Paths of the metadata: for the MCP endpoint, and for clients that look at the root or below the endpoint. */
const METADATA_PATH = "/.well-known/oauth-protected-resource";
export const METADATA_PATHS = [`${METADATA_PATH}/mcp`, METADATA_PATH, `/mcp${METADATA_PATH}`];

/** The URL of the MCP endpoint, for which tokens are issued. https://www.rfc-editor.org/rfc/rfc8707 */
export const audienceOf = (request: Request): string => new URL("/mcp", audienceAt(request)).href;

/** The paths by which people and clients name the MCP endpoint: `/mcp`, `/mcp/` and the bare origin. */
const ENDPOINT = /^\/((m|%6[dD])(c|%63)(p|%70)\/?)?$/;

/** True for a URL that names the MCP endpoint of the server at `origin`. */
export function isEndpoint(text: string, origin: string): boolean {
  const url = /[\s#\\]/.test(text) ? null : URL.parse(text);
  return (
    url !== null &&
    url.origin === origin &&
    url.username + url.password + url.search === "" &&
    ENDPOINT.test(url.pathname)
  );
}

/** Has the `resource` of a request name the MCP endpoint by the one URL for which tokens are issued. */
export function unifyResource(params: URLSearchParams, request: Request): void {
  const asked = params.getAll("resource");
  const { origin } = new URL(request.url);
  const meant = asked.map((one) => (isEndpoint(one, origin) ? audienceOf(request) : one));
  params.delete("resource");
  for (const one of new Set(meant)) params.append("resource", one);
}

/** The issuers of tokens for the MCP endpoint, and the scopes to request. */
interface Protection {
  name: string;
  authorizationServers: readonly string[];
  scopes: readonly string[];
}

/**
 * The metadata of the URL for which it is requested: clients compare them letter by letter.
 * https://www.rfc-editor.org/rfc/rfc9728#section-3.3
 */
export function metadataOf(request: Request, protection: Protection): Json {
  const { origin, pathname } = new URL(request.url);
  const asked = origin + pathname.slice(METADATA_PATH.length);
  return {
    resource: isEndpoint(asked, origin) ? asked : `${origin}/mcp`,
    resource_name: protection.name,
    authorization_servers: protection.authorizationServers,
    bearer_methods_supported: ["header"],
    ...(protection.scopes.length === 0 ? {} : { scopes_supported: protection.scopes }),
  };
}

/** The metadata's URL for a request to the MCP endpoint, as its client writes that, or to any other path. */
const metadataUrl = ({ origin, pathname }: URL): string =>
  origin + METADATA_PATH + (pathname !== "/" && ENDPOINT.test(pathname) ? pathname : "/mcp");

const needSchema = z.object({ scope: z.string() });

/**
 * The `WWW-Authenticate` header for a refused request. `oauth` has the scopes that some issuer requires; absent
 * without OAuth. A fault's data may name the `scope` that this request needs.
 * https://www.rfc-editor.org/rfc/rfc6750#section-3, https://www.rfc-editor.org/rfc/rfc9728#section-5.1
 */
export function challengeOf(
  request: Request,
  fault: Fault,
  oauth?: { scopes: readonly string[] },
): string {
  const needed = needSchema.safeParse(fault.data).data?.scope ?? oauth?.scopes.join(" ") ?? "";
  const hasToken = request.headers.has("authorization");
  const error = fault.code === "insufficient_scope" ? fault.code : "invalid_token";
  const parts = {
    ...(oauth === undefined && { realm: "mcp" }),
    ...(hasToken ? { error, error_description: fault.message } : {}),
    ...(needed === "" ? {} : { scope: needed }),
    ...(oauth && { resource_metadata: metadataUrl(new URL(request.url)) }),
  };
  return `Bearer ${Object.entries(parts)
    .map(([name, value]) => `${name}="${value.replaceAll(/[^ !#-[\]-~]/g, "'")}"`)
    .join(", ")}`;
}
