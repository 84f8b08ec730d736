/** Files as they are stored, and their names and media types. */
import { Fault } from "../../kernel/core/errors.ts";
import type { Principal } from "../../kernel/core/model.ts";
import { beginningOf, printableLine } from "../../kernel/core/text.ts";
import { limits } from "./limits.ts";

/** A file that is whole. */
export interface StoredFile {
  id: string;
  name: string;
  mimeType: string;
  size: number;
  /** When it is deleted, in Unix ms. */
  expires: number;
}

/** A file of which bytes may be missing. */
export interface OpenFile extends StoredFile {
  /** How many bytes have arrived. */
  received: number;
  isWhole: boolean;
  /** What a person is asked for; the parts say name, media type and size. */
  request?: FileRequest;
}

/** A file as its owner sees it among all others. */
export interface ListedFile extends OpenFile {
  /** In Unix ms. */
  made: number;
  /** The endpoint where it was made: a profile, or empty for the whole server. */
  profile: string;
  /** The servlet that has made it; absent for a file that was sent. */
  servlet?: string;
}

/** A file, and the caller to whom it belongs. */
export interface OwnedFile<T extends StoredFile> {
  file: T;
  owner: Principal;
}

/** What a person is asked for. */
export interface FileRequest {
  message: string;
  /** Media types and ends of names. */
  accept?: readonly string[] | undefined;
  mostBytes?: number | undefined;
}

/** The file that a person has chosen, as its parts describe it. */
export interface ChosenFile {
  name: string;
  mimeType: string;
  size: number;
}

/** A new file. The size of a servlet's file is unknown until it is whole, that of a requested file until a person has chosen it. */
export interface NewFile {
  id: string;
  name: string;
  mimeType: string;
  size?: number;
  /** Who owns it, and at which endpoint. */
  owner: Principal;
  /** The servlet that makes it; absent for a file that is sent. */
  servlet?: string | undefined;
  /** The digest of the token in the URL to which it is sent; absent for a file of a servlet. */
  upload?: string;
  request?: FileRequest;
  /** The digest of the token in the URL from which it is fetched. */
  link: string;
}

/** A piece of a file: bytes that arrived together, at most `limits.transferReadBytes` of them without a bucket. */
export interface FilePiece {
  start: number;
  length: number;
  /** Its key in the bucket; absent if its bytes are in the object. */
  key?: string;
}

/** A random name of a file, of a part that arrives, or of an object in the bucket. */
export const newName = (): string =>
  crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true });

/** A name without folders, with all characters visible. Throws `invalid_params` if nothing is left of it. */
export function fileNameOf(given: string): string {
  // What `printable` writes for a character begins with a backslash.
  const own = printableLine(given.split(/[\\/]/).at(-1)!).trim();
  const name = beginningOf(own, limits.transferNameCharacters);
  if (name !== "" && name !== "." && name !== "..") return name;
  throw new Fault("invalid_params", "The file has no name. Give it one, such as report.csv.");
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}(?:; ?charset=[\w-]{1,40})?$/;

/** True for the text of a media type. */
export const isMediaType = (text: string): boolean => MEDIA_TYPE.test(text);

/** A media type, in lower case; by default that of bytes. Throws `invalid_params`. */
export function mediaTypeOf(given = "application/octet-stream"): string {
  if (isMediaType(given)) return given.toLowerCase();
  throw new Fault(
    "invalid_params",
    `The media type of the file is not one. Write it as in "text/csv".`,
  );
}

/** True for files that are read as text. */
export const isText = (mimeType: string): boolean =>
  /^text\/|^application\/(?:json|xml|yaml|x-ndjson|javascript|sql)\b|\+(?:json|xml)\b/.test(
    mimeType,
  );
