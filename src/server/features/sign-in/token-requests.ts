/** Normalizes clients' requests to the authorization server for its library. */
import { jsonIn, textIn } from "../../kernel/core/text.ts";
import { decodeJwt } from "jose";
import { bodyText, isForm } from "../../kernel/http/body.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isObject } from "../../kernel/core/model.ts";
import { GRANT_TYPES } from "./client-documents.ts";
import { audienceOf, endpointPath, isEndpoint, unifyResource } from "../../kernel/auth/metadata.ts";

export const METADATA_PATH = "/.well-known/oauth-authorization-server";

const METADATA_NAMES = ["/.well-known/openid-configuration", METADATA_PATH];

/**
 * Default endpoints for clients without the metadata, and paths where clients of an MCP endpoint look for the metadata.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-server-metadata-discovery
 */
const FALLBACKS: ReadonlyMap<string, string> = new Map([
  ["/token", "/oauth/token"],
  ["/register", "/oauth/register"],
]);

/** The fallback paths of the server and of these profiles. */
export const fallbackPaths = (profiles: readonly string[]): string[] => [
  ...FALLBACKS.keys(),
  ...METADATA_NAMES.flatMap((path) => [
    path,
    ...[undefined, ...profiles]
      .map(endpointPath)
      .flatMap((endpoint) => [path + endpoint, endpoint + path]),
  ]),
];

/** The path of the endpoint that a fallback path stands for. */
const realPath = (pathname: string): string =>
  FALLBACKS.get(pathname) ??
  (METADATA_NAMES.some((name) => pathname.includes(name)) ? METADATA_PATH : pathname);

/** Scopes of OpenID Connect, which many clients request if a server names no scopes. */
const OPENID_SCOPES = new Set(["openid", "profile", "email", "address", "phone", "offline_access"]);

/** The scopes without those of OpenID Connect, which grant nothing here unless they are configured. */
export const withoutOpenId = (scopes: readonly string[], isScope: (scope: string) => boolean) =>
  scopes.filter((scope) => !OPENID_SCOPES.has(scope) || isScope(scope));

/** A request to one of the library's endpoints. */
interface EndpointRequest {
  request: Request;
  /** The body of a token or revocation request, read; absent for any other request. */
  form?: URLSearchParams;
}

/**
 * The request at its real endpoint. Its form (read only here) comes without a `client_id` that repeats Basic
 * authentication, without scopes of OpenID Connect, and with one name for the MCP endpoint. Throws `too_large`.
 */
export async function toEndpoint(
  request: Request,
  isScope: (scope: string) => boolean,
): Promise<EndpointRequest> {
  const url = new URL(request.url);
  const pathname = url.pathname.replace(/\/$/, "");
  url.pathname = realPath(pathname);
  const { headers, method } = request;
  const isRead =
    url.pathname === "/oauth/token" ? isForm(request.headers) : url.pathname === "/oauth/register";
  // Without the body: what is not read here must not be read by the library.
  if (method !== "POST" || !isRead) return { request: new Request(url, { method, headers }) };
  const text = await bodyText(request, limits.formBytes);
  if (text === undefined) {
    throw new Fault(
      "too_large",
      `The request is too large (limit ${limits.formBytes} bytes). Send a smaller one.`,
    );
  }
  if (url.pathname !== "/oauth/token")
    return { request: new Request(url, { method, headers, body: registrationOf(text) }) };
  const form = new URLSearchParams(text);
  unifyResource(form, request);
  const claimed = claimedResource(form.get("assertion") ?? "");
  const isOurs = form.getAll("resource").every((one) => one === audienceOf(request));
  if (isOurs && isEndpoint(claimed, url.origin)) form.set("resource", claimed);
  const ids = form.getAll("client_id");
  // The header proves the same client, so the member is redundant: the Python SDK sends both.
  if (ids.length === 1 && ids[0] === basicClient(request)) form.delete("client_id");
  const asked = form.getAll("scope");
  form.delete("scope");
  for (const scopes of asked) {
    const kept = withoutOpenId(scopes.split(/\s+/), isScope).join(" ").trim();
    if (kept !== "") form.append("scope", kept);
  }
  return { request: new Request(url, { method, headers, body: form }), form };
}

/**
 * A registration without members that are null or empty, and without grant types beyond those that
 * clients can use here: a server may replace requested metadata. https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
function registrationOf(text: string): string {
  const metadata = jsonIn(text);
  if (!isObject(metadata)) return text; // The library reports what is not an object.
  const kept = Object.entries(metadata).filter(([, value]) => value !== null && value !== "");
  const { grant_types: types, ...rest } = Object.fromEntries(kept);
  const usable = Array.isArray(types) && types.filter((type) => GRANT_TYPES.has(textIn(type)));
  return JSON.stringify({ ...rest, grant_types: usable && usable.length > 0 ? usable : types });
}

/** The resource that an assertion names, which is not verified yet; empty if it names none. */
function claimedResource(assertion: string): string {
  try {
    const { resource } = decodeJwt(assertion);
    return typeof resource === "string" ? resource : "";
  } catch {
    return ""; // The library reports the malformed assertion.
  }
}

/** The client that Basic authentication names. https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
export function basicClient({ headers }: Request): string | undefined {
  const [, encoded] = /^basic[ \t]+(\S+)[ \t]*$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const [id = ""] = atob(encoded).split(":", 1);
    return decodeURIComponent(id.replaceAll("+", " "));
  } catch {
    return undefined; // The library reports the invalid header.
  }
}
