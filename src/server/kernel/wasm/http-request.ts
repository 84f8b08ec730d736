import { limits } from "./limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { release } from "../core/parts.ts";
import { accountOf, connectAccount, neededScopes } from "./account.ts";
import { stringBytes } from "../core/text.ts";
import { GuestError, type Guest } from "./guest.ts";
import { nextEvents, requestForGuest, tellWhenCancelled, type GuestResponse } from "./http.ts";
import type { LazyAnswer, Question } from "./journal.ts";

/** Sends the request in these blocks for the host function `who`; returns a block with the response's body. */
export async function httpRequest(guest: Guest, who: string, head: bigint, body: bigint) {
  const json = guest.json(head, who);
  const bytes = guest.bytesWithin(limits.httpBytes, body, "The body of the servlet's HTTP request");
  const response = await recordedRequest(guest, json, bytes);
  guest.http = { status: response.status, headers: response.headersJson };
  const block = guest.put(response.body);
  response.releaseBody();
  return block;
}

/**
 * Sends a request and records its response, or its failure, which is thrown as a `GuestError`. An account that it names
 * is connected first, and again if its token is rejected. The body may be a view of the guest's memory, which does not
 * change while the guest waits.
 */
export function recordedRequest(
  guest: Guest,
  head: Json,
  body: Uint8Array,
): Promise<RecordedResponse> {
  const { whenCancelled } = head;
  if (isObject(whenCancelled)) tellWhenCancelled(guest, whenCancelled);
  const account = accountOf(head);
  return account === undefined
    ? oneRequest(guest, head, body)
    : requestAs(guest, account, { head, body });
}

async function requestAs(
  guest: Guest,
  account: string,
  { head, body }: { head: Json; body: Uint8Array },
): Promise<RecordedResponse> {
  // The bytes under the body's view may change before the request is sent again.
  const kept = body.slice();
  await connectAccount(guest, account);
  const response = await oneRequest(guest, head, kept);
  const scopes = neededScopes(response);
  const isRefused = response.status === 401 || scopes.length > 0;
  const isAnew = isRefused && (await connectAccount(guest, account, { scopes }));
  return isAnew ? oneRequest(guest, head, kept) : response;
}

/** The next events of the guest's open stream: `{events: "next"}`. */
async function moreEvents(guest: Guest): Promise<RecordedResponse> {
  const live = () => nextEvents(guest);
  return answered(guest, { what: "http events", details: "" }, live);
}

async function oneRequest(guest: Guest, head: Json, body: Uint8Array): Promise<RecordedResponse> {
  if (head["events"] === "next") return moreEvents(guest);
  if (guest.budget.count("httpRequests") === undefined) {
    throw new GuestError(
      `The servlet made too many HTTP requests in one call (limit ${limits.httpRequests}). Split the work into several calls.`,
    );
  }
  const { url: address, method } = head;
  const url = typeof address === "string" ? URL.parse(address) : null;
  // Method and host only: a path or a query may hold a secret.
  const line = `${typeof method === "string" ? method.toUpperCase() : "GET"} ${url?.host ?? ""}`;
  const details = { head: JSON.stringify(head), body };
  const question = { what: guest.hide(`http ${line}`), details };
  return answered(guest, question, () => requestForGuest(guest, head, details.body, url));
}

/** The recorded response to a question, or the one that `live` gives. Throws a `GuestError` that it threw, or throws now. */
async function answered(
  guest: Guest,
  question: Question,
  send: () => Promise<GuestResponse>,
): Promise<RecordedResponse> {
  const live = async () => {
    try {
      return new RecordedResponse(await send());
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      return JSON.stringify({ error: error.message });
    }
  };
  const recorded = await guest.answer<string | RecordedResponse>(question, live);
  return typeof recorded === "string" ? responseIn(recorded) : recorded;
}

/** A response for the guest. Its text for the journal is written when first read. */
class RecordedResponse implements LazyAnswer {
  readonly status: number;
  /** Its headers by lower-case name, as JSON. */
  readonly headersJson: string;
  readonly body: Uint8Array<ArrayBuffer>;
  #text: string | undefined;
  #isDelivered = false;

  constructor({ status, headers, body }: GuestResponse, text?: string) {
    this.status = status;
    this.headersJson = JSON.stringify(headers);
    this.body = body;
    this.#text = text;
  }

  get #head(): string {
    return `{"status":${this.status},"headers":${this.headersJson}${BODY}`;
  }

  get textBytes(): number {
    const head = this.#head;
    const length = head.length + 4 * Math.ceil(this.body.length / 3) + END.length;
    return stringBytes(head) > head.length ? 2 * length : length;
  }

  get text(): string {
    this.#text ??= responseText(this.#head, this.body);
    if (this.#isDelivered) this.release();
    return this.#text;
  }

  /** Called when the guest has a copy of the body, which is then kept only until the text is written. */
  releaseBody(): void {
    this.#isDelivered = true;
    if (this.#text !== undefined) this.release();
  }

  release(): void {
    if (!this.body.buffer.detached) release(this.body);
  }
}

/** A response in a journal: JSON whose last member is the body, in base64. */
const BODY = ',"body":"';
const END = '"}';

/** Bytes encoded to base64 at once: a multiple of three. */
const STEP = 48 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Built from bytes: with strings, V8 would make several of this size, and hold them for long. */
function responseText(beginning: string, body: Uint8Array): string {
  const head = encoder.encode(beginning);
  const size = 4 * Math.ceil(body.length / 3);
  const text = new Uint8Array(head.length + size + END.length);
  text.set(head);
  let end = head.length;
  for (let at = 0; at < body.length; at += STEP) {
    const some = body.subarray(at, at + STEP).toBase64();
    end += encoder.encodeInto(some, text.subarray(end)).written;
  }
  encoder.encodeInto(END, text.subarray(end));
  const decoded = decoder.decode(text);
  release(text);
  return decoded;
}

/** The response in a recorded text. Throws a recorded `GuestError`. */
function responseIn(text: string): RecordedResponse {
  // Base64 has no quotes, so this is where the body begins; headers have them escaped.
  const at = text.lastIndexOf(BODY);
  const { error, ...head } = JSON.parse(at < 0 ? text : `${text.slice(0, at)}}`) as Omit<
    GuestResponse,
    "body"
  > & { error?: string };
  if (error !== undefined) throw new GuestError(error);
  const body = Uint8Array.fromBase64(text.slice(at + BODY.length, -END.length));
  return new RecordedResponse({ ...head, body }, text);
}
