import { Notes } from "../core/notes.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "./limits.ts";
import { excessOf } from "../core/shape.ts";
import { stringBytes } from "../core/text.ts";

/** Members and items of a body, all together. */
const BODY_MEMBERS = 200_000;

/** The media type of a body, in lower case and without its parameters. */
export const contentTypeOf = (headers: Headers): string | undefined =>
  headers.get("content-type")?.split(";")[0]!.trim().toLowerCase();

/** True for the body of a form of a page. */
export const isForm = (headers: Headers): boolean =>
  contentTypeOf(headers) === "application/x-www-form-urlencoded";

/** True for a request whose response may be a page. */
export const acceptsPages = (headers: Headers): boolean =>
  /text\/html/i.test(headers.get("accept") ?? "");

/**
 * Reads the JSON body of a request of at most `most` bytes, by `parse`.
 *
 * Throws `unsupported_media_type`, `too_large`, `parse_error`, or as `bodyText`; the messages quote nothing of the
 * body.
 */
export async function readJson(
  request: Request,
  {
    most = limits.bodyBytes,
    parse = JSON.parse as (text: string) => unknown,
    counter = bodyCounters.get(request),
  }: {
    most?: number;
    parse?: (text: string) => unknown;
    counter?: BodyCounter | undefined;
  } = {},
): Promise<unknown> {
  if (contentTypeOf(request.headers) !== "application/json") {
    throw new Fault("unsupported_media_type", "Content-Type must be application/json.");
  }
  const text = await bodyText(request, most, counter);
  if (text === undefined) throw tooLarge(most);
  if (stringBytes(text) > most) throw tooWide(most);
  let body: unknown;
  try {
    body = parse(text);
  } catch {
    // Checked only here: most bodies are not compressed, and a compressed body is not JSON.
    const coding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
    if (coding !== "identity")
      throw new Fault(
        "unsupported_media_type",
        "The body is compressed (Content-Encoding). Send it without compression.",
      );
    throw new Fault("parse_error", "The body is not valid JSON. Send one JSON value.");
  }
  // A short text cannot be nested deeply.
  if (text.length > 2 * limits.bodyDepth) checkShape(body);
  return body;
}

/** Throws `too_large` for a body that is nested too deeply or has too many members. */
function checkShape(body: unknown): void {
  const depth = limits.bodyDepth;
  const excess = excessOf(body, { depth, members: BODY_MEMBERS });
  if (excess === "depth") {
    throw new Fault(
      "too_large",
      `The body is nested too deeply (limit ${depth} levels). Send one with fewer levels.`,
    );
  }
  if (excess === "members") {
    throw new Fault(
      "too_large",
      `The body has too many members and items (limit ${BODY_MEMBERS}). Send a smaller one.`,
    );
  }
}

/** Counts the bytes of a request's body for its caller. */
export interface BodyCounter {
  /** When the request arrived, in Unix ms. */
  readonly began: number;
  /** Throws `too_many`, or `unavailable` if the server is full. */
  countBody(bytes: number): void;
  /** Aborts when the client disconnects. Must be called before the request waits for more than a short body. */
  leaving(): AbortSignal;
}

/** The counters of requests in flight, by request. */
export const bodyCounters = new Notes<Request, BodyCounter>();

/**
 * Responses that count against their caller until the client has read them: event streams, and the bytes of bodies of
 * more than `limits.smallAnswer`. A map, because access to a response's headers or body makes workerd create those
 * objects.
 */
export const heldResponses = new WeakMap<Response, Uint8Array | "stream">();

/** A response with this text as its whole body. */
export function textResponse(text: string, init: ResponseInit): Response {
  if (text.length <= limits.smallAnswer) return new Response(text, init);
  return bytesResponse(new TextEncoder().encode(text), init);
}

/** A response with these bytes as its whole body. */
export function bytesResponse(bytes: Uint8Array, init: ResponseInit): Response {
  const response = new Response(bytes, init);
  if (bytes.length > limits.smallAnswer) heldResponses.set(response, bytes);
  return response;
}

/** A stream of events as a response. */
export function streamResponse(
  body: ReadableStream<Uint8Array>,
  headers: ResponseInit["headers"] = eventHeaders,
): Response {
  return asStream(new Response(body, { headers }));
}

/** Counts a response from a Durable Object as an event stream until its client has read it. Returns the response. */
export function asStream(response: Response): Response {
  heldResponses.set(response, "stream");
  return response;
}

/**
 * The only place that reads a request's body as text. Its bytes are counted for the caller before they are read, or as
 * they arrive if no length is announced. Returns undefined for a body of more than `most` bytes, of which no more are
 * read. Throws `too_many`, `unavailable`, `too_slow`, `invalid_request` for a bad length, or if the sender leaves.
 */
export function bodyText(
  request: Request,
  most: number,
  counter = bodyCounters.get(request),
): Promise<string | undefined> {
  const announced = lengthOf(request);
  if (announced !== undefined && announced > most) return Promise.resolve(undefined);
  if (announced === 0) return Promise.resolve("");
  if (announced !== undefined) counter?.countBody(announced);
  // Do not touch `request.body`: workerd creates the stream on access.
  if (announced !== undefined && announced <= limits.smallAnswer)
    return shortText(request, announced, counter?.began);
  const { body } = request;
  if (body === null) return Promise.resolve("");
  counter?.leaving();
  return inTime((late) =>
    announced === undefined
      ? textWithin(body, most, { counter, late })
      : textOfLength(body, announced, late),
  );
}

/**
 * The bytes of a request's body as they were sent, for signatures over them; otherwise as `bodyText`: undefined for a
 * body of more than `most` bytes. Throws as that.
 */
export async function bodyBytes(
  request: Request,
  most: number,
  counter = bodyCounters.get(request),
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const announced = lengthOf(request);
  if (announced !== undefined && announced > most) return undefined;
  if (announced !== undefined) counter?.countBody(announced);
  const { body } = request;
  if (announced === 0 || body === null) return new Uint8Array(0);
  counter?.leaving();
  const uncounted = announced === undefined ? counter : undefined;
  const bytes = await inTime((late) =>
    bytesWithin(body, announced ?? most, { counter: uncounted, late }),
  );
  if (bytes === undefined && announced !== undefined) throw tooLong(announced);
  return bytes;
}

/** The value that `read` resolves to. Its argument `late` rejects when the body takes too long. Throws as `bodyText`. */
async function inTime<T>(read: (late: Promise<never>) => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const wait = new BodyWait(reject, { isShort: false });
  try {
    return await Promise.race([read(late).catch((cause) => Promise.reject(cutOff(cause))), late]);
  } finally {
    wait.end();
  }
}

/** A short body of this length as text; a reader would take three times as long. Throws as `bodyText`. */
function shortText(request: Request, length: number, began?: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const wait = new BodyWait(reject, { isShort: true, now: began });
  const read = (text: string) => {
    wait.end();
    if (text.length > length) reject(tooLong(length));
    else resolve(text);
  };
  request.text().then(read, (cause: unknown) => {
    wait.end();
    reject(cutOff(cause));
  });
  return promise;
}

/** Bodies that are being read, the oldest first. */
const awaited = new Set<BodyWait>();
/** Short bodies whose reading begins before this time (Unix ms) have no timer of their own. */
let untimedUntil = 0;

/** Refuses the bodies that have not arrived by this time (Unix ms, now if absent). Each request calls this. */
export function refuseLateBodies(time?: number): void {
  if (awaited.size === 0) return;
  const now = time ?? Date.now();
  for (const one of awaited) {
    if (one.until > now) return;
    awaited.delete(one);
    one.refuse(tooSlow());
  }
}

/**
 * The time limit of one body. A timer takes a tenth of the CPU time of a small call, so at most one short body a second
 * has a timer; late bodies without a timer are refused by the next request or another body's timer.
 */
class BodyWait {
  /** In Unix ms. */
  readonly until: number;
  /** Called with `too_slow`. */
  readonly refuse: (why: Fault) => void;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    refuse: (why: Fault) => void,
    { isShort, now = Date.now() }: { isShort: boolean; now?: number | undefined },
  ) {
    const untimedMs = Math.floor(limits.bodyMs / 60);
    this.refuse = refuse;
    this.until = now + limits.bodyMs;
    awaited.add(this);
    // A later time is from before the clock was set back.
    if (isShort && now < untimedUntil && untimedUntil <= now + untimedMs) return;
    if (isShort) untimedUntil = now + untimedMs;
    const isOver = () => {
      this.refuse(tooSlow());
      // Includes bodies without a timer that began after this one.
      refuseLateBodies(this.until + untimedMs);
    };
    this.#timer = setTimeout(isOver, limits.bodyMs);
  }

  end(): void {
    awaited.delete(this);
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }
}

/** The announced length of a request's body; undefined without one. Throws `invalid_request`. */
export function lengthOf({ headers }: Request): number | undefined {
  const announced = headers.get("content-length");
  if (announced === null) return undefined;
  if (/^\d+$/.test(announced)) return Number(announced);
  throw new Fault(
    "invalid_request",
    "The Content-Length is not a number of bytes. Send the body's length in decimal digits, or none.",
  );
}

const tooLong = (length: number) =>
  new Fault(
    "invalid_request",
    `The body is longer than its Content-Length of ${length} bytes. Send its real length.`,
  );

/** A body of this length as text, cancelled when `late` rejects. Throws `invalid_request` for a longer one. */
async function textOfLength(
  body: ReadableStream<Uint8Array>,
  length: number,
  late: Promise<never>,
): Promise<string> {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // Not a byte stream, unlike the bodies of network requests.
    const text = await textWithin(body, length, { late });
    if (text !== undefined) return text;
    throw tooLong(length);
  }
  late.catch((error: unknown) => reader.cancel(error)).catch(() => {});
  // In one read: many reads of a large body take four times as long.
  const { value } = await reader.readAtLeast(length, new Uint8Array(length));
  if (value?.length !== length) throw new Error("the body ended before its length");
  return new TextDecoder().decode(value);
}

/**
 * A body as text; undefined if it has more than `most` bytes, of which no more are read. It is cancelled when `late`
 * rejects, or `counter` throws.
 */
export async function textWithin(
  body: ReadableStream<Uint8Array> | null,
  most: number,
  { counter, late }: { counter?: BodyCounter | undefined; late?: Promise<never> } = {},
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  late?.catch((error: unknown) => reader?.cancel(error)).catch(() => {});
  let length = 0;
  let text = "";
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      length += read.value.length;
      if (length > most) return undefined;
      counter?.countBody(read.value.length);
      text += decoder.decode(read.value, { stream: true });
    }
    return text + decoder.decode();
  } finally {
    void reader?.cancel().catch(() => {});
  }
}

/** The fault of a body that failed to arrive: its sender has left, which is no error of the server for the log. */
function cutOff(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault("invalid_request", "The body was cut off. Send it again, whole.", { cause });
}

const tooSlow = () =>
  new Fault(
    "too_slow",
    `The body came too slowly (limit ${limits.bodyMs / 1000} seconds). Send the request again on a faster connection, or with a smaller body.`,
  );

const tooLarge = (most: number) =>
  new Fault("too_large", `The body is too large (limit ${most} bytes). Send a smaller one.`);

const tooWide = (most: number) =>
  new Fault(
    "too_large",
    `The body has characters beyond Latin-1, so each counts two bytes (limit ${most} bytes). Send a smaller one.`,
  );

/** As `textWithin`, but as bytes. */
async function bytesWithin(
  body: ReadableStream<Uint8Array>,
  most: number,
  { counter, late }: { counter: BodyCounter | undefined; late: Promise<never> },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const reader = body.getReader();
  late.catch((error: unknown) => reader.cancel(error)).catch(() => {});
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.length;
      if (length > most) return undefined;
      counter?.countBody(read.value.length);
      pieces.push(read.value);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Headers of a JSON response: not cacheable, and not sniffed by browsers. */
export const jsonHeaders = new Headers({
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});

/** Headers of an event stream. */
export const eventHeaders = new Headers({
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
});
