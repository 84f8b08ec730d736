import { hostFor } from "../host.ts";
import { lazy } from "./lazy.ts";
import type { SubtleCrypto } from "./subtle.ts";
import { bufferOf } from "./bytes.ts";

type Integers = Exclude<ArrayBufferView, DataView | Float32Array | Float64Array>;

/** https://www.w3.org/TR/webcrypto/ */
export const crypto = {
  get subtle(): SubtleCrypto {
    return lazy("subtle").subtle;
  },

  getRandomValues<T extends Integers>(array: T): T {
    const { byteLength } = array;
    if (byteLength > 65_536) {
      throw new DOMException("More than 65536 bytes at once.", "QuotaExceededError");
    }
    bufferOf(array).set(new Uint8Array(hostFor("crypto.getRandomValues()").random(byteLength)));
    return array;
  },

  randomUUID(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
};
