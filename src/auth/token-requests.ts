import { decodeJwt } from "jose";
import { bodyText } from "../http/body.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { audienceOf, isEndpoint, unifyResource } from "./metadata.ts";

export const METADATA_PATH = "/.well-known/oauth-authorization-server";

/**
 * Endpoints for a client that has lost the metadata, and where clients that know the URL of the MCP endpoint look for it.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-server-metadata-discovery
 */
const FALLBACKS: ReadonlyMap<string, string> = new Map([
  ["/token", "/oauth/token"],
  ["/register", "/oauth/register"],
  ...["/.well-known/openid-configuration", METADATA_PATH]
    .flatMap((path) => [path, `${path}/mcp`, `/mcp${path}`])
    .map((path) => [path, METADATA_PATH] as const),
]);

export const FALLBACK_PATHS = [...FALLBACKS.keys()];

/** Scopes of OpenID Connect, which many clients ask for wherever a server names none. */
const OPENID_SCOPES = new Set(["openid", "profile", "email", "address", "phone", "offline_access"]);

/** The scopes without those of OpenID Connect, which grant nothing here unless they are configured. */
export const withoutOpenId = (scopes: readonly string[], isScope: (scope: string) => boolean) =>
  scopes.filter((scope) => !OPENID_SCOPES.has(scope) || isScope(scope));

/**
 * The request at its real endpoint, its body read, without a `client_id` that only repeats Basic authentication, without
 * scopes of OpenID Connect, and with one name for the MCP endpoint.
 */
export async function toEndpoint(
  request: Request,
  isScope: (scope: string) => boolean,
): Promise<Request> {
  const url = new URL(request.url);
  const pathname = url.pathname.replace(/\/$/, "");
  url.pathname = FALLBACKS.get(pathname) ?? pathname;
  const { headers, method } = request;
  const isRead =
    url.pathname === "/oauth/token" ? isForm(request) : url.pathname === "/oauth/register";
  // A body that is not read here must not be read by the library.
  if (method !== "POST" || !isRead) return new Request(url, { method, headers });
  const text = await bodyText(request, limits.formBytes);
  if (text === undefined) {
    throw new Fault(
      "too_large",
      `The request is too large (limit ${limits.formBytes} bytes). Send a smaller one.`,
    );
  }
  if (url.pathname !== "/oauth/token") return new Request(url, { method, headers, body: text });
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
    const kept = withoutOpenId(scopes.split(" "), isScope).join(" ").trim();
    if (kept !== "") form.append("scope", kept);
  }
  return new Request(url, { method, headers, body: form });
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

/** The form of a token or revocation request; undefined for any other request. The request can still be read. */
export async function tokenForm(request: Request): Promise<URLSearchParams | undefined> {
  const isToken = new URL(request.url).pathname === "/oauth/token" && request.method === "POST";
  if (!isToken || !isForm(request)) return undefined;
  return new URLSearchParams(await request.clone().text());
}

const isForm = ({ headers }: Request): boolean =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ===
  "application/x-www-form-urlencoded";

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
