/** The digests of a servlet's code and files. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { hashOf } from "../../server/features/installs/build.ts";
import { writeIfNew } from "./cache.ts";
import type { Cached, Prepared } from "./wasm/prepare.ts";

export const digestOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** A cached file whose name is its digest. */
export interface DigestedFile extends Cached {
  digest: string;
}

/** Writes bytes into the cache; `kind` is the file extension. */
export async function digestedFile(
  cache: string,
  kind: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<DigestedFile> {
  const digest = digestOf(bytes);
  const path = join(cache, `${digest.slice(0, 32)}.${kind}.bin`);
  await writeIfNew(path, bytes);
  return { digest, path, bytes };
}

/** Adds the digests of a servlet's code. */
export async function identified<T extends { prepared: Prepared }>(one: T) {
  const { wasm, base, packages, patch } = one.prepared;
  const parts = {
    module: digestOf(wasm),
    ...(base && { base: digestOf(base.bytes) }),
    ...(packages && { packages: digestOf(packages.bytes) }),
    ...(patch && { patch: digestOf(patch.bytes) }),
  };
  return { ...one, parts, hash: await hashOf(parts) };
}
