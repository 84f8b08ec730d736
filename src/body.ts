import { Fault } from "./errors.ts";
import { limits } from "./limits.ts";
import { excessOf } from "./shape.ts";
import { stringBytes } from "./text.ts";

/**
 * Reads the JSON body of a request.
 *
 * Throws `unsupported_media_type`, `too_large` or `parse_error`; the messages quote nothing of the body.
 */
export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Fault("unsupported_media_type", "Content-Type must be application/json.");
  }
  const text = await readText(request);
  if (stringBytes(text) > limits.bodyBytes) throw tooWide();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Fault("parse_error", "The body is not valid JSON. Send one JSON value.");
  }
  // A short text cannot be deep.
  if (text.length > 2 * limits.bodyDepth) checkShape(body);
  return body;
}

/** Throws `too_large` for a body that is nested too deeply or has too many members. */
function checkShape(body: unknown): void {
  const { bodyDepth: depth, bodyMembers: members } = limits;
  const excess = excessOf(body, { depth, members });
  if (excess === "depth") {
    throw new Fault(
      "too_large",
      `The body is nested too deeply (limit ${depth} levels). Send one with fewer levels.`,
    );
  }
  if (excess === "members") {
    throw new Fault(
      "too_large",
      `The body has too many members and items (limit ${members}). Send a smaller one.`,
    );
  }
}

/** The body as text. Throws `too_large` before it is read whole, `invalid_request` where its sender leaves. */
async function readText(request: Request): Promise<string> {
  const announced = request.headers.get("content-length");
  if (Number(announced) > limits.bodyBytes) throw tooLarge();
  if (announced !== null || request.body === null) return request.text().catch(cutOff);
  const text = await requestTextWithin(request.body, limits.bodyBytes);
  if (text === undefined) throw tooLarge();
  return text;
}

/** A body as text; undefined where it has more than `most` bytes, of which no more are read. */
export async function textWithin(
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > most) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The same of a request. Throws `invalid_request` where its sender leaves. */
export const requestTextWithin = (
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<string | undefined> => textWithin(body, most).catch(cutOff);

/** Reading a request fails only where its sender has left: no fault of the server, which the log would show. */
function cutOff(cause: unknown): never {
  throw new Fault("invalid_request", "The body was cut off. Send it again, whole.", { cause });
}

const tooLarge = () =>
  new Fault(
    "too_large",
    `The body is too large (limit ${limits.bodyBytes} bytes). Send a smaller one.`,
  );

const tooWide = () =>
  new Fault(
    "too_large",
    `The body has characters beyond Latin-1, so each counts two bytes (limit ${limits.bodyBytes} bytes). Send a smaller one.`,
  );

/** Headers of a JSON response: not cacheable, and its type not to be guessed by browsers. */
export const jsonHeaders = new Headers({
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});
