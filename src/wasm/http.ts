import { orAborted } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { isObject, type Json } from "../core/model.ts";
import type { MethodClass } from "../core/record.ts";
import { GuestError, type Guest } from "./guest.ts";
import { VERSION } from "../core/version.ts";
import { release } from "../core/parts.ts";
import { isPrivate } from "../http/private-hosts.ts";
import { addTrace } from "../observe/trace-context.ts";
import { inHttpSpan } from "../observe/spans.ts";
import { charactersOf, isAllowed } from "./hosts.ts";

/** All headers of a guest's request: a common limit of servers. */
const HTTP_HEADER_BYTES = 16 * 1024;
/** Redirects that a guest's HTTP request follows: browsers follow 20, APIs need 1. */
const HTTP_REDIRECTS = 5;

/** A response as the guest sees it. */
export interface GuestResponse {
  status: number;
  /** By lower-case name; several Set-Cookie are lines of one value. */
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
}

/**
 * Headers that a guest may not set: those of the connection, those that say where a request comes from, and
 * those that only browsers set. They are left out.
 */
const HOSTS_HEADERS =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|via|forwarded|cdn-loop|true-client-ip|x-real-ip|x-client-ip|x-original-url|x-rewrite-url|(proxy|cf|sec|x-forwarded)-.*)$/i;

/** https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Methods that make a tunnel, or show what proxies have added to the request. */
const FORBIDDEN_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Methods that are not here may not be sent twice. */
const CLASSES = new Map<string, MethodClass>([
  ["GET", "safe"],
  ["HEAD", "safe"],
  ["OPTIONS", "safe"],
  ["PUT", "repeatable"],
  ["DELETE", "repeatable"],
]);

/** https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header */
const KEY_HEADER = "idempotency-key";

/** For guests that set none, as the reference host has them; some APIs refuse requests without. */
const DEFAULT_HEADERS = { accept: "*/*", "user-agent": `edge-servlets/${VERSION}` };

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
export async function requestForGuest(
  guest: Guest,
  head: Json,
  body: Uint8Array,
): Promise<GuestResponse> {
  const { url, method: given } = head;
  const method = typeof given === "string" ? given.toUpperCase() : "GET";
  if (!TOKEN.test(method) || method.length > 32 || FORBIDDEN_METHODS.has(method)) {
    throw new GuestError(
      `The servlet made an HTTP request with a method that is not valid or not allowed (${[...FORBIDDEN_METHODS].join(", ")}). Use another method.`,
    );
  }
  const hasBody = body.length > 0 && method !== "GET" && method !== "HEAD";
  const next: Outgoing = {
    url: allowed(guest, typeof url === "string" ? url : ""),
    method,
    headers: headersOf(head["headers"] ?? head["header"]),
    ...(hasBody ? { body: body.slice() } : {}),
  };
  const methodClass = CLASSES.get(method) ?? "once";
  const intent = await guest.journal.intend(methodClass);
  if (intent?.isRepeated && guest.setup.resends !== true) {
    throw new GuestError(
      `The outcome of the HTTP request to ${next.url.host} is unknown: the server stopped while it was sent. It was not sent again, because the manifest of the servlet does not set "resend_requests".`,
    );
  }
  if (intent !== undefined && !next.headers.has(KEY_HEADER)) {
    next.headers.set(KEY_HEADER, intent.key);
  }
  if (methodClass === "once") await guest.setup.sending?.();
  return guest.wait(
    (signal, gone) => orAborted(exchange(guest, next, signal), gone),
    limits.httpMs,
  );
}

/** Sends a request, and those that it is redirected to. */
async function exchange(
  guest: Guest,
  first: Outgoing,
  signal: AbortSignal,
): Promise<GuestResponse> {
  let next = first;
  for (let redirects = 0; ; redirects++) {
    const response = await send(guest, next, signal);
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || location === null) {
      return read(response, next.url.host, (bytes) => guest.grow(bytes, signal));
    }
    await response.body?.cancel();
    if (redirects === HTTP_REDIRECTS) {
      throw new GuestError(`The HTTP request to ${next.url.host} was redirected too often.`);
    }
    next = redirected(guest, next, response.status, location);
  }
}

function headersOf(value: unknown): Headers {
  const headers = new Headers(DEFAULT_HEADERS);
  if (!isObject(value)) return headers;
  let length = 0;
  for (const [name, given] of Object.entries(value)) {
    if (HOSTS_HEADERS.test(name)) continue;
    // JSON's lists and objects are no text, and may have a `toString` that is no function.
    const text = typeof given === "string" ? given : JSON.stringify(given);
    const content = typeof given === "object" ? undefined : text.trim();
    // A Worker would encode as UTF-8 what is beyond Latin-1; other servers read that in other ways.
    if (content === undefined || !TOKEN.test(name) || /[\0\r\n\u0100-\uffff]/.test(content)) {
      // Whole or not at all: a piece of a secret could not be recognised.
      const which = name.length > 80 ? `a name of ${name.length} characters` : JSON.stringify(name);
      const advice =
        content !== undefined && /[\u0100-\uffff]/.test(content)
          ? ". Its value has characters beyond Latin-1: encode them, as by encodeURIComponent."
          : "";
      throw new GuestError(`The servlet set an HTTP header that is not allowed: ${which}${advice}`);
    }
    length += name.length + content.length;
    if (length > HTTP_HEADER_BYTES) {
      throw new GuestError(
        `The HTTP headers of the servlet's request are too large (limit ${HTTP_HEADER_BYTES} bytes). Send fewer.`,
      );
    }
    headers.set(name, content);
  }
  return headers;
}

/** The URL at this address, which may be relative to `base`, if the guest may reach it. */
function allowed(guest: Guest, address: string, base?: URL): URL {
  if (address.length > limits.urlCharacters) {
    throw new GuestError(
      `The servlet made a request to a URL of over ${limits.urlCharacters} characters.`,
    );
  }
  if (!URL.canParse(address, base)) {
    throw new GuestError(
      "The servlet made an HTTP request with an address that is not a URL. Pass an absolute http or https URL.",
    );
  }
  const url = new URL(address, base);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new GuestError(`The servlet made a request to a ${url.protocol} URL. Use http or https.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new GuestError(
      "The servlet made a request to a URL with a user name or password. Send an Authorization header instead.",
    );
  }
  const { allowedHosts } = guest.setup;
  guest.pay(charactersOf(allowedHosts) * url.host.length);
  if (!isAllowed(url, allowedHosts)) {
    // The host of an address that contains a secret may be a piece of the secret.
    const host = guest.hide(address) === address ? url.host : "that host";
    throw new GuestError(
      `The servlet may not make HTTP requests to ${host.slice(0, 255)}: its manifest does not allow that host. Add it to allowed_hosts in servlet.json.`,
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
    const headers = new Headers(init.headers);
    addTrace(headers, guest.setup.trace);
    ready = new Request(url, { ...init, headers, redirect: "manual", signal });
  } catch {
    throw new GuestError(`The servlet made an HTTP request to ${url.host} that is not valid.`);
  }
  try {
    const { trace, world } = guest.setup;
    return await inHttpSpan(trace, ready, (one) => world.fetch(one));
  } catch (error) {
    throw failed(error, url.host);
  }
}

/** Reads a response; `grow` takes room for so many bytes of it. */
async function read(
  response: Response,
  host: string,
  grow: (bytes: number) => Promise<void>,
): Promise<GuestResponse> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > limits.httpBytes) {
        throw new GuestError(`The response of ${host} is larger than ${limits.httpBytes} bytes.`);
      }
      await grow(chunk.length);
      chunks.push(new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength));
    }
  } catch (error) {
    throw failed(error, host);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
    if (chunk.length === chunk.buffer.byteLength) release(chunk);
  }
  return { status: response.status, headers: receivedHeaders(response.headers), body };
}

/** Lines, since a comma may be part of a cookie; a header has no line breaks. */
function receivedHeaders(headers: Headers): Record<string, string> {
  const cookies = headers.getSetCookie();
  return {
    ...Object.fromEntries(headers),
    ...(cookies.length > 1 && { "set-cookie": cookies.join("\n") }),
  };
}

function failed(error: unknown, host: string): GuestError {
  if (error instanceof GuestError) return error;
  const late = error instanceof Error && error.name === "TimeoutError";
  const why = late
    ? `gave no answer within ${limits.httpMs / 1000} seconds`
    : "could not be reached";
  const advice = isPrivate(new URL(`http://${host}`).hostname)
    ? " It is in a private network: a Worker on Cloudflare reaches none, and a server of npm start does with --private-network."
    : "";
  return new GuestError(`The host ${host} ${why}.${advice}`, { cause: error });
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
