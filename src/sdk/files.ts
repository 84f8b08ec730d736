/**
 * Files of a servlet that keeps state, in the folders that `allowed_paths` of its manifest gives it. Named as in
 * `node:fs`; all are synchronous. They work in handlers only.
 *
 * @example
 * import { appendFile, readFile } from "edge-servlets/files";
 * appendFile("/data/log.txt", "one more line\n");
 * const text = readFile("/data/log.txt", "utf8");
 */
import { bufferOf, decodeUtf8, encodeUtf8 } from "./globals/bytes.ts";
import { hostFor } from "./host.ts";

/** Thrown by a function of this module. `code` is that of Node: `ENOENT`, `EEXIST`, `ENOSPC`, … */
export class FileError extends Error {
  override name = "FileError";
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string, message: string) {
    super(`${code}: ${message}, ${path}`);
    this.code = code;
    this.path = path;
  }
}

/** The result of `stat`. */
export interface Stats {
  /** Bytes of a file; entries of a folder. */
  readonly size: number;
  /** When its contents last changed: ms since 1970, and as a date. */
  readonly mtimeMs: number;
  readonly mtime: Date;
  isFile(): boolean;
  isDirectory(): boolean;
}

type Data = string | ArrayBufferLike | ArrayBufferView;

interface Operation {
  what: "read" | "write" | "list" | "mkdir" | "remove" | "rename" | "stat";
  path: string;
  [option: string]: string | number | boolean | undefined;
}

/** Does something with files; the first byte of the host's answer tells whether it succeeded. */
function perform(operation: Operation, data?: ArrayBuffer): Uint8Array<ArrayBuffer> {
  const answer = new Uint8Array(hostFor("Files").files(JSON.stringify(operation), data));
  if (answer[0] === 0) return answer.subarray(1);
  const { code, message } = JSON.parse(decodeUtf8(answer.subarray(1), true)) as FileError;
  throw new FileError(code, operation.path, message);
}

const answerOf = (operation: Operation): unknown =>
  JSON.parse(decodeUtf8(perform(operation), true));

const codeOf = (error: unknown): string | undefined =>
  error instanceof FileError ? error.code : undefined;

/** A part of a file, in bytes; to its end by default. */
export interface Part {
  position?: number;
  length?: number;
}

/**
 * A file's bytes, or its text with "utf8". One call reads 6 MiB at most (`EFBIG`): larger files are read in parts.
 */
export function readFile(path: string, part?: Part): Uint8Array<ArrayBuffer>;
export function readFile(path: string, encoding: "utf8", part?: Part): string;
export function readFile(path: string, first: "utf8" | Part = {}, part: Part = {}) {
  const isText = first === "utf8";
  const { position, length } = isText ? part : first;
  const bytes = perform({ what: "read", path, position, length });
  return isText ? decodeUtf8(bytes, true) : bytes.slice();
}

/** Makes a file with this content, in place of one that is there. */
export function writeFile(path: string, data: Data): void {
  perform({ what: "write", path }, buffered(data));
}

/** Adds to the end of a file, which is made where it is missing. */
export function appendFile(path: string, data: Data): void {
  perform({ what: "write", path, append: true }, buffered(data));
}

function buffered(data: Data): ArrayBuffer {
  const bytes = typeof data === "string" ? encodeUtf8(data) : bufferOf(data);
  return bytes.buffer.byteLength === bytes.length
    ? (bytes.buffer as ArrayBuffer)
    : bytes.slice().buffer;
}

/** The names in a folder, in no particular order. */
export function readdir(path: string): string[] {
  return answerOf({ what: "list", path }) as string[];
}

/** Makes a folder; with `recursive` also those above it, and one that is there is no error. */
export function mkdir(path: string, { recursive = false }: { recursive?: boolean } = {}): void {
  try {
    perform({ what: "mkdir", path });
  } catch (error) {
    if (!recursive) throw error;
    const above = path.replace(/\/*[^/]+\/*$/, "");
    if (codeOf(error) === "ENOENT" && above !== "" && above !== path) {
      mkdir(above, { recursive });
      perform({ what: "mkdir", path });
    } else if (codeOf(error) !== "EEXIST" || !stat(path).isDirectory()) throw error;
  }
}

/** Removes a file or link; with `recursive` also a folder and all that is in it, with `force` also nothing. */
export function rm(
  path: string,
  { recursive = false, force = false }: { recursive?: boolean; force?: boolean } = {},
): void {
  try {
    perform({ what: "remove", path, folder: recursive });
  } catch (error) {
    if (force && codeOf(error) === "ENOENT") return;
    if (!recursive || codeOf(error) !== "ENOTEMPTY") throw error;
    for (const name of readdir(path)) rm(`${path}/${name}`, { recursive });
    perform({ what: "remove", path, folder: true });
  }
}

/** Gives a file or folder another path, in place of a file that is there. */
export function rename(from: string, to: string): void {
  perform({ what: "rename", path: from, to });
}

/** Describes the file or folder at a path; follows symbolic links. */
export function stat(path: string): Stats {
  const { kind, size, mtimeMs } = answerOf({ what: "stat", path }) as {
    kind: string;
    size: number;
    mtimeMs: number;
  };
  return {
    size,
    mtimeMs,
    mtime: new Date(mtimeMs),
    isFile: () => kind === "file",
    isDirectory: () => kind === "folder",
  };
}

/** True if something is at a path. */
export function exists(path: string): boolean {
  try {
    stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}
