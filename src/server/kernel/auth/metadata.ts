import * as z from "zod/mini";
import type { Fault } from "../core/errors.ts";
import type { Json } from "../core/model.ts";
import { audienceAt } from "./origin.ts";

/** The path of an MCP endpoint: of the whole server, or of a profile. */
export const endpointPath = (profile: string | undefined): string =>
  profile === undefined ? "/mcp" : `/mcp/${profile}`;

const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** Paths of the metadata: for each MCP endpoint, and for clients that look at the root or below an endpoint. */
export const metadataPaths = (profiles: readonly string[]): string[] => [
  METADATA_PATH,
  ...[undefined, ...profiles]
    .map(endpointPath)
    .flatMap((path) => [METADATA_PATH + path, path + METADATA_PATH]),
];

/** The URL of an MCP endpoint, for which tokens are issued. https://www.rfc-editor.org/rfc/rfc8707 */
export const audienceOf = (request: Request, profile?: string): string =>
  new URL(endpointPath(profile), audienceAt(request)).href;

/**
 * The paths by which people and clients name an MCP endpoint: `/mcp`, `/mcp/` and the bare origin for the whole server,
 * `/mcp/NAME` and `/mcp/NAME/` for a profile; each with any query, by which people have clients forget their lists.
 */
const ENDPOINT = /^\/((m|%6[dD])(c|%63)(p|%70)(\/(?<profile>[a-z][a-z0-9-]{0,31}))?\/?)?$/;

/** The endpoint, and its profile if any, that a URL names on the server at `origin`; undefined for another URL. */
function endpointIn(text: string, origin: string): { profile: string | undefined } | undefined {
  const url = /[\s#\\]/.test(text) ? null : URL.parse(text);
  if (url?.origin !== origin || url.username + url.password !== "") return undefined;
  const found = ENDPOINT.exec(url.pathname);
  return found === null ? undefined : { profile: found.groups?.["profile"] };
}

/** True for a URL that names the MCP endpoint of the whole server at `origin`. */
export const isEndpoint = (text: string, origin: string): boolean => {
  const found = endpointIn(text, origin);
  return found !== undefined && found.profile === undefined;
};

/** True if two URLs name the same MCP endpoint of the server at `origin`. */
export function isSameEndpoint(one: string, other: string, origin: string): boolean {
  const [first, second] = [endpointIn(one, origin), endpointIn(other, origin)];
  return first !== undefined && second !== undefined && first.profile === second.profile;
}

/** Rewrites the `resource` of a request to the one URL of its MCP endpoint for which tokens are issued. */
export function unifyResource(params: URLSearchParams, request: Request): void {
  const asked = params.getAll("resource");
  const { origin } = new URL(request.url);
  const meant = asked.map((one) => {
    const found = endpointIn(one, origin);
    return found === undefined ? one : audienceOf(request, found.profile);
  });
  params.delete("resource");
  for (const one of new Set(meant)) params.append("resource", one);
}

/** The profile whose metadata or endpoint is requested; undefined for the whole server. */
export const profileAt = ({ url }: Request): string | undefined => {
  const { origin, pathname } = new URL(url);
  return endpointIn(origin + pathname.replace(METADATA_PATH, ""), origin)?.profile;
};

/** The issuers of tokens for an MCP endpoint, and the scopes to request. */
interface Protection {
  name: string;
  authorizationServers: readonly string[];
  scopes: readonly string[];
}

/**
 * The metadata of the requested URL: clients compare URLs letter by letter.
 * https://www.rfc-editor.org/rfc/rfc9728#section-3.3
 */
export function metadataOf(request: Request, protection: Protection): Json {
  const { origin, pathname, search } = new URL(request.url);
  const asked = origin + pathname.replace(METADATA_PATH, "") + search;
  return {
    resource: endpointIn(asked, origin) === undefined ? `${origin}/mcp` : asked,
    resource_name: protection.name,
    authorization_servers: protection.authorizationServers,
    bearer_methods_supported: ["header"],
    ...(protection.scopes.length === 0 ? {} : { scopes_supported: protection.scopes }),
  };
}

/** The URL of the metadata for a request to the MCP endpoint, in the client's spelling, or to any other path. */
const metadataUrl = ({ origin, pathname, search }: URL): string =>
  origin +
  METADATA_PATH +
  (pathname !== "/" && ENDPOINT.test(pathname) ? pathname + search : "/mcp");

const needSchema = z.object({ scope: z.string() });

/**
 * The `WWW-Authenticate` header for a refused request. `oauth` has the scopes that an issuer requires; absent without
 * OAuth. A fault's data may name the `scope` that the request needs.
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
