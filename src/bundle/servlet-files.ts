/** The files that a servlet's folders begin with. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { archiveOf } from "../files/archive.ts";
import { parseMounts } from "../files/mounts.ts";
import { limits } from "../limits.ts";
import { keepsState } from "../servlets/manifest.ts";
import { readIfThere, sha256, writeWhole } from "./cache.ts";
import { Refusal } from "./refusal.ts";
import type { Found } from "./scan.ts";

/** An archive of the files of one host, in the cache. */
export interface Archived {
  host: string;
  digest: string;
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The archives of a servlet's hosts that are folders beside its manifest. Throws a `Refusal`. */
export async function archivesOf({ manifest, place }: Found, cache: string): Promise<Archived[]> {
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
    const files = await filesOf(join(place, host));
    if (files.length === 0) continue;
    const bytes = archiveOf(files);
    if (bytes.length > limits.initialFileBytes) {
      throw new Refusal(
        `the folder ${host} has ${bytes.length} bytes, and ${limits.initialFileBytes} is the limit: let the servlet fetch or make its files`,
      );
    }
    const digest = sha256(bytes);
    const path = join(cache, `${digest.slice(0, 32)}.files.bin`);
    if ((await readIfThere(path)) === undefined) await writeWhole(path, bytes);
    archives.push({ host, digest, path, bytes });
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

/** All files below a folder, in the order of their paths; none if there is no such folder. */
async function filesOf(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  return Promise.all(
    paths.map(async (path) => ({
      path: path.slice(folder.length + 1).replaceAll("\\", "/"),
      bytes: new Uint8Array(await readFile(path)),
    })),
  );
}
