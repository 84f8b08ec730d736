import { release } from "../core/parts.ts";
import { GuestError } from "./budget.ts";
import type { GuestResponse } from "./http.ts";

/** How a journal has a response: JSON whose last member is the body, in base64. */
const BODY = ',"body":"';

/** Bytes that are put into base64 at once: a multiple of three. */
const STEP = 48 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Put together as bytes: of strings, V8 would make several of this size, and keep them for long. */
export function responseText({ body, ...rest }: GuestResponse): string {
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
export function responseIn(text: string): GuestResponse {
  // Base64 has no quotes, so this is where the body begins; headers have them escaped.
  const at = text.lastIndexOf(BODY);
  const { error, ...head } = JSON.parse(at < 0 ? text : `${text.slice(0, at)}}`) as Omit<
    GuestResponse,
    "body"
  > & { error?: string };
  if (error !== undefined) throw new GuestError(error);
  return { ...head, body: Uint8Array.fromBase64(text.slice(at + BODY.length, -2)) };
}
