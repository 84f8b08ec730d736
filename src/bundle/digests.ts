/** The digests of a servlet's code and files. */
import { createHash } from "node:crypto";
import { hashOf } from "../installs/build.ts";
import type { Prepared } from "./wasm/prepare.ts";

export const digestOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** A servlet with the digests of its code. */
export async function identified<T extends { prepared: Prepared }>(one: T) {
  const { wasm, base, patch } = one.prepared;
  const parts = {
    module: digestOf(wasm),
    ...(base && { base: digestOf(base.bytes) }),
    ...(patch && { patch: digestOf(patch.bytes) }),
  };
  return { ...one, parts, hash: await hashOf(parts) };
}
