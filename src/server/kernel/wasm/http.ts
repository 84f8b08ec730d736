import { limits } from "./limits.ts";
import { isObject, type Json } from "../core/model.ts";
import type { MethodClass } from "../core/record.ts";
import { GuestError, type Guest } from "./guest.ts";
import { VERSION } from "../core/version.ts";
import { release } from "../core/parts.ts";
import { orAborted } from "../core/errors.ts";
import { isPrivate } from "../http/private-hosts.ts";
import { addTrace } from "../observe/trace-context.ts";
import { inHttpSpan } from "../observe/spans.ts";
import { EventStream, firstOf } from "./event-stream.ts";
import { charactersOf, isAllowed } from "./hosts.ts";
import type { GuestRequest } from "./world.ts";

/** All headers of a guest's request: a common limit of servers. */
const HTTP_HEADER_BYTES = 16 * 1024;
/** Redirects that a guest's HTTP request follows: browsers follow 20, APIs need 1. */
const HTTP_REDIRECTS = 5;

/** How long events of a stream beside wait for those of the main stream that were sent before them, in ms. */
const MOMENT_MS = 50;

/** A response as the guest sees it. */
export interface GuestResponse {
  status: number;
  /** By lower-case name; several Set-Cookie are lines of one value. */
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
}

/**
 * Headers that a guest may not set, and which are omitted: headers of the connection, of the request's origin, and of
 * browsers.
 */
const HOSTS_HEADERS =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|via|forwarded|cdn-loop|true-client-ip|x-real-ip|x-client-ip|x-original-url|x-rewrite-url|(proxy|cf|sec|x-forwarded)-.*)$/i;

/** https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Methods that open a tunnel, or show what proxies have added to the request. */
const FORBIDDEN_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);

/** The classes of methods; a request with any other method must not be sent twice. */
const CLASSES = new Map<string, MethodClass>([
  ["GET", "safe"],
  ["HEAD", "safe"],
  ["OPTIONS", "safe"],
  ["PUT", "repeatable"],
  ["DELETE", "repeatable"],
  ["POST", "once"],
  ["PATCH", "once"],
]);

/** https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header */
const KEY_HEADER = "idempotency-key";

/** For guests that set none, as on the reference host; some APIs reject requests without. */
const DEFAULT_HEADERS = { accept: "*/*", "user-agent": `edge-servlets/${VERSION}` };

/** A request that may be sent: its host is allowed. */
interface Outgoing {
  url: URL;
  method: string;
  /** By lower-case name. */
  headers: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
}

/** The header with which the host marks a response of which the guest can read more events. */
const MORE_EVENTS = "edge-servlets-more-events";

/**
 * Performs a guest's `http_request`: `{url, method?, headers?}`, as the reference runtime reads it; `url` is its parsed
 * URL, or null if that is invalid. Only hosts that the manifest allows are reached, redirects included. Further members:
 * `events: true` reads an event stream event by event (`nextEvents`), `events: "beside"` opens one whose events come with those
 * of the next such stream, `repeatable: true` says that the request may be sent
 * again after a crash whatever its method.
 *
 * Throws a `GuestError` that says what was refused or failed; it names the host, never the whole URL.
 */
export async function requestForGuest(
  guest: Guest,
  head: Json,
  body: Uint8Array,
  url: URL | null,
): Promise<GuestResponse> {
  const { url: address, method: given } = head;
  const method = typeof given === "string" ? given.toUpperCase() : "GET";
  if (!TOKEN.test(method) || method.length > 32 || FORBIDDEN_METHODS.has(method)) {
    throw new GuestError(
      `The servlet made an HTTP request with a method that is not valid or not allowed (${[...FORBIDDEN_METHODS].join(", ")}). Use another method.`,
    );
  }
  const hasBody = body.length > 0 && method !== "GET" && method !== "HEAD";
  const next: Outgoing = {
    url: allowed(guest, typeof address === "string" ? address : "", url),
    method,
    headers: headersOf(head["headers"] ?? head["header"]),
    ...(hasBody ? { body: body.slice() } : {}),
  };
  const methodClass = head["repeatable"] === true ? "repeatable" : (CLASSES.get(method) ?? "once");
  const intent = guest.journal.hasKeeper ? await guest.journal.intend(methodClass) : undefined;
  if (intent?.isRepeated && guest.setup.resends !== true) {
    throw new GuestError(
      `The outcome of the HTTP request to ${next.url.host} is unknown: the server stopped while it was sent. It was not sent again, because the manifest of the servlet does not set "resend_requests".`,
    );
  }
  if (intent !== undefined) next.headers[KEY_HEADER] ??= intent.key;
  const sending = methodClass === "once" ? guest.setup.sending?.() : undefined;
  if (sending !== undefined) await sending;
  const { events } = head;
  const response = await guest.wait(
    (signal) => exchange(guest, next, { signal, events }),
    limits.httpMs,
  );
  if (!response.isOpen) return response;
  const first = await nextEvents(guest);
  return { ...first, status: response.status, headers: { ...response.headers, ...first.headers } };
}

/**
 * The next events of the guest's open stream; an empty body with the status 204 at its end. Throws a `GuestError` if the
 * connection is lost, as after a restart of the server.
 */
export function nextEvents(guest: Guest): Promise<GuestResponse> {
  const { events } = guest;
  if (events === undefined)
    throw new GuestError("The connection of the event stream was lost. Resume the stream.");
  const readOn = async (signal: AbortSignal): Promise<GuestResponse> => {
    try {
      const { events: body, headers } = await eventsFor(guest, events, signal);
      if (body !== undefined) return { status: 200, headers, body };
      guest.closeEvents();
      return { status: 204, headers: {}, body: new Uint8Array() };
    } catch (error) {
      guest.closeEvents();
      throw failed(error, events.host, limits.eventsMs);
    }
  };
  return guest.wait(readOn, limits.eventsMs);
}

/**
 * Has this request sent if the call is cancelled, in place of any earlier one: a POST `{url, headers?, message}`, for a service
 * that must be told. The message is sent as JSON.
 */
export function tellWhenCancelled(guest: Guest, head: Json): void {
  const { url: address, headers, message } = head;
  const text = typeof address === "string" ? address : "";
  const url = allowed(guest, text, URL.parse(text));
  const { world } = guest.setup;
  guest.whenCancelled = () => {
    const body = new TextEncoder().encode(JSON.stringify(message));
    const request: GuestRequest = {
      method: "POST",
      headers: headersOf(headers),
      body: body as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal: AbortSignal.timeout(limits.httpMs),
    };
    return world.fetch(url, request).then((response) => response.body?.cancel());
  };
}

/** Sends a request, and follows its redirects. The response `isOpen` if its body is the guest's open stream of events. */
async function exchange(
  guest: Guest,
  first: Outgoing,
  { signal, events: wanted }: { signal: AbortSignal; events: unknown },
): Promise<GuestResponse & { isOpen?: boolean }> {
  let next = first;
  for (let redirects = 0; ; redirects++) {
    const response = await send(guest, next, signal);
    const { status } = response;
    const location = isRedirect(status) ? response.headers.get("location") : null;
    if (location === null) {
      const isWanted = wanted === true || wanted === "beside";
      const events = isWanted ? eventsOf(response, next.url) : undefined;
      if (events === undefined) return read(guest, response, next.url, signal);
      if (wanted === true) {
        guest.closeEvents();
        guest.events = events;
        const headers = receivedHeaders(response.headers);
        return { status, headers, body: new Uint8Array(), isOpen: true };
      }
      guest.beside?.cancel();
      guest.beside = events;
      return { status, headers: {}, body: new Uint8Array() };
    }
    await response.body?.cancel();
    if (redirects === HTTP_REDIRECTS) {
      throw new GuestError(`The HTTP request to ${next.url.host} was redirected too often.`);
    }
    next = redirected(guest, next, status, location);
  }
}

function headersOf(value: unknown): Record<string, string> {
  // Without a prototype, as a header's name may be `__proto__`.
  const headers: Record<string, string> = Object.assign(Object.create(null), DEFAULT_HEADERS);
  if (!isObject(value)) return headers;
  let length = 0;
  for (const [name, given] of Object.entries(value)) {
    if (HOSTS_HEADERS.test(name)) continue;
    // Lists and objects of JSON are not text, and may have a `toString` that is not a function.
    const text = typeof given === "string" ? given : JSON.stringify(given);
    const content = typeof given === "object" ? undefined : text.trim();
    // A Worker would encode characters beyond Latin-1 as UTF-8, which other servers interpret differently.
    if (content === undefined || !TOKEN.test(name) || /[\0\r\n\u0100-\uffff]/.test(content)) {
      // Whole or not at all: a part of a secret could not be recognised.
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
    headers[name.toLowerCase()] = content;
  }
  return headers;
}

/** The URL of this address. Throws if it is invalid, or if the guest may not reach it. */
function allowed(guest: Guest, address: string, url: URL | null): URL {
  if (address.length > limits.urlCharacters) {
    throw new GuestError(
      `The servlet made a request to a URL of over ${limits.urlCharacters} characters.`,
    );
  }
  if (url === null) {
    throw new GuestError(
      "The servlet made an HTTP request with an address that is not a URL. Pass an absolute http or https URL.",
    );
  }
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
    // The host of an address that contains a secret may be a part of the secret.
    const host = guest.hide(address) === address ? url.host : "that host";
    throw new GuestError(
      `The servlet may not make HTTP requests to ${host.slice(0, 255)}: its manifest does not allow that host. Add it to allowed_hosts in servlet.json.`,
    );
  }
  return url;
}

async function send(
  guest: Guest,
  { url, ...request }: Outgoing,
  signal: AbortSignal,
): Promise<Response> {
  const { trace, world } = guest.setup;
  const init: GuestRequest = { ...request, redirect: "manual", signal };
  if (!CLASSES.has(request.method)) demandValid(url, request.method);
  try {
    if (trace === undefined) return await world.fetch(url, init);
    // A redirected request gets its own trace headers.
    const headers = new Headers(request.headers);
    addTrace(headers, trace);
    return await inHttpSpan(trace, { url, ...init, headers }, () =>
      world.fetch(url, { ...init, headers }),
    );
  } catch (error) {
    throw failed(error, url.host);
  }
}

/** Throws if the platform cannot send a request with this method. */
function demandValid(url: URL, method: string): void {
  try {
    void new Request(url, { method });
  } catch {
    throw new GuestError(`The servlet made an HTTP request to ${url.host} that is not valid.`);
  }
}

/** The response's events, if it is a stream of events. */
const eventsOf = ({ body, ok, headers }: Response, { host }: URL): EventStream | undefined =>
  ok && body !== null && /^text\/event-stream\b/i.test(headers.get("content-type") ?? "")
    ? new EventStream(body, host)
    : undefined;

/** The events that come next on the guest's streams, with the header that says so. */
async function eventsFor(guest: Guest, main: EventStream, signal: AbortSignal) {
  const grow = (bytes: number) => guest.grow(bytes, signal);
  const moment = () => guest.setup.world.sleep(MOMENT_MS, signal);
  const reading = firstOf({ main, beside: guest.beside, grow, moment });
  const { events, isBeside } = await orAborted(reading, signal);
  const headers: Record<string, string> =
    events === undefined ? {} : { [MORE_EVENTS]: isBeside ? "beside" : "true" };
  return { events, headers };
}

async function read(
  guest: Guest,
  response: Response,
  { host }: URL,
  signal: AbortSignal,
): Promise<GuestResponse> {
  const headers = receivedHeaders(response.headers);
  const grow = (bytes: number) => guest.grow(bytes, signal);
  try {
    const announced = Number.parseInt(headers["content-length"] ?? "", 10);
    const body = await bodyOf(response.body, announced, { host, grow });
    return { status: response.status, headers, body };
  } catch (error) {
    throw failed(error, host);
  }
}

/** Bytes of one read: the first of a body of unknown length, the largest first one, and the largest later one. */
const USUAL_PIECE = 16 * 1024;
const FIRST_PIECE = 64 * 1024;
const LARGE_PIECE = 1024 * 1024;

/**
 * The bytes of a response's body. Its length may differ from the `announced` one, as for a compressed body. Reads few
 * large pieces, as each costs a turn of the event loop; `grow` reserves memory for the bytes of a piece.
 */
async function bodyOf(
  body: ReadableStream<Uint8Array> | null,
  announced: number,
  { host, grow }: { host: string; grow: (bytes: number) => Promise<void> | undefined },
): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const add = (chunk: Uint8Array<ArrayBuffer>) => {
    length += chunk.length;
    if (length > limits.httpBytes)
      throw new GuestError(`The response of ${host} is larger than ${limits.httpBytes} bytes.`);
    chunks.push(chunk);
  };
  const reader = pieceReader(body);
  if (reader === undefined) {
    for await (const chunk of body) {
      add(new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength));
      await grow(chunk.length);
    }
    return joined(chunks, length);
  }
  try {
    // One byte more than announced, so that one read also sees the end.
    let size = Math.min(announced >= 0 ? announced + 1 : USUAL_PIECE, FIRST_PIECE);
    for (;;) {
      const room = grow(size);
      if (room !== undefined) await room;
      const { value } = await reader.readAtLeast(size, new Uint8Array(size));
      if (value === undefined) return joined(chunks, length);
      if (value.length < size) {
        if (chunks.length === 0 && value.length + 1 === size) return value;
        add(new Uint8Array(value.buffer.transfer(value.length)));
        return joined(chunks, length);
      }
      add(value);
      size = Math.min(Math.max(4 * size, USUAL_PIECE), LARGE_PIECE);
    }
  } catch (error) {
    void reader.cancel().catch(() => {});
    throw error;
  }
}

const FILLS = "readAtLeast" in ReadableStreamBYOBReader.prototype;

/** https://developers.cloudflare.com/workers/runtime-apis/streams/readablestreambyobreader */
interface PieceReader {
  /** Fills the buffer, or less at the end of the stream. */
  readAtLeast(
    bytes: number,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<{ value?: Uint8Array<ArrayBuffer> | undefined }>;
  cancel(): Promise<void>;
}

/** A reader that fills buffers. Only workerd has it, and not for streams that JavaScript produces. */
function pieceReader(body: ReadableStream<Uint8Array>): PieceReader | undefined {
  if (!FILLS) return undefined;
  try {
    const reader: unknown = body.getReader({ mode: "byob" });
    return reader as PieceReader;
  } catch {
    return undefined;
  }
}

/** The chunks joined. Takes over or releases the buffers of chunks that fill them. */
function joined(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  length: number,
): Uint8Array<ArrayBuffer> {
  const isWhole = ({ length: own, buffer }: Uint8Array) => own === buffer.byteLength;
  if (chunks.length === 1 && isWhole(chunks[0]!)) return chunks[0]!;
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
    if (isWhole(chunk)) release(chunk);
  }
  return body;
}

/** Lines, since a comma may be part of a cookie, and a header has no line breaks. */
function receivedHeaders(headers: Headers): Record<string, string> {
  const fields = Object.fromEntries(headers) as Record<string, string>;
  delete fields[MORE_EVENTS];
  if (fields["set-cookie"] !== undefined) fields["set-cookie"] = headers.getSetCookie().join("\n");
  return fields;
}

function failed(error: unknown, host: string, mostMs: number = limits.httpMs): GuestError {
  if (error instanceof GuestError) return error;
  const late = error instanceof Error && error.name === "TimeoutError";
  const why = late ? `gave no answer within ${mostMs / 1000} seconds` : "could not be reached";
  const advice = isPrivate(new URL(`http://${host}`).hostname)
    ? " It is in a private network: a Worker on Cloudflare reaches none, and a server of npm start does with --private-network."
    : "";
  return new GuestError(`The host ${host} ${why}.${advice}`, { cause: error });
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

/** https://fetch.spec.whatwg.org/#http-redirect-fetch */
function redirected(guest: Guest, from: Outgoing, status: number, location: string): Outgoing {
  const url = allowed(guest, location, URL.parse(location, from.url));
  if (from.url.protocol === "https:" && url.protocol === "http:")
    throw new GuestError(
      `The HTTP request to ${from.url.host} was redirected from https to http, which is not followed: others could read it. Use an https address of the service.`,
    );
  const isElsewhere = url.origin !== from.url.origin;
  const kept = Object.entries(from.headers).filter(
    ([name]) => !(isElsewhere && (name === "authorization" || name === "cookie")),
  );
  const becomesGet =
    (status === 303 && from.method !== "HEAD") ||
    ((status === 301 || status === 302) && from.method === "POST");
  if (!becomesGet) return { ...from, url, headers: Object.fromEntries(kept) };
  const headers = Object.fromEntries(kept.filter(([name]) => !name.startsWith("content-")));
  return { url, method: "GET", headers };
}
