/** The wasm of a servlet as the lock file pins it. */
import { basename, dirname, join, resolve } from "node:path";
import { readIfThere, writeWhole } from "../cache.ts";
import { Refusal, refusedAt } from "../refusal.ts";
import { ociDigestOf, LOCK_FILE, readPin, type Pin } from "./lock.ts";
import { openSource } from "./origin.ts";

/** Path of the wasm with this digest in the cache. */
export const cachedPath = (cache: string, digest: string) =>
  join(cache, "sources", `${digest.replace(":", "-")}.wasm`);

/** Writes the wasm into the cache. */
export async function cacheWasm(cache: string, wasm: Uint8Array, digest: string): Promise<void> {
  await writeWhole(cachedPath(cache, digest), wasm);
}

/** The pin of the servlet in this folder; undefined if it has no pin for this source. */
function pinOf(folder: string, source: string): Pin | undefined {
  const path = resolve(folder);
  const pin = readPin(dirname(path), basename(path));
  return pin?.source === source ? pin : undefined;
}

/**
 * The wasm of the servlet in this folder, from the cache or else from its source. Throws a `Refusal` if the servlet is
 * not pinned, or the content of the source differs from the pin.
 */
export async function pinnedWasm(
  folder: string,
  source: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const name = basename(resolve(folder));
  const update = `npm run servlets -- update ${name}`;
  const pin = pinOf(folder, source);
  if (pin === undefined) {
    throw new Refusal(
      `${folder}: its source ${source} is not pinned in ${LOCK_FILE}: look at it with \`${update}\``,
    );
  }
  const kept = await readIfThere(cachedPath(cache, pin.digest));
  if (kept !== undefined && ociDigestOf(kept, pin.digest) === pin.digest) return kept;
  progress(`fetching ${source}`);
  const opened = openSource(source, folder, pin.manifest);
  const wasm = await opened.then((one) => one.wasm()).catch(refusedAt(folder));
  const digest = ociDigestOf(wasm, pin.digest);
  if (digest !== pin.digest) {
    throw new Refusal(
      `${folder}: ${source}: it has the digest ${digest} now, and ${LOCK_FILE} pins ${pin.digest}: see what has changed with \`${update}\``,
    );
  }
  await cacheWasm(cache, wasm, digest);
  return wasm;
}
