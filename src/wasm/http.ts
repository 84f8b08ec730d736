import { limits } from "../limits.ts";
import { isObject, type Json, type Trace } from "../model.ts";
import { GuestError, type Guest } from "./guest.ts";

/** A response as the guest sees it. */
export interface GuestResponse {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Headers that belong to the connection and are not the guest's to set. */
const CONNECTION_HEADERS =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|proxy-.*|cf-.*|x-forwarded-.*|x-real-ip)$/i;

/** Methods that may be sent twice: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2 */
const REPEATABLE = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);

/** https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header */
const KEY_HEADER = "idempotency-key";

/** A request that may be sent: its host is allowed. */
interface Outgoing {
  url: URL;
  method: string;
  headers: Headers;
  body?: Uint8Array<ArrayBuffer>;
}

/**
 * Does what a guest's `http_request` asks for: `{url, method?, headers?}`, as the reference runtime
 * reads it. Only hosts that the manifest allows are reached, redirects included.
 *
 * Throws a `GuestError` that says what was refused or failed; it names the host, never the whole URL.
 */
export async function request(guest: Guest, head: Json, body: Uint8Array): Promise<GuestResponse> {
  const { url, method: given } = head;
  const method = typeof given === "string" ? given.toUpperCase() : "GET";
  const hasBody = body.length > 0 && method !== "GET" && method !== "HEAD";
  if (++guest.httpRequests > limits.httpRequests) {
    throw new GuestError(
      `The servlet made more than ${limits.httpRequests} HTTP requests in one call.`,
    );
  }
  let next: Outgoing = {
    url: allowed(guest, typeof url === "string" ? url : ""),
    method,
    headers: headersOf(head["headers"] ?? head["header"]),
    ...(hasBody ? { body: body.slice() } : {}),
  };
  const intent = await guest.journal.intend();
  if (intent?.isRepeated && !REPEATABLE.has(method) && guest.setup.resends !== true) {
    throw new GuestError(
      `The outcome of the HTTP request to ${next.url.host} is unknown: the server stopped while it was sent.`,
    );
  }
  if (intent?.key !== undefined && !next.headers.has(KEY_HEADER)) {
    next.headers.set(KEY_HEADER, intent.key);
  }
  return guest.wait(async (signal) => {
    for (let redirects = 0; ; redirects++) {
      const response = await send(guest, next, signal);
      const location = response.headers.get("location");
      if (!isRedirect(response.status) || location === null) return read(response, next.url.host);
      await response.body?.cancel();
      if (redirects === limits.httpRedirects) {
        throw new GuestError(`The HTTP request to ${next.url.host} was redirected too often.`);
      }
      next = redirected(guest, next, response.status, location);
    }
  }, limits.httpMs);
}

function headersOf(value: unknown): Headers {
  const headers = new Headers();
  if (!isObject(value)) return headers;
  let length = 0;
  for (const [name, content] of Object.entries(value)) {
    if (CONNECTION_HEADERS.test(name)) continue;
    length += name.length + String(content).length;
    if (length > limits.httpHeaderCharacters) {
      throw new GuestError("The servlet made an HTTP request with headers that are too large.");
    }
    try {
      headers.set(name, String(content));
    } catch {
      // Whole or not at all: a piece of what was lent could not be told as such.
      const which = name.length > 80 ? `a name of ${name.length} characters` : name;
      throw new GuestError(`The servlet set an HTTP header that is not allowed: ${which}`);
    }
  }
  return headers;
}

/** The URL at this address, which may be relative to `base`, if the guest may reach it. */
function allowed(guest: Guest, address: string, base?: URL): URL {
  if (!URL.canParse(address, base)) {
    throw new GuestError("The servlet made an HTTP request to what is no URL.");
  }
  const url = new URL(address, base);
  if (url.href.length > limits.httpHeaderCharacters) {
    throw new GuestError("The servlet made an HTTP request to a URL that is too long.");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new GuestError(`The servlet made a request with ${url.protocol}, which is not HTTP.`);
  }
  if (!isAllowed(url, guest.setup.allowedHosts)) {
    // Of an address that has something in it that was lent, the host may be a piece of that.
    const host = (guest.setup.lent?.hide(address) ?? address) === address ? url.host : "that host";
    throw new GuestError(
      `The servlet may not make HTTP requests to ${host}: its manifest does not allow that host.`,
    );
  }
  return url;
}

async function send(
  guest: Guest,
  { url, ...init }: Outgoing,
  signal: AbortSignal,
): Promise<Response> {
  let ready: Request;
  try {
    const headers = traced(init.headers, guest.setup.trace);
    ready = new Request(url, { ...init, headers, redirect: "manual", signal });
  } catch {
    throw new GuestError(`The servlet made an HTTP request to ${url.host} that is not valid.`);
  }
  try {
    return await guest.setup.world.fetch(ready);
  } catch (error) {
    throw failed(error, url.host);
  }
}

/** The request as a part of its caller's trace, where the servlet has not said of which one it is. */
function traced(headers: Headers, trace: Trace | undefined): Headers {
  if (trace === undefined || headers.has("traceparent")) return headers;
  const own = new Headers(headers);
  const span = crypto.getRandomValues(new Uint8Array(8)).toHex();
  own.set("traceparent", trace.traceparent.replace(/-[0-9a-f]{16}-/, `-${span}-`));
  if (trace.tracestate !== undefined) own.set("tracestate", trace.tracestate);
  return own;
}

async function read(response: Response, host: string): Promise<GuestResponse> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > limits.httpBytes) {
        throw new GuestError(`The response of ${host} is larger than ${limits.httpBytes} bytes.`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw failed(error, host);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

function failed(error: unknown, host: string): GuestError {
  if (error instanceof GuestError) return error;
  const late = error instanceof Error && error.name === "TimeoutError";
  const why = late
    ? `gave no answer within ${limits.httpMs / 1000} seconds`
    : "could not be reached";
  return new GuestError(`The host ${host} ${why}.`, { cause: error });
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

/** https://fetch.spec.whatwg.org/#http-redirect-fetch */
function redirected(guest: Guest, from: Outgoing, status: number, location: string): Outgoing {
  const url = allowed(guest, location, from.url);
  const headers = new Headers(from.headers);
  if (url.origin !== from.url.origin) {
    for (const name of ["authorization", "cookie"]) headers.delete(name);
  }
  const becomesGet =
    (status === 303 && from.method !== "HEAD") ||
    ((status === 301 || status === 302) && from.method === "POST");
  if (!becomesGet) return { ...from, url, headers };
  for (const name of [...headers.keys()]) {
    if (name.startsWith("content-")) headers.delete(name);
  }
  return { url, method: "GET", headers };
}

/**
 * May a guest reach this URL? Patterns are globs on the host name (`*` for any run of characters, `?`
 * for one), with a port where only that one is meant. A host that is private or local by its address
 * or name must be named in full.
 */
export function isAllowed(url: URL, patterns: readonly string[]): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, "");
  const withPort = `${host}:${url.port || (url.protocol === "https:" ? 443 : 80)}`;
  return patterns.some((raw) => {
    const pattern = raw.toLowerCase();
    if (pattern === host || pattern === withPort) return true;
    if (isPrivate(host)) return false;
    return matches(pattern, host) || matches(pattern, withPort);
  });
}

function matches(glob: string, text: string): boolean {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`).test(text);
}

/** Hosts that are not on the public internet, as far as their spelling tells; URL has normalised it. */
function isPrivate(host: string): boolean {
  if (host.startsWith("[")) {
    const groups = host.slice(1, -1);
    const mapped = /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(groups);
    if (mapped !== null) {
      const high = parseInt(mapped[1]!, 16);
      const low = parseInt(mapped[2]!, 16);
      return isPrivateV4([high >> 8, high & 255, low >> 8, low & 255]);
    }
    return /^(::1?$|f[cd]|fe[89ab]|ff|64:ff9b:|100:|2001:db8:)/.test(groups);
  }
  const v4 = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  if (v4 !== null) return isPrivateV4(v4.slice(1).map(Number));
  return !host.includes(".") || /\.(localhost|local|internal|intranet|lan|home|corp)$/.test(host);
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry */
function isPrivateV4(address: number[]): boolean {
  const [a = 0, b = 0, c = 0] = address;
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113)
  );
}
