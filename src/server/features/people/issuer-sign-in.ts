import { Provider, type Begun } from "../../kernel/auth/account-provider.ts";
import { pageAddresses } from "../../kernel/auth/origin.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { variablesOf, type Settings } from "../../kernel/settings/env.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";

/** The path of a page that a person who signs in elsewhere comes back to: a cookie has 4096 bytes, sealed in base64. */
const BACK_CHARACTERS = 2000;

/** The path to which providers and issuers send people back. */
export const CALLBACK_PATH = "/account/callback";

/** The content of the cookie for the way to an issuer and back. */
interface Way {
  issuer: string;
  begun: Begun;
  /** The path of the page that the person wanted; absent if it is too long for a cookie. */
  back?: string;
  /** Unix time in ms. */
  until: number;
}

/** The scopes of a client that only wants to know who somebody is. */
const SIGN_IN = { scopes: ["openid"], params: {} };

const PLACE = "way to an issuer";
const COOKIE = "sign-in";

/** Users of the token issuers at which this server is a client (`client_id`) sign in there, by OpenID Connect. */
export class IssuerSignIn {
  readonly #issuers: ReadonlyMap<string, Provider>;
  readonly #sealer: Sealer;

  constructor({ OAUTH_ISSUERS = [] }: Settings, env: object, sealer: Sealer) {
    this.#sealer = sealer;
    const variables = variablesOf(env);
    this.#issuers = new Map(
      OAUTH_ISSUERS.flatMap(({ issuer, client }) =>
        client === undefined
          ? []
          : [[issuer, Provider.of(issuer, { issuer, ...SIGN_IN, ...client }, variables)] as const],
      ),
    );
  }

  get hosts(): string[] {
    return [...this.#issuers.values()].map(({ host }) => host);
  }

  /** The client at the issuer of this principal; undefined for one that is not of any. */
  of(name: string): string | undefined {
    const [issuer, provider] = [...this.#issuers].find(([one]) => name.startsWith(`${one} `)) ?? [];
    return provider && `${issuer} ${provider.clientId}`;
  }

  /** Throws `unavailable`, and `invalid_params` for an issuer that there is not. */
  async begin(
    nth: number,
    request: Request,
    back: string,
  ): Promise<{ url: string; cookie: string }> {
    const [issuer, provider] = [...this.#issuers][nth] ?? [];
    const { origin } = new URL(request.url);
    if (issuer === undefined || provider === undefined)
      throw new Fault("invalid_params", "There is no such sign-in. Open the link again.");
    const { url, begun } = await provider.begin([], origin + CALLBACK_PATH);
    const until = Date.now() + limits.connectingMs;
    const isShort = back.length <= BACK_CHARACTERS;
    const way: Way = { issuer, begun, until, ...(isShort && { back }) };
    const sealed = await this.#sealer.sealText(way, PLACE);
    return { url, cookie: cookieFor(request, COOKIE, sealed, limits.connectingMs) };
  }

  /** The principal who comes back; undefined where this browser has not begun that. Throws as `Provider.finish`. */
  async finish(request: Request): Promise<{ name: string; back?: string } | undefined> {
    const sealed = cookieIn(request, COOKIE);
    const way = (await this.#sealer.openText(sealed, PLACE)) as Way | undefined;
    const { searchParams } = new URL(request.url);
    if (way === undefined || way.until < Date.now()) return undefined;
    if (searchParams.get("state") !== way.begun.state) return undefined;
    const tokens = await this.#issuers.get(way.issuer)?.finish(searchParams, way.begun);
    if (tokens?.subject === undefined) throw new Fault("forbidden", NOT_SIGNED_IN);
    const { back } = way;
    return { name: `${way.issuer} ${tokens.subject}`, ...(back !== undefined && { back }) };
  }
}

const NOT_SIGNED_IN = "You were not signed in there. Open the link again to try once more.";

/** Browsers take the prefix over https only. */
const cookieName = ({ protocol }: URL, name: string): string =>
  protocol === "https:" ? `__Host-${name}` : name;

/** The value of a cookie; empty if there is none. */
export function cookieIn(request: Request, name: string): string {
  const all = (request.headers.get("cookie") ?? "").split(/; */);
  for (const address of pageAddresses(request)) {
    const start = `${cookieName(address, name)}=`;
    const found = all.find((one) => one.startsWith(start));
    if (found !== undefined) return found.slice(start.length);
  }
  return "";
}

export function cookieFor(request: Request, name: string, value: string, ms: number): string {
  const [address = new URL(request.url)] = pageAddresses(request);
  const how = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${ms / 1000}`;
  const secure = address.protocol === "https:" ? "; Secure" : "";
  return `${cookieName(address, name)}=${value}; ${how}${secure}`;
}
