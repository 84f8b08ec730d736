/** Random bytes of a call, reproducible in a replay. */
import { chacha20 } from "@noble/ciphers/chacha.js";

const NONCE = new Uint8Array(12);
const BLOCK = 256;

/**
 * A cryptographic generator: its output is determined by its key (32 bytes), and does not reveal it.
 * https://www.rfc-editor.org/rfc/rfc8439#section-2.4
 */
export function generator(key: Uint8Array): (bytes: Uint8Array) => void {
  let counter = 0;
  let block = new Uint8Array(0);
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (block.length === 0) {
        block = chacha20(key, NONCE, new Uint8Array(BLOCK), undefined, counter);
        counter += BLOCK / 64;
      }
      const part = block.subarray(0, bytes.length - at);
      bytes.set(part, at);
      block = block.subarray(part.length);
      at += part.length;
    }
  };
}
