import { limits } from "../core/limits.ts";
import type { Json } from "../core/model.ts";
import { release } from "../core/parts.ts";
import { accountOf, connectAccount } from "./account.ts";
import { GuestError, type Guest } from "./guest.ts";
import { requestForGuest, type GuestResponse } from "./http.ts";

/** Sends the request in these blocks for the host function `who`; gives a block with the response's body. */
export async function httpRequest(guest: Guest, who: string, head: bigint, body: bigint) {
  const json = guest.json(head, who);
  const bytes = guest.bytesWithin(limits.httpBytes, body, "The body of the servlet's HTTP request");
  const { body: answer, ...rest } = await recordedRequest(guest, json, bytes);
  guest.http = rest;
  const block = guest.put(answer);
  release(answer);
  return block;
}

/**
 * Sends a request and records its response, or its failure, which is thrown as a `GuestError`. An account that it names
 * is connected before, and again if its token is refused.
 * The body may be a view of the guest's memory, which does not change while the guest waits.
 */
export async function recordedRequest(
  guest: Guest,
  head: Json,
  body: Uint8Array,
): Promise<GuestResponse> {
  const account = accountOf(head);
  if (account === undefined) return oneRequest(guest, head, body);
  // The bytes under the body's view may change before the request is sent again.
  const kept = body.slice();
  await connectAccount(guest, account);
  const response = await oneRequest(guest, head, kept);
  const isAnew = response.status === 401 && (await connectAccount(guest, account, true));
  return isAnew ? oneRequest(guest, head, kept) : response;
}

async function oneRequest(guest: Guest, head: Json, body: Uint8Array): Promise<GuestResponse> {
  if (guest.budget.count("httpRequests") === undefined) {
    throw new GuestError(
      `The servlet made too many HTTP requests in one call (limit ${limits.httpRequests}). Split the work into several calls.`,
    );
  }
  const what = guest.hide(`http ${requestLine(head)}`);
  const question = { what, details: { head: JSON.stringify(head), body } };
  let got: GuestResponse | undefined;
  const live = async () => {
    try {
      got = await requestForGuest(guest, head, body);
      return responseText(got);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      return JSON.stringify({ error: error.message });
    }
  };
  const recorded = await guest.answer(question, live);
  if (got !== undefined) return got;
  return responseIn(recorded);
}

/** Method and host: a path or a query may hold a secret. */
function requestLine({ url, method }: Json): string {
  const host = typeof url === "string" && URL.canParse(url) ? new URL(url).host : "";
  return `${typeof method === "string" ? method.toUpperCase() : "GET"} ${host}`;
}

/** How a journal has a response: JSON whose last member is the body, in base64. */
const BODY = ',"body":"';

/** Bytes that are put into base64 at once: a multiple of three. */
const STEP = 48 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Put together as bytes: of strings, V8 would make several of this size, and keep them for long. */
function responseText({ body, ...rest }: GuestResponse): string {
  const head = encoder.encode(JSON.stringify(rest).slice(0, -1) + BODY);
  const size = 4 * Math.ceil(body.length / 3);
  const text = new Uint8Array(head.length + size + 2);
  text.set(head);
  let end = head.length;
  for (let at = 0; at < body.length; at += STEP) {
    const some = body.subarray(at, at + STEP).toBase64();
    end += encoder.encodeInto(some, text.subarray(end)).written;
  }
  encoder.encodeInto('"}', text.subarray(end));
  const decoded = decoder.decode(text);
  release(text);
  return decoded;
}

/** Throws the `GuestError` that stands there instead. */
function responseIn(text: string): GuestResponse {
  // Base64 has no quotes, so this is where the body begins; headers have them escaped.
  const at = text.lastIndexOf(BODY);
  const { error, ...head } = JSON.parse(at < 0 ? text : `${text.slice(0, at)}}`) as Omit<
    GuestResponse,
    "body"
  > & { error?: string };
  if (error !== undefined) throw new GuestError(error);
  return { ...head, body: Uint8Array.fromBase64(text.slice(at + BODY.length, -2)) };
}
