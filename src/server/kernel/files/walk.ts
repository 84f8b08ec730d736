import { limits } from "./limits.ts";
import { FileSystemError } from "./errors.ts";
import type { Folders } from "./folders.ts";
import type { Inodes } from "./inodes.ts";
import type { Work } from "./table.ts";

/** A name in a folder, in bytes: NAME_MAX of Linux. */
const FILE_NAME_BYTES = 255;

/** The target of a path: a name in a folder, used or not. */
export interface PathTarget {
  folder: number;
  /** Undefined if the path leads to the folder itself: `.`, `..`, or one of them at its end. */
  name: string | undefined;
  /** The node at this place; undefined if there is none. */
  node: number | undefined;
  /** True if the path ends in a slash, so only a folder may be there. */
  isForFolder: boolean;
}

/** Bytes charged for each character of a path: every second one may be a part, `.`. */
const PATH_BYTES = 4;

const encoder = new TextEncoder();

/**
 * Resolves a path from a folder, which it cannot leave. With `follows`, a symbolic link at its end is followed; if the
 * link's target does not exist, the result is the place of that target.
 *
 * Throws `perm` if the path or a link leaves the folder, `noent` and `notdir` if a folder on the way is missing,
 * `loop`, and `nametoolong`.
 */
export function walk(
  { inodes, folders, work }: { inodes: Inodes; folders: Folders; work: Work },
  from: number,
  path: string,
  follows: boolean,
): PathTarget {
  if (path === "") throw new FileSystemError("noent");
  if (encoder.encode(path).length > limits.filePathBytes) throw new FileSystemError("nametoolong");
  if (path.startsWith("/")) throw new FileSystemError("perm");
  const isForFolder = path.endsWith("/");
  const way = [from];
  const left = partsOf(path, work);
  let linksLeft = limits.symlinks;
  for (;;) {
    const folder = way.at(-1)!;
    const name = left.pop();
    if (name === undefined) return { folder, name, node: folder, isForFolder };
    if (name === ".") continue;
    if (name === "..") {
      if (way.length === 1) throw new FileSystemError("perm");
      way.pop();
      continue;
    }
    if (encoder.encode(name).length > FILE_NAME_BYTES) throw new FileSystemError("nametoolong");
    const found = folders.find(folder, name);
    const isLast = left.length === 0;
    if (found?.kind === "link" && (!isLast || follows || isForFolder)) {
      if (linksLeft-- === 0) throw new FileSystemError("loop");
      const target = inodes.get(found.node).target!;
      if (target.startsWith("/")) throw new FileSystemError("perm");
      left.push(...partsOf(target, work));
    } else if (isLast) {
      return { folder, name, node: found?.node, isForFolder };
    } else if (found?.kind === "folder") {
      way.push(found.node);
    } else {
      throw new FileSystemError(found === undefined ? "noent" : "notdir");
    }
  }
}

/** The parts of a path, the last first. A path that ends in `/` ends in its last name. */
function partsOf(path: string, work: Work): string[] {
  work.bytes += path.length * PATH_BYTES;
  return path.split("/").filter(Boolean).toReversed();
}
