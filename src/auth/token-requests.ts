import { bodyText } from "../body.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";

/**
 * Endpoints for a client that has lost the metadata.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 */
const FALLBACKS: ReadonlyMap<string, string> = new Map([
  ["/token", "/oauth/token"],
  ["/register", "/oauth/register"],
]);

export const FALLBACK_PATHS = [...FALLBACKS.keys()];

/** Scopes of OpenID Connect, which many clients ask for wherever a server names none. */
const OPENID_SCOPES = new Set(["openid", "profile", "email", "address", "phone", "offline_access"]);

/** The scopes without those of OpenID Connect, which grant nothing here unless they are configured. */
export const withoutOpenId = (scopes: readonly string[], isScope: (scope: string) => boolean) =>
  scopes.filter((scope) => !OPENID_SCOPES.has(scope) || isScope(scope));

/**
 * The request at its real endpoint, its body read, without a `client_id` that only repeats Basic authentication and without
 * scopes of OpenID Connect.
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
