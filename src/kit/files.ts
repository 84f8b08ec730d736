/**
 * `edge-servlets/files`: the files of a servlet that keeps state, in the folders of its manifest's `allowed_paths`. The functions
 * are named as in `node:fs`, and all are synchronous. They work in handlers only, and throw a `FileError`.
 */
import { bufferOf, decodeUtf8, encodeUtf8 } from "./globals/bytes.ts";
import { hostFor } from "./host.ts";

/**
 * Thrown by the functions on files. `code` is as in Node: `ENOENT`, `EEXIST`, `ENOSPC`, …
 *
 * @example
 * try {
 *   return readFile("/data/missing.txt", "utf8");
 * } catch (error) {
 *   if (error instanceof FileError && error.code === "ENOENT") return "not there yet";
 *   throw error;
 * }
 */
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

/**
 * The result of `stat`.
 *
 * @example
 * writeFile("/data/stats.txt", "22 °C");
 * const { size, mtime }: Stats = stat("/data/stats.txt");
 * return `${size} bytes of ${mtime.toISOString()}`;
 */
export interface Stats {
  /** Of a file, its bytes; of a folder, its number of entries. */
  readonly size: number;
  /** Time of the last change of the contents, in ms since 1970. */
  readonly mtimeMs: number;
  /** The same time as a date. */
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

/** Performs an operation on files; the first byte of the host's answer is 0 if it succeeded. */
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

/**
 * A part of a file, in bytes: `position` is its start, 0 by default; without `length` it extends to the end of the file.
 *
 * @example
 * writeFile("/data/part.txt", "one two three");
 * const middle: Part = { position: 4, length: 3 };
 * readFile("/data/part.txt", "utf8", middle); // → "two"
 */
export interface Part {
  position?: number;
  length?: number;
}

/**
 * Reads a file's bytes, or with "utf8" its text. One call reads at most 6 MiB (`EFBIG`): read larger files in parts.
 *
 * @example
 * writeFile("/data/read.txt", "22 °C");
 * readFile("/data/read.txt", "utf8"); // → "22 °C"
 * readFile("/data/read.txt").length; // → 6
 */
export function readFile(path: string, part?: Part): Uint8Array<ArrayBuffer>;
export function readFile(path: string, encoding: "utf8", part?: Part): string;
export function readFile(path: string, first: "utf8" | Part = {}, part: Part = {}) {
  const isText = first === "utf8";
  const { position, length } = isText ? part : first;
  const bytes = perform({ what: "read", path, position, length });
  return isText ? decodeUtf8(bytes, true) : bytes.slice();
}

/**
 * Writes text or bytes to a file, replacing an existing file. The folder must exist (`ENOENT`).
 *
 * @example
 * writeFile("/data/new.txt", "one line\n");
 * writeFile("/data/new.bin", new Uint8Array([1, 2, 3]));
 */
export function writeFile(path: string, data: Data): void {
  perform({ what: "write", path }, buffered(data));
}

/**
 * Appends text or bytes to a file; creates a missing file.
 *
 * @example
 * appendFile("/data/log.txt", "one line\n");
 * appendFile("/data/log.txt", "one more\n");
 * readFile("/data/log.txt", "utf8"); // → "one line\none more\n"
 */
export function appendFile(path: string, data: Data): void {
  perform({ what: "write", path, append: true }, buffered(data));
}

function buffered(data: Data): ArrayBuffer {
  const bytes = typeof data === "string" ? encodeUtf8(data) : bufferOf(data);
  return bytes.buffer.byteLength === bytes.length
    ? (bytes.buffer as ArrayBuffer)
    : bytes.slice().buffer;
}

/**
 * The names in a folder, in no particular order.
 *
 * @example
 * mkdir("/data/listed");
 * writeFile("/data/listed/a.txt", "");
 * readdir("/data/listed"); // → ["a.txt"]
 */
export function readdir(path: string): string[] {
  return answerOf({ what: "list", path }) as string[];
}

/**
 * Creates a folder. With `recursive` also creates the folders above it; otherwise an existing folder is an error (`EEXIST`).
 *
 * @example
 * mkdir("/data/2026/november", { recursive: true });
 * readdir("/data/2026"); // → ["november"]
 */
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

/**
 * Removes a file or link; with `recursive` also a folder with its contents. With `force`, a missing path is not an error.
 *
 * @example
 * writeFile("/data/old.txt", "");
 * rm("/data/old.txt");
 * rm("/data/old.txt", { force: true });
 */
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

/**
 * Moves a file or folder to another path, replacing an existing file.
 *
 * @example
 * writeFile("/data/draft.txt", "22 °C");
 * rename("/data/draft.txt", "/data/final.txt");
 * exists("/data/draft.txt"); // → false
 */
export function rename(from: string, to: string): void {
  perform({ what: "rename", path: from, to });
}

/**
 * Describes the file or folder at a path; follows symbolic links. Throws `ENOENT` if nothing exists there.
 *
 * @example
 * writeFile("/data/described.txt", "22 °C");
 * stat("/data/described.txt").size; // → 6
 * stat("/data").isDirectory(); // → true
 */
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

/**
 * True if a file or folder exists at a path.
 *
 * @example
 * exists("/data"); // → true
 * exists("/data/nothing.txt"); // → false
 */
export function exists(path: string): boolean {
  try {
    stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}
