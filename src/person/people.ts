import type { Authenticator } from "../auth/authenticator.ts";
import { isLoopback } from "../auth/origin.ts";
import { isPassphrase } from "../auth/passphrase.ts";
import { ownerOf } from "../auth/principal.ts";
import { SignInLimiter } from "../auth/sign-in-limiter.ts";
import { sha256 } from "../digest.ts";
import type { Sealer } from "../durable/vault.ts";
import { apiKeysOf, namespaceOf, type Settings } from "../env.ts";
import { limits } from "../limits.ts";
import { ANONYMOUS, type Principal } from "../model.ts";
import type { Counter } from "../quotas.ts";

/** Someone at a page of this server. */
export interface Person {
  principal: Principal;
  /** Of the cookie, to which forms are bound; empty without one. */
  nonce: string;
}

/** The content of the cookie. */
interface Proof {
  name: string;
  /** Digest of the key or passphrase that was entered. */
  credential: string;
  nonce: string;
  /** Unix time in ms. */
  until: number;
}

/** Places of what is sealed here: neither may stand for the other. */
const COOKIE_PLACE = "person's cookie";
const FORM_PLACE = "person's form";

/**
 * The people who may open pages: the owner with the passphrase, holders of API keys, and where no authentication is
 * required anybody. Users of other token issuers cannot prove themselves here.
 */
export class People {
  readonly #settings: Settings;
  readonly #authenticator: Pick<Authenticator, "isOpen" | "isExposed">;
  readonly #sealer: Sealer;
  readonly #limiter: SignInLimiter | undefined;

  constructor(
    settings: Settings,
    env: object,
    by: { authenticator: Pick<Authenticator, "isOpen" | "isExposed">; sealer: Sealer },
  ) {
    const attempts = namespaceOf<Counter>(env, "ATTEMPTS");
    this.#settings = settings;
    this.#authenticator = by.authenticator;
    this.#sealer = by.sealer;
    this.#limiter = attempts && new SignInLimiter(attempts);
  }

  /** The origin of the pages for this caller's user; undefined if nobody could open them as this caller. */
  pagesFor({ name }: Principal, address: string): string | undefined {
    const { origin, protocol, hostname } = new URL(address);
    const { isOpen } = this.#authenticator;
    if (isOpen) {
      const isAnyone = name === ANONYMOUS.name && !this.#authenticator.isExposed(address);
      return isAnyone ? origin : undefined;
    }
    const isSafe = protocol === "https:" || isLoopback(hostname);
    return isSafe && this.#credentialOf(name) !== undefined ? origin : undefined;
  }

  /** What people prove themselves with here; undefined if they need not. */
  get proof(): string | undefined {
    if (this.#authenticator.isOpen) return undefined;
    const { OWNER_PASSPHRASE, API_KEYS } = this.#settings;
    const ways = [OWNER_PASSPHRASE && "passphrase of this server", API_KEYS && "API key"];
    return ways.filter(Boolean).join(" or ") || undefined;
  }

  /** Who has sent a request, by its cookie; undefined if that is not proven. */
  async of(request: Request): Promise<Person | undefined> {
    if (this.#authenticator.isOpen) {
      const mayEnter = this.pagesFor(ANONYMOUS, request.url) !== undefined;
      return mayEnter ? { principal: ANONYMOUS, nonce: "" } : undefined;
    }
    const name = cookieName(request.url);
    const cookies = (request.headers.get("cookie") ?? "").split(/; */);
    const sealed = cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const opened = sealed && (await this.#open(sealed, COOKIE_PLACE));
    if (!opened) return undefined;
    const { name: of, credential, nonce, until } = JSON.parse(opened) as Proof;
    const known = this.#credentialOf(of);
    if (until < Date.now() || known === undefined) return undefined;
    if (credential !== (await digest(known.secret))) return undefined;
    return { principal: known.principal, nonce };
  }

  /**
   * Who has entered this key or passphrase, and the cookie that proves it; undefined for a wrong one. Throws
   * `too_many`, and `unauthorized` for an expired key.
   */
  async signIn(
    request: Request,
    entered: string,
  ): Promise<{ person: Person; cookie: string } | undefined> {
    let name: string | undefined;
    const isRight = async () => {
      name = await this.#nameOf(entered);
      return name !== undefined;
    };
    await (this.#limiter ? this.#limiter.passphrase(request, isRight) : isRight());
    const known = name === undefined ? undefined : this.#credentialOf(name);
    if (name === undefined || known === undefined) return undefined;
    const proof: Proof = {
      name,
      credential: await digest(known.secret),
      nonce: crypto.getRandomValues(new Uint8Array(16)).toHex(),
      until: Date.now() + limits.personMs,
    };
    const isSecure = new URL(request.url).protocol === "https:";
    const sealed = await this.#seal(JSON.stringify(proof), COOKIE_PLACE);
    const how = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${limits.personMs / 1000}`;
    const cookie = `${cookieName(request.url)}=${sealed}; ${how}${isSecure ? "; Secure" : ""}`;
    return { person: { principal: known.principal, nonce: proof.nonce }, cookie };
  }

  /** The cookie that ends the sign-in. */
  signOut({ url }: Request): string {
    const isSecure = url.startsWith("https:") ? "; Secure" : "";
    return `${cookieName(url)}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0${isSecure}`;
  }

  /** What a form carries to show that it was made for this person and these words (a call, a question). */
  token({ nonce }: Person, ...words: readonly string[]): Promise<string> {
    return this.#seal(JSON.stringify([nonce, ...words]), FORM_PLACE);
  }

  /** True for a token that was made for the same. */
  async isToken(token: string, { nonce }: Person, ...words: readonly string[]): Promise<boolean> {
    return (await this.#open(token, FORM_PLACE)) === JSON.stringify([nonce, ...words]);
  }

  async #nameOf(entered: string): Promise<string | undefined> {
    const key = ownerOf(entered.trim(), apiKeysOf(this.#settings));
    if (key !== undefined) return key.principal.name;
    const { OWNER_PASSPHRASE: hashed } = this.#settings;
    return hashed !== undefined && (await isPassphrase(entered, hashed)) ? OWNER : undefined;
  }

  /** The secret by which this principal is proven, hashed as it is configured, and what it may do. */
  #credentialOf(name: string): { principal: Principal; secret: string } | undefined {
    const { OWNER_PASSPHRASE: passphrase } = this.#settings;
    if (name === OWNER) return passphrase ? { principal: { name }, secret: passphrase } : undefined;
    const key = apiKeysOf(this.#settings).find((one) => one.name === name);
    if (key === undefined || (key.expires ?? Infinity) <= Date.now()) return undefined;
    const principal = { name, ...(key.scopes && { scopes: key.scopes }) };
    return { principal, secret: key.hash.toHex() };
  }

  async #seal(text: string, place: string): Promise<string> {
    const sealed = await this.#sealer.seal(new TextEncoder().encode(text), place);
    return sealed.toBase64({ alphabet: "base64url", omitPadding: true });
  }

  async #open(sealed: string, place: string): Promise<string | undefined> {
    try {
      const bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
      const opened = await this.#sealer.open(bytes, place);
      return opened && new TextDecoder().decode(opened);
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }
}

/** The principal of the passphrase. */
const OWNER = "owner";

/** Browsers take the prefix over https only. */
const cookieName = (address: string): string =>
  address.startsWith("https:") ? "__Host-person" : "person";

const digest = async (secret: string): Promise<string> => (await sha256(secret)).toHex();
