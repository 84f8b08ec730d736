import { afterEach, beforeEach } from "vitest";
import { Sealer } from "../../src/server/kernel/storage/vault.ts";

/** Returns a function that loses, for the rest of a test, the keys of all that was sealed. */
export function losableKeys(): () => void {
  const { seal, open } = Sealer.prototype;

  /** The nonces of what was sealed since the keys were lost; undefined before. */
  let readable: Set<string> | undefined;
  const nonceOf = (sealed: Uint8Array) => sealed.subarray(0, 16).toHex();

  beforeEach(() => {
    readable = undefined;
    Sealer.prototype.seal = async function (bytes) {
      const sealed = await seal.call(this, bytes);
      readable?.add(nonceOf(sealed));
      return sealed;
    };
    Sealer.prototype.open = async function (sealed) {
      if (readable !== undefined && !readable.has(nonceOf(sealed))) return undefined;
      return open.call(this, sealed);
    };
  });
  afterEach(() => {
    Object.assign(Sealer.prototype, { seal, open });
  });

  return () => {
    readable = new Set();
  };
}
