import { waitUntil } from "cloudflare:workers";
import { namespaceOf } from "../settings/env.ts";
import { Fault, report } from "../core/errors.ts";
import { limits } from "../core/limits.ts";

/** What is stored of an API key besides the configuration. */
export interface KeyRecord {
  /** SHA-256 of the key, in hex. */
  key: string;
  /** When it was last used, in Unix ms, to within a few seconds; null for a key that never was. */
  used: number | null;
  /** When it was revoked, in Unix ms, and by whom; null for a valid key. */
  revoked: number | null;
  by: string | null;
}

/** RPC interface of the object that has the records of all keys. */
export interface KeyRecordsObject extends Rpc.DurableObjectBranded {
  /** Notes when keys were used (Unix ms, by key), and returns those that are revoked. */
  keysUsed(used: Record<string, number>): Promise<string[]>;
  keyRecords(): Promise<KeyRecord[]>;
  revokeKey(key: string, by: string): Promise<void>;
  /** Undoes a revocation. */
  restoreKey(key: string): Promise<void>;
}

/** The records of keys, in the object that counts runs; undefined where the binding USAGE is missing. */
export function keyRecordsOf(env: object): (() => DurableObjectStub<KeyRecordsObject>) | undefined {
  const objects = namespaceOf<KeyRecordsObject>(env, "USAGE");
  return objects && (() => objects.getByName("usage"));
}

/**
 * The revoked keys as this isolate knows them: at most twice `limits.keyCheckMs` late. They are asked for with the first key, and
 * with the first after a pause.
 */
export class RevokedKeys {
  readonly #records: (() => DurableObjectStub<KeyRecordsObject>) | undefined;
  #revoked: ReadonlySet<string> | undefined;
  #asking: Promise<void> | undefined;
  #next = 0;
  /** When they were last asked for with success. */
  #known = -Infinity;
  #used: Record<string, number> = {};

  constructor(env: object) {
    this.#records = keyRecordsOf(env);
  }

  /** Notes that a key is used, and tells whether it is revoked. Throws `unavailable` while that was never known. */
  async has(key: string): Promise<boolean> {
    if (this.#records === undefined) return false;
    const now = Date.now();
    this.#used[key] = now;
    if (now >= this.#next) {
      this.#next = now + limits.keyCheckMs;
      this.#asking = this.#ask(this.#records);
      waitUntil(this.#asking);
    }
    if (now - this.#known >= 2 * limits.keyCheckMs) await this.#asking;
    if (this.#revoked !== undefined) return this.#revoked.has(key);
    throw new Fault(
      "unavailable",
      "The server does not know yet which keys are revoked. Try again in a moment.",
      { data: { retryAfter: 1 } },
    );
  }

  async #ask(records: () => DurableObjectStub<KeyRecordsObject>): Promise<void> {
    const used = this.#used;
    this.#used = {};
    try {
      const asked = Date.now();
      this.#revoked = new Set(await records().keysUsed(used));
      this.#known = asked;
    } catch (error) {
      if (this.#revoked === undefined) this.#next = 0;
      report(error);
    }
  }
}

/** The fault of a call with a revoked key. */
export const revokedKey = (name: string): Fault =>
  new Fault(
    "unauthorized",
    `The API key ${name} was revoked. Make another with npm run keys -- create, or have an operator restore it.`,
  );
