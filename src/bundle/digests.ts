/** The digests of a servlet's code. */
import { createHash } from "node:crypto";
import { hashOf } from "../builds/build.ts";
import type { Prepared } from "./wasm/prepare.ts";

/** A servlet with the digests of its code. */
export async function identified<T extends { prepared: Prepared }>(one: T) {
  const { wasm, base, patch } = one.prepared;
  const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const parts = {
    module: digestOf(wasm),
    ...(base && { base: digestOf(base.bytes) }),
    ...(patch && { patch: digestOf(patch.bytes) }),
  };
  return { ...one, parts, hash: await hashOf(parts) };
}
