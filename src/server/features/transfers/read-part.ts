/** Parts of stored files, for clients and models. */
import { Fault } from "../../kernel/core/errors.ts";
import type { Principal, ReadResourceResult } from "../../kernel/core/model.ts";
import { limits } from "./limits.ts";
import { isText } from "./stored-file.ts";
import type { StoredFiles } from "./stored-files.ts";
import type { FileRange } from "./transfers-object.ts";
import { fileUri, RANGE_META, storedFileIn } from "./wire.ts";

/** A part of a file: whole lines of a text, if there are any; otherwise whole characters, or bytes. */
export interface FilePart extends FileRange {
  uri: string;
  name: string;
  mimeType: string;
  /** Bytes of the whole file. */
  size: number;
  text?: string;
  bytes?: Uint8Array;
  /** The URI of the next part; absent at the end. */
  next?: string;
}

/** The part of a file that a URI names. Throws `invalid_params`. */
export async function readPart(
  files: StoredFiles,
  owner: Principal,
  uri: string,
  given: Partial<FileRange> = {},
): Promise<FilePart> {
  const named = storedFileIn(uri);
  if (named === undefined)
    throw new Fault(
      "invalid_params",
      "This is not the URI of a stored file. Copy it again, whole.",
    );
  const { id, query } = named;
  const start = given.start ?? numberIn(query, "offset") ?? 0;
  const wanted = given.length ?? numberIn(query, "length") ?? limits.shownPartBytes;
  if (wanted < 1)
    throw new Fault("invalid_params", "The length of the part is 0. Ask for at least one byte.");
  const { name, mimeType, size } = await files.open(owner, id);
  // A character of a text has up to 4 bytes.
  const least = isText(mimeType) ? 4 : 1;
  const most = Math.min(Math.max(wanted, least), limits.transferReadBytes);
  const bytes = await files.read(owner, id, { start, length: most });
  const isAtEnd = start + bytes.length >= size;
  const part = isText(mimeType) ? textIn(bytes, isAtEnd) : { bytes, length: bytes.length };
  const end = start + part.length;
  return {
    uri,
    name,
    mimeType,
    size,
    start,
    ...part,
    ...(end < size && { next: fileUri(id, end) }),
  };
}

/** The content of a part as a resource. */
export async function readAsResource(
  files: StoredFiles,
  owner: Principal,
  given: string,
): Promise<ReadResourceResult> {
  const { uri, mimeType, text, bytes, start, length, size, next } = await readPart(
    files,
    owner,
    given,
  );
  const content = text === undefined ? { blob: bytes!.toBase64() } : { text };
  const range = { offset: start, length, size, ...(next !== undefined && { next }) };
  return { contents: [{ uri, mimeType, ...content, _meta: { [RANGE_META]: range } }] };
}

/** A number in the query of a URI. Throws `invalid_params`. */
function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Fault(
    "invalid_params",
    `The ${name} in the URI is not a number of bytes, such as ${name}=65536.`,
  );
}

/** Bytes as text: up to the end of the last whole line, or of the last whole character if there is no line's end. */
function textIn(bytes: Uint8Array, isAtEnd: boolean): { text: string; length: number } {
  const line = isAtEnd ? -1 : bytes.lastIndexOf(10) + 1;
  const length = isAtEnd ? bytes.length : line > 0 ? line : wholeCharacters(bytes);
  return { text: new TextDecoder().decode(bytes.subarray(0, length)), length };
}

/** How many bytes there are of whole characters; all of them if they are no UTF-8. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    const isCut = needed > back && bytes.length > back;
    return isCut ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
