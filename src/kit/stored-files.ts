import { requestOne } from "./asks.ts";
import { isObject } from "../server/kernel/core/model.ts";
import { callHost, hostFor, tell } from "./host.ts";
import type { JsonSchema } from "./infer.ts";
import type { ContentBlock } from "./types.ts";

/** Bytes that are sent to the host, or read from it, at once. */
const PART_BYTES = 512 * 1024;

/**
 * A link to a file that `context.file` has stored: a block of content for the result of a tool.
 *
 * @example
 * const link: FileLink = await context.file("a,b", { name: "table.csv", mimeType: "text/csv" });
 * return ["Here is the table.", link];
 */
export type FileLink = ContentBlock & { type: "resource_link" };

/**
 * Stores a file for the caller, and returns a link to it for the result: a URL that is valid for some hours, from which anybody
 * who has it may fetch the file. Tools take the file by the URI in its description, and clients read it in parts by that. What does
 * not fit into memory is given in pieces, such as by a generator or as the `body` of a `Response`. The media type is that of a text
 * or of bytes by default. Throws an `Error` if the manifest lacks `files`, or there is no room.
 */
export async function storeFile(
  content: string | Uint8Array | AsyncIterable<string | Uint8Array>,
  {
    name,
    mimeType = typeof content === "string"
      ? "text/plain; charset=utf-8"
      : "application/octet-stream",
  }: { name: string; mimeType?: string },
): Promise<FileLink> {
  let id: string | undefined;
  let start = 0;
  const write = async (part: Uint8Array, isLast: boolean): Promise<unknown> => {
    const given = { name, mimeType, start, bytes: part.toBase64(), isLast };
    const answer = await callHost("file()", "transfers.write", { ...(id && { id }), ...given });
    ({ id } = answer as { id?: string });
    start += part.length;
    return answer;
  };
  let held: Uint8Array = new Uint8Array();
  for await (const part of partsOf(content)) {
    if (held.length > 0) await write(held, false);
    held = part;
  }
  return (await write(held, true)) as FileLink;
}

/** The bytes of a content, as many at once as are sent to the host. */
async function* partsOf(
  content: string | Uint8Array | AsyncIterable<string | Uint8Array>,
): AsyncIterable<Uint8Array> {
  if (typeof content === "string" || content instanceof Uint8Array) {
    const bytes = bytesOf(content);
    for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
    return;
  }
  let part = new Uint8Array(PART_BYTES);
  let filled = 0;
  for await (const piece of content) {
    for (let bytes = bytesOf(piece); bytes.length > 0;) {
      const some = bytes.subarray(0, PART_BYTES - filled);
      part.set(some, filled);
      filled += some.length;
      bytes = bytes.subarray(some.length);
      if (filled < PART_BYTES) continue;
      yield part;
      part = new Uint8Array(PART_BYTES);
      filled = 0;
    }
  }
  yield part.subarray(0, filled);
}

function bytesOf(piece: string | Uint8Array): Uint8Array {
  if (typeof piece === "string") return new TextEncoder().encode(piece);
  if (piece instanceof Uint8Array) return piece;
  throw new TypeError("file(): a piece is neither a string nor a Uint8Array.");
}

/**
 * A file that the caller has passed to a tool.
 *
 * @example
 * const csv: PassedFile = await context.open("data:text/csv,1%2C2");
 * return `${(await csv.text()).split("\n").length} lines`;
 */
export interface PassedFile {
  readonly name: string;
  readonly mimeType: string;
  /** In bytes. */
  readonly size: number;
  /** Its bytes from `start` on, at most `length`: all by default. */
  bytes(start?: number, length?: number): Promise<Uint8Array<ArrayBuffer>>;
  /** All of it, as UTF-8. */
  text(): Promise<string>;
  /** Its bytes in parts, in order: for a file that does not fit into memory. */
  parts(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** A link to it, as of `context.file`. Throws an `Error` for a file in the argument itself. */
  link(): Promise<FileLink>;
}

/**
 * Opens a file by the value of an argument that is a `file()`. Throws an `Error` if the caller has no such file, or the manifest
 * lacks `files`.
 */
export async function openFile(uri: string): Promise<PassedFile> {
  const inline = /^data:([^,]*),([^]*)$/i.exec(uri);
  if (inline !== null) return inlineFile(inline[1]!, inline[2]!);
  const found = (await callHost("open()", "transfers.open", { uri })) as Known;
  return passed(found, uri, async (start, length) => {
    const read = await callHost("open()", "transfers.read", { uri, start, length });
    return Uint8Array.fromBase64(read as string);
  });
}

/**
 * Asks the user for a file, on a page of this server, and waits until it is there. Undefined if the user does not open the page.
 * `accept` and `mostBytes` are those of `file()`. Throws an `Error` if the file does not come in time, or the manifest lacks `files`.
 */
export async function askFile(request: {
  message: string;
  accept?: readonly string[];
  mostBytes?: number;
}): Promise<PassedFile | undefined> {
  const uri = await askedFile("askFile()", request);
  return uri === undefined ? undefined : openFile(uri);
}

/** As `askFile`, but returns the file's URI. `what` names the function in messages. */
export async function askedFile(
  what: string,
  request: Parameters<typeof askFile>[0],
): Promise<string | undefined> {
  const { message } = request;
  const { uri, url } = (await callHost(what, "transfers.ask", request)) as Record<
    "uri" | "url",
    string
  >;
  const params = { mode: "url", message, url, elicitationId: uri };
  if (requestOne("elicitation/create", params)["action"] !== "accept") return undefined;
  for (let pauseMs = 1000; !(await callHost(what, "transfers.arrived", { uri }));) {
    hostFor(what).sleep(pauseMs);
    // The person may take a day, in which a call may ask the host some hundred times.
    pauseMs = Math.min(1.1 * pauseMs, 120_000);
  }
  tell("notify_url_elicitation_completed", { elicitationId: uri });
  return uri;
}

/** A file in a `data:` URI, as clients pass small ones (SEP-2356). */
function inlineFile(head: string, body: string): PassedFile {
  const [mimeType, ...rest] = head.split(";");
  const named = rest.find((one) => one.startsWith("name="))?.slice("name=".length) ?? "file";
  let bytes: Uint8Array<ArrayBuffer>;
  let name: string;
  try {
    name = decodeURIComponent(named);
    // Large ones are in base64, where there is little to decode.
    const text = body.includes("%") ? decodeURIComponent(body) : body;
    bytes = rest.some((one) => /^base64$/i.test(one))
      ? Uint8Array.fromBase64(text)
      : new TextEncoder().encode(text);
  } catch {
    throw new Error("open(): the data: URI is not whole. Pass it again.");
  }
  const known = { name, mimeType: mimeType || "text/plain", size: bytes.length };
  return passed(known, "data:", async (start, length) => bytes.slice(start, start + length));
}

type Reader = (start: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

type Known = Pick<PassedFile, "name" | "mimeType" | "size">;

function passed({ name, mimeType, size }: Known, uri: string, read: Reader): PassedFile {
  const whole: PassedFile = {
    name,
    mimeType,
    size,
    async bytes(start = 0, length = size - start) {
      const end = Math.min(size, start + length);
      const all = new Uint8Array(Math.max(0, end - start));
      for (let at = start; at < end; at += PART_BYTES)
        all.set(await read(at, Math.min(PART_BYTES, end - at)), at - start);
      return all;
    },
    link: async () => (await callHost("link()", "transfers.link", { uri })) as FileLink,
    text: async () => new TextDecoder().decode(await whole.bytes()),
    async *parts() {
      for (let at = 0; at < size; at += PART_BYTES)
        yield await read(at, Math.min(PART_BYTES, size - at));
    },
  };
  return whole;
}

/** True once a schema of a file was made: the manifest then says that the servlet takes files. */
export const made = { isFileTaken: false };

/**
 * The JSON Schema of an argument that is a file, which `context.open` opens. `accept` has media types, such as `image/*`, and ends
 * of names, such as `.csv`; `mostBytes` is its size at most. With `ask`, a caller may leave it out: the user is asked for it by this
 * message, on a page of the server. With zod: `z.string().meta(file())`.
 *
 * @example
 * const input = { type: "object", properties: { table: file({ accept: ["text/csv"] }) } } as const;
 */
export function file({
  accept,
  mostBytes,
  ask,
  description,
}: { accept?: readonly string[]; mostBytes?: number; ask?: string; description?: string } = {}) {
  made.isFileTaken = true;
  return {
    type: "string" as const,
    ...(description !== undefined && { description }),
    "x-edge-file": {
      ...(accept && { accept }),
      ...(mostBytes !== undefined && { mostBytes }),
      ...(ask !== undefined && { ask }),
    },
  };
}

/** The arguments that the user is asked for where they are missing: those of `file({ ask })`, by name. */
export function askedFiles(schema: JsonSchema): [string, Parameters<typeof askFile>[0]][] {
  const { properties } = schema;
  return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, property]) => {
    const mark = isObject(property) ? property["x-edge-file"] : undefined;
    if (!isObject(mark) || typeof mark["ask"] !== "string") return [];
    const { ask: message, ...bounds } = mark;
    return [[name, { message, ...bounds }]];
  });
}
