import { limits } from "./limits.ts";

/** A folder that a servlet can access. */
export interface Mount {
  /** The name of the store behind it; mounts of the same host share their files. */
  host: string;
  /** The guest's path of the folder. */
  path: string;
  isReadOnly: boolean;
}

/**
 * The mounts in a manifest's `allowed_paths`, in the syntax of hyper-mcp and Extism: `HOST:PLUGIN`, or `PATH` for both;
 * `ro:` before it for read-only.
 *
 * Throws an `Error` that says what is wrong.
 */
export function parseMounts(allowedPaths: readonly string[]): Mount[] {
  if (allowedPaths.length > limits.mounts) {
    throw new Error(
      `allowed_paths: there are ${allowedPaths.length} folders (limit ${limits.mounts}): give the servlet fewer.`,
    );
  }
  const mounts = allowedPaths.map(parseMount);
  const paths = new Set<string>();
  for (const { path } of mounts) {
    const name = path.replace(/(?<=.)\/+$/, "");
    if (paths.has(name)) {
      throw new Error(`allowed_paths: two folders have the path \`${path}\`: give each its own.`);
    }
    paths.add(name);
  }
  return mounts;
}

function parseMount(text: string): Mount {
  if (text.length > limits.filePathBytes) {
    throw new Error(
      `allowed_paths: a folder has ${text.length} characters (limit ${limits.filePathBytes}): give it a shorter path.`,
    );
  }
  const isReadOnly = text.startsWith("ro:");
  const parts = (isReadOnly ? text.slice("ro:".length) : text).split(":");
  const [host = "", path = host] = parts;
  if (parts.length > 2 || host === "" || path === "" || text.includes("\0")) {
    throw new Error(
      `allowed_paths: \`${text}\` is not a folder: write \`HOST:PLUGIN\` or \`PATH\`, with \`ro:\` before it for read-only.`,
    );
  }
  return { host, path, isReadOnly };
}
