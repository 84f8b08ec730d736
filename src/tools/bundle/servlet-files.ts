/** Collects the initial files of a servlet's folders. */
import { readdir, readFile, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { archiveOf } from "../../server/kernel/files/archive.ts";
import { parseMounts } from "../../server/kernel/files/mounts.ts";
import { keepsState } from "../../server/kernel/servlets/manifest.ts";
import { digestedFile, type DigestedFile } from "./digests.ts";
import { Refusal } from "./refusal.ts";
import type { FoundServlet } from "./scan.ts";

/** Maximum bytes of a folder's initial files, which are part of the upload. */
const INITIAL_FILE_BYTES = 4 * 1024 * 1024;

/** An archive of the files of one host, in the cache. */
export interface Archived extends DigestedFile {
  host: string;
}

/** Archives of the hosts in `allowed_paths` that are folders beside the manifest. Throws a `Refusal`. */
export async function archivesOf(
  { manifest, place }: FoundServlet,
  cache: string,
): Promise<Archived[]> {
  const { allowed_paths: paths = [] } = manifest;
  if (paths.length > 0 && !keepsState(manifest)) {
    throw new Refusal(
      '"allowed_paths" needs "state", also where all folders are read-only: write "session", "caller" or "server" there, for whom the files are kept',
    );
  }
  const hosts = new Set(mountsOf(paths).map(({ host }) => host));
  const archives: Archived[] = [];
  for (const host of hosts) {
    if (host.startsWith("/") || host.split("/").includes("..")) continue;
    await demandInside(place, host);
    const files = await filesOf(join(place, host));
    if (files.length === 0) continue;
    const bytes = archiveOf(files);
    if (bytes.length > INITIAL_FILE_BYTES) {
      throw new Refusal(
        `the folder ${host} has ${bytes.length} bytes, and ${INITIAL_FILE_BYTES} is the limit: let the servlet fetch or make its files`,
      );
    }
    archives.push({ host, ...(await digestedFile(cache, "files", bytes)) });
  }
  return archives;
}

function mountsOf(paths: readonly string[]) {
  try {
    return parseMounts(paths);
  } catch (error) {
    throw new Refusal(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Throws a `Refusal` if a link leads outside of the servlet's folder: a servlet must not take private files of the
 * machine.
 */
export async function demandInside(place: string, host: string): Promise<void> {
  if (host.split("/").some((part) => /^\.[^/]/.test(part)))
    throw new Refusal(
      `the folder ${host} is hidden (its name begins with a dot), and servlets do not include hidden folders: rename it`,
    );
  const folder = await realpath(join(place, host)).catch(() => undefined);
  if (folder === undefined || `${folder}${sep}`.startsWith(`${await realpath(place)}${sep}`))
    return;
  throw new Refusal(
    `the folder ${host} is a link to ${folder}, outside of the servlet's folder: copy its files here`,
  );
}

/** All files below a folder, sorted by path, without links and hidden files; empty if there is no such folder. */
export async function filesOf(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  // `readdir` follows links to folders.
  const links = entries.filter((entry) => entry.isSymbolicLink());
  const linked = links.map((entry) => join(entry.parentPath, entry.name) + sep);
  const isBelowLink = (path: string) => linked.some((link) => `${path}${sep}`.startsWith(link));
  const paths = entries
    .filter((entry) => entry.isFile() && !isBelowLink(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) =>
        !relative(folder, path)
          .split(sep)
          .some((part) => part.startsWith(".")),
    )
    .toSorted();
  return Promise.all(
    paths.map(async (path) => ({
      path: relative(folder, path).replaceAll(sep, "/"),
      bytes: new Uint8Array(await readFile(path)),
    })),
  );
}
