/** Arguments that are files: their bounds, and how a file is sent. */
import { FILE_KEYWORD, UPLOADS_PATH } from "../server/kernel/core/files.ts";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { mebibytes } from "../server/kernel/core/text.ts";

/** Which files a tool takes. */
export interface FileBounds {
  /** Media types, such as `image/*`, and ends of names, such as `.csv`. Empty for any file. */
  accept: readonly string[];
  /** In bytes. */
  maxSize: number;
}

/** Sends a file to this server, and returns its URI. `show` gets the share that was sent, undefined while the connection is lost. */
export type SendFile = (file: File, how: Sending) => Promise<string>;

export interface Sending {
  show(share: number | undefined): void;
  signal: AbortSignal;
}

/** The bounds of an argument that is a file; undefined for any other schema. */
export function fileBoundsOf({ [FILE_KEYWORD]: mark }: Json): FileBounds | undefined {
  if (!isObject(mark)) return undefined;
  const { accept, maxSize } = mark;
  const all = Array.isArray(accept) ? accept : [];
  return {
    accept: all.filter((one) => typeof one === "string"),
    maxSize: typeof maxSize === "number" ? maxSize : Infinity,
  };
}

/** The bounds in words. */
export const boundsInWords = ({ accept, maxSize }: FileBounds): string[] => [
  ...(accept.length > 0 ? [accept.join(", ")] : []),
  ...(maxSize < Infinity ? [`at most ${mebibytes(maxSize)}`] : []),
];

/** Why a file may not be sent; undefined if it may. */
export function fileRefusalOf(
  { name, type, size }: Pick<File, "name" | "type" | "size">,
  { accept, maxSize }: FileBounds,
): string | undefined {
  if (size > maxSize) return `${name} has ${size} bytes (limit ${maxSize}). Choose a smaller file.`;
  const fits = (wanted: string) =>
    wanted.startsWith(".")
      ? name.toLowerCase().endsWith(wanted.toLowerCase())
      : // Browsers do not know every type.
        type === "" || isOfType(type.toLowerCase(), wanted.toLowerCase());
  if (accept.length === 0 || accept.some(fits)) return undefined;
  return `${name} is not a file of an accepted type (${accept.join(", ")}). Choose another one.`;
}

const isOfType = (type: string, wanted: string): boolean =>
  wanted.endsWith("/*")
    ? wanted === "*/*" || type.startsWith(wanted.slice(0, -1))
    : type.split(";")[0] === wanted;

/**
 * The path of an upload: the page may have another origin than the URL, and sends to its own alone. Throws an `Error` for any
 * other URL, as a servlet's tool may have the name of the server's own.
 */
export function uploadPathOf(url: string): string {
  const path = URL.parse(url)?.pathname ?? "";
  const token = path.startsWith(UPLOADS_PATH) ? path.slice(UPLOADS_PATH.length) : "";
  if (/^[^/]+$/.test(token)) return path;
  throw new Error("The file was not sent: its URL is not one of an upload to this server.");
}
