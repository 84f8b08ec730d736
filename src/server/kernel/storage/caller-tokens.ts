import type { Sealer } from "./vault.ts";

/** Bytes of a token: the place of its caller's object, what nobody can guess, and a proof that this server has made both. */
const PART_BYTES = 16;
const TOKEN_BYTES = 3 * PART_BYTES;

/**
 * Tokens in URLs, each for something of one caller. A token says in which object of its caller it is known, and reveals
 * nobody's name. Guesses are found out here, and reach no object.
 */
export class CallerTokens {
  readonly #sealer: Sealer;
  readonly #purpose: string;

  /** Tokens of another purpose are refused. */
  constructor(sealer: Sealer, purpose: string) {
    this.#sealer = sealer;
    this.#purpose = purpose;
  }

  /** Where the object of a caller is, as 32 hex digits. */
  async placeOf(caller: string): Promise<string> {
    return (await this.#placeOf(caller)).toHex();
  }

  /** A new token for what `of` names. */
  newToken(caller: string, of: string): Promise<string> {
    return this.#made(caller, of, crypto.getRandomValues(new Uint8Array(PART_BYTES)));
  }

  /** The token for what `of` names that has this name: always the same one, which nobody can guess either. */
  async tokenNamed(caller: string, of: string, name: string): Promise<string> {
    const key = await this.#sealer.scopeKey(`token ${name} of ${of} of ${caller}`);
    return this.#made(caller, of, key.subarray(0, PART_BYTES));
  }

  async #made(caller: string, of: string, own: Uint8Array): Promise<string> {
    const token = new Uint8Array(TOKEN_BYTES);
    token.set(await this.#placeOf(caller));
    token.set(own, PART_BYTES);
    token.set(await this.#proofOf(token, of), 2 * PART_BYTES);
    return token.toBase64({ alphabet: "base64url", omitPadding: true });
  }

  /** The place in a token that this server has made for `of`; undefined for any other text. */
  async placeIn(text: string, of: string): Promise<string | undefined> {
    // There is no other way to write the same bytes.
    if (!/^[\w-]{64}$/.test(text)) return undefined;
    const token = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    const proof = await this.#proofOf(token, of);
    const isOwn = crypto.subtle.timingSafeEqual(proof, token.subarray(2 * PART_BYTES));
    return isOwn ? token.subarray(0, PART_BYTES).toHex() : undefined;
  }

  async #placeOf(caller: string): Promise<Uint8Array> {
    const key = await this.#sealer.scopeKey(`place of ${this.#purpose} of ${caller}`);
    return key.subarray(0, PART_BYTES);
  }

  /** What only this server can make of the first parts of a token. */
  async #proofOf(token: Uint8Array, of: string): Promise<Uint8Array<ArrayBuffer>> {
    const parts = token.subarray(0, 2 * PART_BYTES).toHex();
    const proof = await this.#sealer.scopeKey(`token ${parts} of ${of}`);
    return new Uint8Array(proof.subarray(0, PART_BYTES));
  }
}
