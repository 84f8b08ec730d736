import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { concatBytes, randomBytes } from "@noble/ciphers/utils.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** Encrypts stored data. Synchronous, unlike WebCrypto: a guest's file calls cannot wait. */
export interface Sealing {
  /** `about` names the content, and must be the same to open it. */
  seal(bytes: Uint8Array, about: string): Uint8Array;
  /** Throws if the bytes were not sealed with the same key and `about`. */
  open(sealed: Uint8Array, about: string): Uint8Array;
  /** A keyed hash of a text, 32 hex digits: finds sealed data without revealing the text. */
  tag(text: string, about: string): string;
}

const NONCE = 24;

/** Sealing by XChaCha20-Poly1305 with random nonces, tags by BLAKE2b. The key has 32 bytes. */
export function sealingWith(key: Uint8Array): Sealing {
  const derived = (use: string) => blake2b(utf8ToBytes(use), { key, dkLen: 32 });
  const sealingKey = derived("files: seal");
  const tagKey = derived("files: tag");
  return {
    seal(bytes, about) {
      const nonce = randomBytes(NONCE);
      const cipher = xchacha20poly1305(sealingKey, nonce, utf8ToBytes(about));
      return concatBytes(nonce, cipher.encrypt(bytes));
    },
    open(sealed, about) {
      const nonce = sealed.subarray(0, NONCE);
      return xchacha20poly1305(sealingKey, nonce, utf8ToBytes(about)).decrypt(
        sealed.subarray(NONCE),
      );
    },
    tag: (text, about) =>
      bytesToHex(blake2b(utf8ToBytes(`${about}/${text}`), { key: tagKey, dkLen: 16 })),
  };
}
