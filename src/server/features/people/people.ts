import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import { arrivalOf, isLocal, originOf } from "../../kernel/auth/origin.ts";
import type { Provider } from "../../kernel/auth/account-provider.ts";
import { revokedKey } from "../../kernel/auth/key-records.ts";
import { isPassphrase } from "../../kernel/auth/passphrase.ts";
import { SignInLimiter } from "../../kernel/auth/sign-in-limiter.ts";
import { isSafe } from "../../kernel/http/private-hosts.ts";
import { siteOf } from "../../kernel/http/site.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { Env } from "../../kernel/bindings.ts";
import type { Settings } from "../../kernel/settings/env.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { atPages, type MemberAccess, type Members } from "./members.ts";
import {
  CALLBACK_PATH,
  cookieFor,
  cookieIn,
  issuerProviders,
  ProviderSignIn,
} from "./provider-sign-in.ts";
import { ANONYMOUS, OPERATOR_SCOPE, OWNER, type Principal } from "../../kernel/core/model.ts";

/** Someone at a page of this server. */
export interface Person {
  principal: Principal;
  /** The nonce of the cookie, to which forms are bound; empty without a cookie. */
  nonce: string;
  /** What a member of a team may do; undefined for anybody else. */
  member?: MemberAccess;
}

/** How people prove themselves. */
export interface Ways {
  /** The server's title. */
  title: string;
  /** The proof that they enter, in words; empty if nothing can be entered. */
  proof: string;
  /** Titles of the providers at which they can sign in. */
  providers: readonly string[];
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

/** The parts of the kernel that are used here, which exist once all features have started. */
interface Started {
  readonly authenticator: Known;
  readonly members?: Members;
}

/** How a principal is proven, and what it may do. */
interface Credential {
  principal: Principal;
  /** A key or passphrase, hashed as it is configured; for others, what ends their sign-ins when it changes. */
  secret: string;
  /** The hash of an API key. */
  key?: string;
  member?: MemberAccess;
}

/** Places of sealed values, so that none can be used as another. */
const COOKIE_PLACE = "person's cookie";
const FORM_PLACE = "person's form";

/**
 * The people who may open pages: the owner with the passphrase, holders of API keys, and where no authentication is
 * required anybody; users of token issuers at which this server is a client, and members of a team.
 */
export class People {
  readonly #settings: Settings;
  readonly #kernel: Started;
  readonly #sealer: Sealer;
  readonly #limiter: SignInLimiter | undefined;
  readonly #issuers: ReturnType<typeof issuerProviders>;
  readonly #signIn: ProviderSignIn;

  constructor(settings: Settings, env: Env, by: { kernel: Started; sealer: Sealer }) {
    this.#settings = settings;
    this.#kernel = by.kernel;
    this.#sealer = by.sealer;
    this.#issuers = issuerProviders(settings, env);
    this.#signIn = new ProviderSignIn(() => this.#providers, by.sealer);
    this.#limiter = env.ATTEMPTS && new SignInLimiter(env.ATTEMPTS);
  }

  get #authenticator(): Known {
    return this.#kernel.authenticator;
  }

  get #providers() {
    return [...(this.#kernel.members?.providers ?? []), ...this.#issuers];
  }

  /** The client at the issuer of this principal; undefined for one that is not of any. */
  #issuerOf(name: string): string | undefined {
    const found = this.#issuers.find(({ id }) => name.startsWith(`${id} `));
    return found && `${found.id} ${found.provider.clientId}`;
  }

  #isMember(name: string): boolean {
    return this.#kernel.members?.knows(name) === true;
  }

  /** The origin of the pages for this caller's user; undefined if nobody could open them as this caller. */
  pagesFor({ name }: Principal, request: Request): string | undefined {
    const { isOpen, isExposed } = this.#authenticator;
    const mayOpen = isOpen
      ? name === ANONYMOUS.name && !isExposed(request)
      : (this.#isMember(name) || this.#credentialOf(name) !== undefined) &&
        isSafe(new URL(request.url));
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
  callerOf({ principal, member }: Person): Principal {
    const isUnknown = member === undefined && this.#issuerOf(principal.name) !== undefined;
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
    const providers = this.#providers.map((one) => one.title);
    return proof === "" && providers.length === 0 ? undefined : { title, proof, providers };
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
    if (until < Date.now()) return undefined;
    const { keys } = this.#authenticator;
    const known = await this.#known(of);
    if (known === undefined) return undefined;
    if (known.key !== undefined && (await keys.isRevoked(known.key))) return undefined;
    if (credential !== (await hexDigest(known.secret))) return undefined;
    const { principal, member } = known;
    return { principal, nonce, ...(member && { member }) };
  }

  /** As `#credentialOf`, also for keys that were made while the server runs, and for members. Throws `unavailable`. */
  async #known(name: string): Promise<Credential | undefined> {
    const { members } = this.#kernel;
    if (members === undefined || !this.#isMember(name)) {
      const { keys } = this.#authenticator;
      return this.#credentialOf(name) ?? ((await keys.find(name)) && this.#credentialOf(name));
    }
    try {
      const member = await members.access(name);
      return { principal: atPages(name, member), secret: member.seal, member };
    } catch (error) {
      if (Fault.from(error).code === "unauthorized") return undefined;
      throw error;
    }
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

  /** The path of the redirect URI of this provider. */
  callbackOf(provider: Provider): string {
    return this.#providers.find((one) => one.provider === provider)?.callback ?? CALLBACK_PATH;
  }

  /** Begins a sign-in at the provider of this number: see `ProviderSignIn.begin`. */
  beginAt(nth: number, request: Request, how: { back: string; isOther: boolean }) {
    return this.#signIn.begin(nth, request, how);
  }

  /** Finishes a sign-in at a provider: as `ProviderSignIn.finish`, with the person and their cookie if let in. */
  async finish(request: Request) {
    const found = await this.#signIn.finish(request);
    if (found === undefined || "refusal" in found) return found;
    const signed = await this.#signedIn(found.name, request);
    return signed && { ...found, ...signed };
  }

  async #signedIn(
    name: string,
    request: Request,
  ): Promise<{ person: Person; cookie: string } | undefined> {
    const known = await this.#known(name);
    if (known === undefined) return undefined;
    // The forms of the same person in other tabs stay valid.
    const before = await this.of(request);
    const proof: Proof = {
      name,
      credential: await hexDigest(known.secret),
      nonce: before?.principal.name === name ? before.nonce : newNonce(),
      until: Date.now() + limits.personMs,
    };
    const sealed = await this.#sealer.sealText(proof, COOKIE_PLACE);
    const cookie = cookieFor(request, COOKIE, sealed, limits.personMs);
    const { principal, member } = known;
    return { person: { principal, nonce: proof.nonce, ...(member && { member }) }, cookie };
  }

  /** The cookie that ends the sign-in in this browser. */
  signOut(request: Request): string {
    return cookieFor(request, COOKIE, "", 0);
  }

  /** Ends a member's sign-in everywhere; false for anybody else. */
  async signOutEverywhere(request: Request): Promise<boolean> {
    const { members } = this.#kernel;
    const person = members && (await this.of(request));
    if (person?.member === undefined) return false;
    await members!.signOut(person.principal.name);
    return true;
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

  /** How this principal is proven, if that is known without waiting. */
  #credentialOf(name: string): Credential | undefined {
    const { OWNER_PASSPHRASE: passphrase } = this.#settings;
    if (name === OWNER) return passphrase ? { principal: { name }, secret: passphrase } : undefined;
    const issuer = this.#issuerOf(name);
    if (issuer !== undefined) return { principal: { name }, secret: issuer };
    const key = this.#authenticator.keys.named(name);
    if (key === undefined || (key.expires ?? Infinity) <= Date.now()) return undefined;
    const principal = { name, ...(key.scopes && { scopes: key.scopes }) };
    const secret = key.hash.toHex();
    return { principal, secret, key: secret };
  }
}

const newNonce = (): string => crypto.getRandomValues(new Uint8Array(16)).toHex();

const COOKIE = "person";
