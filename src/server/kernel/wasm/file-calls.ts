/** Whole file operations, for guests of the kit, whose language has no WASI. */
import { textIn } from "../core/text.ts";
import { FileSystemError } from "../files/errors.ts";
import type { Files } from "../files/files.ts";
import { findPath, type ResolvedPath } from "../files/guest-paths.ts";
import { limits } from "./limits.ts";
import type { Json } from "../core/model.ts";
import type { Guest } from "./guest.ts";
import { charged } from "./wasi-files.ts";

type Operation = (
  files: Files,
  asked: Json,
  data: Uint8Array,
) => Uint8Array | Json | unknown[] | void;

const encoder = new TextEncoder();

/** Names of a folder that are read at once. */
const PAGE = 500;

/** Finds the file or folder at the path in the argument `name`. */
function found(files: Files, asked: Json, name = "path", follows = true): ResolvedPath {
  const path = asked[name];
  if (typeof path !== "string" || path.includes("\0")) throw new FileSystemError("inval");
  return findPath(files, path, follows);
}

function nodeOf(files: Files, { place }: ResolvedPath): number {
  if (place.node === undefined) throw new FileSystemError("noent");
  if (place.isForFolder && files.node(place.node).kind !== "folder")
    throw new FileSystemError("notdir");
  return place.node;
}

/**
 * Finds the file or folder at the path in the argument `name`, for a change. Throws `perm` if the folder is read-only.
 */
function changed(files: Files, asked: Json, name = "path", follows = false): ResolvedPath {
  const place = found(files, asked, name, follows);
  if (place.mount.isReadOnly) throw new FileSystemError("perm");
  return place;
}

function fileOf(files: Files, at: ResolvedPath): number {
  const node = nodeOf(files, at);
  if (files.node(node).kind === "folder") throw new FileSystemError("isdir");
  return node;
}

/** A count of bytes that the guest gives. */
function countIn(asked: Json, name: string, otherwise: number): number {
  const count = asked[name];
  if (count === undefined) return otherwise;
  if (!Number.isSafeInteger(count) || (count as number) < 0) throw new FileSystemError("inval");
  return count as number;
}

const operations: Readonly<Record<string, Operation>> = {
  read(files, asked) {
    const node = fileOf(files, found(files, asked));
    const { size } = files.node(node);
    const position = Math.min(size, countIn(asked, "position", 0));
    const length = Math.min(size - position, countIn(asked, "length", size));
    if (length > limits.fileReadBytes) throw new FileSystemError("fbig");
    const bytes = new Uint8Array(length);
    files.read(node, position, bytes);
    return bytes;
  },
  write(files, asked, data) {
    const at = changed(files, asked, "path", true);
    if (at.place.node === undefined && at.place.isForFolder) throw new FileSystemError("isdir");
    if (at.place.node !== undefined) fileOf(files, at);
    files.put(at.place, data, { isAppended: asked["append"] === true });
  },
  list(files, asked) {
    const node = nodeOf(files, found(files, asked));
    if (files.node(node).kind !== "folder") throw new FileSystemError("notdir");
    const names: string[] = [];
    let bytes = 0;
    for (let after = 0n; ;) {
      const page = files.list(node, after, PAGE);
      for (const { name } of page) {
        bytes += encoder.encode(JSON.stringify(name)).length + 1;
        names.push(name);
      }
      if (bytes > limits.fileReadBytes) throw new FileSystemError("fbig");
      if (page.length < PAGE) return names;
      after = page.at(-1)!.position;
    }
  },
  mkdir(files, asked) {
    files.create(changed(files, asked).place, "folder");
  },
  remove(files, asked) {
    const { place } = changed(files, asked);
    const isFolder = place.node !== undefined && files.node(place.node).kind === "folder";
    if (isFolder && asked["folder"] === true) files.removeFolder(place);
    else files.unlink(place);
  },
  rename(files, asked) {
    const from = changed(files, asked);
    const to = changed(files, asked, "to");
    if (from.mount.host !== to.mount.host) throw new FileSystemError("xdev");
    files.rename(from.place, to.place);
  },
  stat(files, asked) {
    const { kind, size, modified } = files.node(nodeOf(files, found(files, asked)));
    return { kind, size, mtimeMs: Number(modified / 1000n) / 1000 };
  },
};

/** Linux's messages; other codes are rare, and stand for themselves. */
const MESSAGES: Readonly<Record<string, string>> = {
  exist: "file exists",
  fbig: `it is too large to be read at once (limit ${limits.fileReadBytes} bytes): read a file in parts, and keep fewer entries in a folder`,
  inval: "invalid argument",
  isdir: "it is a folder",
  nametoolong: "the name is too long",
  noent: "no such file or folder",
  nospc: "there is no room for it",
  notdir: "it is not a folder",
  notempty: "the folder is not empty",
  perm: "it is read-only, or outside of the servlet's folders",
  xdev: "the folders are of different stores",
};

/**
 * Performs `{what, path, …}` with this data. Returns a byte 0 and the answer (bytes, or JSON), or a byte 1 and `{code,
 * message}`.
 */
export function fileCall(guest: Guest, head: bigint, body: bigint): bigint {
  const asked = guest.json(head, "file_call");
  const { files } = guest.setup;
  if (files === undefined) {
    const message = "this servlet has no folders: give it some by `allowed_paths` in servlet.json";
    return guest.putAnswer(1, bytesOf({ code: "ENOTSUP", message }));
  }
  const what = textIn(asked["what"]);
  const operation = Object.hasOwn(operations, what) ? operations[what]! : undefined;
  try {
    if (operation === undefined) throw new FileSystemError("inval");
    const data = body === 0n ? new Uint8Array() : guest.bytes(body);
    const answer = charged(guest, files, () => operation(files, asked, data));
    return guest.putAnswer(0, bytesOf(answer));
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    if (error.code === "io") guest.log("error", error.message);
    const code = `E${error.code.toUpperCase()}`;
    return guest.putAnswer(1, bytesOf({ code, message: MESSAGES[error.code] ?? error.code }));
  }
}

const bytesOf = (content: ReturnType<Operation>): Uint8Array =>
  content instanceof Uint8Array
    ? content
    : encoder.encode(content === undefined ? "" : JSON.stringify(content));
