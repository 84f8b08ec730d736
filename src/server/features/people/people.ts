import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import { arrivalOf, isLocal, isSafe, originOf } from "../../kernel/auth/origin.ts";
import { revokedKey } from "../../kernel/auth/key-records.ts";
import { isPassphrase } from "../../kernel/auth/passphrase.ts";
import { SignInLimiter } from "../../kernel/auth/sign-in-limiter.ts";
import { siteOf } from "../../kernel/http/site.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { Env } from "../../kernel/bindings.ts";
import type { Settings } from "../../kernel/settings/env.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { cookieFor, cookieIn, IssuerSignIn } from "./issuer-sign-in.ts";
import { ANONYMOUS, OPERATOR_SCOPE, type Principal } from "../../kernel/core/model.ts";

/** Someone at a page of this server. */
export interface Person {
  principal: Principal;
  /** The nonce of the cookie, to which forms are bound; empty without a cookie. */
  nonce: string;
}

/** How people prove themselves. */
export interface Ways {
  /** The server's title. */
  title: string;
  /** The proof that they enter, in words; empty if nothing can be entered. */
  proof: string;
  /** Hosts of the issuers at which they can sign in. */
  issuers: readonly string[];
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

/** The parts of the authenticator (created later) that are used here. */
type Known = Pick<Authenticator, "isOpen" | "isExposed" | "keys">;

/** Places of sealed values, so that none can be used as another. */
const COOKIE_PLACE = "person's cookie";
const FORM_PLACE = "person's form";

/**
 * The people who may open pages: the owner with the passphrase, holders of API keys, and where no authentication is
 * required anybody; and users of token issuers at which this server is a client.
 */
export class People {
  readonly #settings: Settings;
  readonly #kernel: { readonly authenticator: Known };
  readonly #sealer: Sealer;
  readonly #limiter: SignInLimiter | undefined;
  readonly #issuers: IssuerSignIn;

  constructor(
    settings: Settings,
    env: Env,
    by: { kernel: { readonly authenticator: Known }; sealer: Sealer },
  ) {
    this.#settings = settings;
    this.#kernel = by.kernel;
    this.#sealer = by.sealer;
    this.#issuers = new IssuerSignIn(settings, env, by.sealer);
    this.#limiter = env.ATTEMPTS && new SignInLimiter(env.ATTEMPTS);
  }

  get #authenticator(): Known {
    return this.#kernel.authenticator;
  }

  /** The origin of the pages for this caller's user; undefined if nobody could open them as this caller. */
  pagesFor({ name }: Principal, request: Request): string | undefined {
    const { isOpen, isExposed } = this.#authenticator;
    const mayOpen = isOpen
      ? name === ANONYMOUS.name && !isExposed(request)
      : this.#credentialOf(name) !== undefined && isSafe(new URL(request.url));
    return mayOpen ? originOf(request) : undefined;
  }

  /** Throws `forbidden` if entered secrets could be read in transit. */
  demandSafe(request: Request): void {
    if (this.#authenticator.isOpen || isSafe(arrivalOf(request))) return;
    throw new Fault(
      "forbidden",
      "Keys and passphrases are taken over https only, or on this machine. Open the https URL.",
    );
  }

  /** Somebody at a page, as a caller: users of issuers have proven no scopes, so where there are some they have none. */
  callerOf({ principal }: Person): Principal {
    const isUnknown = this.#issuers.of(principal.name) !== undefined;
    return isUnknown && this.#settings.SCOPES ? { ...principal, scopes: [] } : principal;
  }

  /** True for one who may operate the server: its owner, and holders of keys with the scope `operator`. */
  isOperator({ principal: { name, scopes = [] } }: Person): boolean {
    return name === OWNER || scopes.includes(OPERATOR_SCOPE);
  }

  /** How people prove themselves here; undefined if they need not or cannot. */
  get ways(): Ways | undefined {
    if (this.#authenticator.isOpen) return undefined;
    const { OWNER_PASSPHRASE } = this.#settings;
    const { title } = siteOf(this.#settings);
    const hasKeys = this.#authenticator.keys.hasAny;
    const entered = [OWNER_PASSPHRASE && "passphrase of this server", hasKeys && "API key"];
    const proof = entered.filter(Boolean).join(" or ");
    const { hosts } = this.#issuers;
    return proof === "" && hosts.length === 0 ? undefined : { title, proof, issuers: hosts };
  }

  /** The person of a request by its cookie; undefined without a valid one. */
  async of(request: Request): Promise<Person | undefined> {
    if (this.#authenticator.isOpen) {
      const mayEnter = !this.#authenticator.isExposed(request) || isLocal(request);
      return mayEnter ? { principal: ANONYMOUS, nonce: "" } : undefined;
    }
    const sealed = cookieIn(request, COOKIE);
    const proof = (await this.#sealer.openText(sealed, COOKIE_PLACE)) as Proof | undefined;
    if (proof === undefined) return undefined;
    const { name: of, credential, nonce, until } = proof;
    const { keys } = this.#authenticator;
    const known = this.#credentialOf(of) ?? ((await keys.find(of)) && this.#credentialOf(of));
    if (until < Date.now() || known === undefined) return undefined;
    if (known.key !== undefined && (await keys.isRevoked(known.key))) return undefined;
    if (credential !== (await hexDigest(known.secret))) return undefined;
    return { principal: known.principal, nonce };
  }

  /**
   * The person with this key or passphrase, and the cookie that proves it; undefined if it is wrong. Throws
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
    return name === undefined ? undefined : this.#signedIn(name, request);
  }

  /** The address at which a user of this issuer signs in, and comes back to `back`; and the cookie for the way. */
  beginAt(issuer: number, request: Request, back: string) {
    return this.#issuers.begin(issuer, request, back);
  }

  /** Somebody who comes back from an issuer; undefined for anyone else. Throws as `Provider.finish`. */
  async finish(
    request: Request,
  ): Promise<{ person: Person; cookie: string; back?: string } | undefined> {
    const found = await this.#issuers.finish(request);
    const signed = found && (await this.#signedIn(found.name, request));
    return signed && { ...found, ...signed };
  }

  async #signedIn(
    name: string,
    request: Request,
  ): Promise<{ person: Person; cookie: string } | undefined> {
    const known = this.#credentialOf(name);
    if (known === undefined) return undefined;
    const proof: Proof = {
      name,
      credential: await hexDigest(known.secret),
      nonce: crypto.getRandomValues(new Uint8Array(16)).toHex(),
      until: Date.now() + limits.personMs,
    };
    const sealed = await this.#sealer.sealText(proof, COOKIE_PLACE);
    const cookie = cookieFor(request, COOKIE, sealed, limits.personMs);
    return { person: { principal: known.principal, nonce: proof.nonce }, cookie };
  }

  /** The cookie that ends the sign-in. */
  signOut(request: Request): string {
    return cookieFor(request, COOKIE, "", 0);
  }

  /** The token in a form, which shows that it was made for this person and these words (a call, a question). */
  token({ nonce }: Person, ...words: readonly string[]): Promise<string> {
    return this.#sealer.sealText([nonce, ...words], FORM_PLACE);
  }

  /** True for a form with a token that was made for this person and these words. */
  async isForm(
    form: URLSearchParams,
    { nonce }: Person,
    ...words: readonly string[]
  ): Promise<boolean> {
    const opened = await this.#sealer.openText(form.get("token") ?? "", FORM_PLACE);
    return JSON.stringify(opened) === JSON.stringify([nonce, ...words]);
  }

  async #nameOf(entered: string): Promise<string | undefined> {
    const key = await this.#authenticator.keys.ownerOf(entered.trim());
    if (key !== undefined) {
      const { name } = key.principal;
      if (await this.#authenticator.keys.isRevoked(key.key!)) throw revokedKey(name);
      return name;
    }
    const { OWNER_PASSPHRASE: hashed } = this.#settings;
    return hashed !== undefined && (await isPassphrase(entered, hashed)) ? OWNER : undefined;
  }

  /** The secret by which this principal is proven, hashed as it is configured, and what it may do. */
  #credentialOf(name: string): { principal: Principal; secret: string; key?: string } | undefined {
    const { OWNER_PASSPHRASE: passphrase } = this.#settings;
    if (name === OWNER) return passphrase ? { principal: { name }, secret: passphrase } : undefined;
    const issuer = this.#issuers.of(name);
    if (issuer !== undefined) return { principal: { name }, secret: issuer };
    const key = this.#authenticator.keys.named(name);
    if (key === undefined || (key.expires ?? Infinity) <= Date.now()) return undefined;
    const principal = { name, ...(key.scopes && { scopes: key.scopes }) };
    const secret = key.hash.toHex();
    return { principal, secret, key: secret };
  }
}

/** The principal of the passphrase. */
const OWNER = "owner";

const COOKIE = "person";
