/**
 * `node:fs`, as far as servlets support it: the package's files that its modules name, which are bundled into the script, and
 * the folders of `allowed_paths`.
 */
import { Buffer } from "node:buffer";
import * as files from "../files.ts";

/** Set by the bundle step: files of the package in base64, by path. */
declare const SERVLET_FILES: Readonly<Record<string, string>>;

type Data = string | ArrayBufferView;
type Options =
  | string
  | {
      encoding?: string | null;
      recursive?: boolean;
      withFileTypes?: boolean;
      flag?: string;
      force?: boolean;
    }
  | null;

const ROOT = "/servlet";

/** The absolute path; a relative path is relative to the package. */
function wholeOf(path: unknown): string {
  const text = path instanceof URL ? decodeURIComponent(path.pathname) : String(path);
  const parts: string[] = [];
  for (const part of (text.startsWith("/") ? text : `${ROOT}/${text}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

const isOwn = (path: string): boolean => path === ROOT || path.startsWith(`${ROOT}/`);

/** The entries of a folder of the package: true for a folder, false for a file. */
function ownNames(folder: string): Map<string, boolean> {
  const names = new Map<string, boolean>();
  for (const path of Object.keys(SERVLET_FILES)) {
    if (!path.startsWith(`${folder}/`)) continue;
    const [name, ...rest] = path.slice(folder.length + 1).split("/");
    names.set(name!, rest.length > 0);
  }
  return names;
}

function lacking(path: string, what: string): files.FileError {
  const advice = isOwn(path)
    ? `no such file of the package is in the servlet (its path has to be written in the code), ${what}`
    : `servlets have no files of a computer: give a folder by allowed_paths, ${what}`;
  return new files.FileError("ENOENT", path, advice);
}

const encodingOf = (options: Options | undefined): string | undefined =>
  (typeof options === "string" ? options : options?.encoding) ?? undefined;

export function readFileSync(given: unknown, options?: Options): unknown {
  const path = wholeOf(given);
  const own = SERVLET_FILES[path];
  if (own === undefined && isOwn(path)) throw lacking(path, "open");
  const bytes = Buffer.from(own === undefined ? files.readFile(path) : Uint8Array.fromBase64(own));
  const encoding = encodingOf(options);
  return encoding === undefined ? bytes : bytes.toString(encoding);
}

/** The absolute path for a write. Throws for a path in the package, which is read-only. */
function writable(given: unknown): string {
  const path = wholeOf(given);
  if (isOwn(path)) throw lacking(path, "open");
  return path;
}

export function writeFileSync(path: unknown, data: Data, options?: Options): void {
  const isAdded = typeof options === "object" && options?.flag === "a";
  if (isAdded) files.appendFile(writable(path), data);
  else files.writeFile(writable(path), data);
}
export const appendFileSync = (path: unknown, data: Data): void =>
  files.appendFile(writable(path), data);
export const renameSync = (from: unknown, to: unknown): void =>
  files.rename(writable(from), writable(to));

export function mkdirSync(path: unknown, options?: Options): void {
  const isRecursive = typeof options === "object" && options?.recursive === true;
  files.mkdir(writable(path), { recursive: isRecursive });
}

export function rmSync(path: unknown, options?: Options): void {
  const { recursive = false, force = false } =
    typeof options === "object" && options ? options : {};
  if (force && !existsSync(path)) return;
  files.rm(writable(path), { recursive });
}
export const unlinkSync = rmSync;
export const rmdirSync = rmSync;

interface Stats {
  size: number;
  mtimeMs: number;
  mtime: Date;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

export function statSync(given: unknown): Stats {
  const path = wholeOf(given);
  const link = { isSymbolicLink: () => false };
  if (!isOwn(path)) {
    const { size, mtimeMs, mtime, ...found } = files.stat(path);
    return { size, mtimeMs, mtime, isFile: found.isFile, isDirectory: found.isDirectory, ...link };
  }
  const own = SERVLET_FILES[path];
  const isFolder = own === undefined && ownNames(path).size > 0;
  if (own === undefined && !isFolder) throw lacking(path, "stat");
  const size = own === undefined ? 0 : Uint8Array.fromBase64(own).length;
  const time = { mtimeMs: 0, mtime: new Date(0) };
  return { size, ...time, isFile: () => !isFolder, isDirectory: () => isFolder, ...link };
}
export const lstatSync = statSync;

export function existsSync(path: unknown): boolean {
  try {
    statSync(path);
    return true;
  } catch {
    return false;
  }
}
export function accessSync(path: unknown): void {
  statSync(path);
}
export const realpathSync = (path: unknown): string => wholeOf(path);

export function readdirSync(given: unknown, options?: Options): unknown[] {
  const path = wholeOf(given);
  const names = isOwn(path)
    ? [...ownNames(path)]
    : files.readdir(path).map((name) => [name, statSync(`${path}/${name}`).isDirectory()] as const);
  if (typeof options !== "object" || options?.withFileTypes !== true)
    return names.map(([name]) => name);
  return names.map(([name, isFolder]) => ({
    name,
    parentPath: path,
    path,
    isFile: () => !isFolder,
    isDirectory: () => isFolder,
    isSymbolicLink: () => false,
  }));
}

type Done = (error: unknown, value?: unknown) => void;

/** The callback form of a synchronous function. */
const called =
  (work: (...given: never[]) => unknown) =>
  (...given: unknown[]): void => {
    const done = given.pop() as Done;
    let answer: Parameters<Done>;
    try {
      answer = [null, (work as (...all: unknown[]) => unknown)(...given)];
    } catch (error) {
      answer = [error];
    }
    queueMicrotask(() => done(...answer));
  };

export const readFile = called(readFileSync);
export const writeFile = called(writeFileSync);
export const appendFile = called(appendFileSync);
export const mkdir = called(mkdirSync);
export const rm = called(rmSync);
export const unlink = called(rmSync);
export const stat = called(statSync);
export const access = called(accessSync);
export const readdir = called(readdirSync);

const promised =
  <A extends unknown[], T>(work: (...given: A) => T) =>
  async (...given: A): Promise<T> =>
    work(...given);

export const promises = {
  readFile: promised(readFileSync),
  writeFile: promised(writeFileSync),
  appendFile: promised(appendFileSync),
  mkdir: promised(mkdirSync),
  rm: promised(rmSync),
  rmdir: promised(rmSync),
  unlink: promised(rmSync),
  stat: promised(statSync),
  lstat: promised(statSync),
  access: promised(accessSync),
  readdir: promised(readdirSync),
  rename: promised(renameSync),
  realpath: promised(realpathSync),
};

export const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };

export default {
  readFileSync,
  writeFileSync,
  appendFileSync,
  renameSync,
  mkdirSync,
  rmSync,
  unlinkSync,
  rmdirSync,
  statSync,
  lstatSync,
  existsSync,
  accessSync,
  realpathSync,
  readdirSync,
  readFile,
  writeFile,
  appendFile,
  mkdir,
  rm,
  unlink,
  stat,
  access,
  readdir,
  promises,
  constants,
};
