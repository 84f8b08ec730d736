/** The objects of webhooks, and the tokens in the addresses of those of callers. */
import { retry } from "../../kernel/core/retry.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { HookPlace, HookRef } from "./delivery.ts";
import type { HookObject } from "./hook-object.ts";

/** Bytes of a token: the place of its caller's object, a random number, and what proves that this server made both. */
const PART_BYTES = 16;
const TOKEN_BYTES = 3 * PART_BYTES;

/** The objects in which deliveries are stored: one for each webhook of a servlet, and one for each caller. */
export class HookObjects {
  readonly #objects: DurableObjectNamespace<HookObject>;
  readonly #sealer: Sealer;

  constructor(objects: DurableObjectNamespace<HookObject>, sealer: Sealer) {
    this.#objects = objects;
    this.#sealer = sealer;
  }

  /** Calls the object of a servlet's own webhook, again if it dies: use it for repeatable work. */
  ofServlet<T>(
    { servlet, hook }: HookRef,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    return retry(() => work(this.#objects.getByName(`${servlet}/${hook}`)));
  }

  /** As `ofServlet`, for the object with the webhooks of a caller, by its key. */
  async ofCaller<T>(
    caller: string,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    return this.#at(await this.#placeOf(caller), work);
  }

  /** As `ofServlet`, for the object of this place, whose token `isToken` has accepted. */
  at<T>(
    { token, ...of }: HookPlace,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    if (token === undefined) return this.ofServlet(of, work);
    return this.#at(bytesIn(token)!.subarray(0, PART_BYTES), work);
  }

  /** A new token for the webhook of a caller. */
  async newToken(caller: string, of: HookRef): Promise<string> {
    const token = new Uint8Array(TOKEN_BYTES);
    token.set(await this.#placeOf(caller));
    crypto.getRandomValues(token.subarray(PART_BYTES, 2 * PART_BYTES));
    token.set(await this.#proofOf(token, of), 2 * PART_BYTES);
    return token.toBase64({ alphabet: "base64url", omitPadding: true });
  }

  /**
   * True for a token that this server has made for this webhook, though it may have been revoked since. Guesses are
   * found out here, and reach no object.
   */
  async isToken(text: string, of: HookRef): Promise<boolean> {
    const token = bytesIn(text);
    if (token === undefined) return false;
    const proof = await this.#proofOf(token, of);
    return crypto.subtle.timingSafeEqual(proof, token.subarray(2 * PART_BYTES));
  }

  #at<T>(
    place: Uint8Array,
    work: (object: DurableObjectStub<HookObject>) => Promise<T>,
  ): Promise<T> {
    return retry(() => work(this.#objects.getByName(`caller ${place.toHex()}`)));
  }

  /** The place of a caller's object: a keyed digest, since it is part of addresses that others see. */
  async #placeOf(caller: string): Promise<Uint8Array> {
    return (await this.#sealer.scopeKey(`place of webhooks of ${caller}`)).subarray(0, PART_BYTES);
  }

  /** The proof at the end of a token: a keyed digest of its first parts and its webhook. */
  async #proofOf(token: Uint8Array, { servlet, hook }: HookRef): Promise<Uint8Array<ArrayBuffer>> {
    const parts = token.subarray(0, 2 * PART_BYTES).toHex();
    const proof = await this.#sealer.scopeKey(`token ${parts} of ${servlet}/${hook}`);
    return new Uint8Array(proof.subarray(0, PART_BYTES));
  }
}

/** The bytes of a token; undefined for a text of another form, or another way to write the same bytes. */
function bytesIn(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]{64}$/.test(text)) return undefined;
  return Uint8Array.fromBase64(text, { alphabet: "base64url" });
}
