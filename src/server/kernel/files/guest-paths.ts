import { limits } from "../core/limits.ts";
import { oncePer } from "../core/once-per.ts";
import { FileSystemError } from "./errors.ts";
import type { Files } from "./files.ts";
import type { Mount } from "./mounts.ts";
import { rootOfStore } from "./tree.ts";
import type { PathTarget } from "./walk.ts";

/** A path of the guest in one of its folders. */
interface InMount {
  mount: Mount;
  /** The folder's own number. */
  root: number;
  path: string;
}

/**
 * The mount that contains a path of the guest: the one with the longest matching path. Relative paths begin at `/`, as
 * in the C library. Throws a `FileSystemError`: `noent` if no mount matches.
 */
export function mountOf(files: Files, path: string): InMount {
  if (path.length > limits.filePathBytes) throw new FileSystemError("nametoolong");
  files.work.bytes += path.length + files.mounts.length * MOUNT_BYTES;
  const own = absolute(path);
  let found: { mount: Mount; at: string } | undefined;
  for (const mount of files.mounts) {
    const at = placeOf(mount);
    const isWithin = own === at || own.startsWith(`${at}/`);
    if (isWithin && (found === undefined || at.length > found.at.length)) found = { mount, at };
  }
  if (found === undefined || path === "") throw new FileSystemError("noent");
  const { mount, at } = found;
  return { mount, root: rootOfStore(files, mount.host)!, path: own.slice(at.length + 1) || "." };
}

/** Bytes charged for each mount that a path is compared with. */
const MOUNT_BYTES = 16;

const placeOf = oncePer((mount: Mount) => absolute(mount.path).replace(/\/$/, ""));

/** A path of the guest, resolved. */
export interface ResolvedPath extends InMount {
  place: PathTarget;
}

/** Throws a `FileSystemError`. */
export function findPath(files: Files, path: string, follows: boolean): ResolvedPath {
  const found = mountOf(files, path);
  return { ...found, place: files.walk(found.root, found.path, follows) };
}

/** From `/`, without empty parts and `.`; a trailing slash stays. */
function absolute(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return `/${parts.join("/")}${parts.length > 0 && path.endsWith("/") ? "/" : ""}`;
}
