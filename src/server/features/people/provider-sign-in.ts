/** Sign-in at another server: a token issuer, or a provider of a team. */
import { Provider, type Begun, type Granted } from "../../kernel/auth/account-provider.ts";
import { pageAddresses } from "../../kernel/auth/origin.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { variablesOf, type Settings } from "../../kernel/settings/env.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { FailedSignIn } from "./errors.ts";
import { limits } from "./limits.ts";
import { providerPath, PAGES } from "./paths.ts";

/** Longest path that a cookie stores: a cookie may have 4096 bytes, and its content is sealed and in base64. */
const BACK_CHARACTERS = 2000;

/** The path of the redirect URI, to which providers and issuers send people back. */
export const CALLBACK_PATH = "/account/callback";

/**
 * The path of a provider's own redirect URI. With one for all, a provider could send its visitors to another one, and get
 * the code of that: https://www.rfc-editor.org/rfc/rfc9700#section-4.4
 */
export const callbackPath = (provider: string): string => `${CALLBACK_PATH}/${provider}`;

/**
 * The path of the redirect URI at issuers that ACCOUNTS does not list, for the same reason: they get no code of a
 * configured provider, whose name begins with a letter or digit.
 */
export const OWN_CLIENT_CALLBACK = callbackPath("-");

/** A provider at which people sign in to this server. */
export interface SignInProvider {
  /** The issuer, or the provider's name in the configuration. */
  readonly id: string;
  /** The name for people. */
  readonly title: string;
  readonly provider: Pick<Provider, "begin" | "finish">;
  /** Parameters of the authorization request that have the provider ask which account to use. */
  readonly accountChoice?: Readonly<Record<string, string>>;
  /** The path of the redirect URI. */
  readonly callback: string;
  /** Scopes to request besides those in the provider's settings. Throws `unavailable`. */
  scopes?(): Promise<readonly string[]>;
  /**
   * The principal of this grant. Throws `forbidden`, with the reason, for somebody who is not let in; `unavailable`.
   */
  admit(granted: Granted, request: Request): Promise<string>;
}

/**
 * Somebody who comes back from a provider: the principal and the header that deletes the cookie of this sign-in, or the
 * error because of which nobody is let in.
 */
type SignInReturn =
  | { name: string; deletion: string; back?: string }
  | (FailedSignIn & { refusal: unknown });

/** A sign-in that has begun: the content of its cookie. */
interface PendingSignIn {
  /** `SignInProvider.id`. */
  provider: string;
  begun: Begun;
  /** The path of the page to go to afterwards; absent if it is too long for a cookie. */
  back?: string;
  /** Unix time in ms. */
  until: number;
}

/** The scopes of a client that only wants to know who somebody is. */
const SIGN_IN = { scopes: ["openid"], params: {} };

/** Binds the sealed content to its cookie. */
const PLACE = "sign-in at a provider";
/** One for each sign-in that a browser has begun: people have several tabs. */
const COOKIES = ["sign-in", "sign-in-2", "sign-in-3", "sign-in-4"];

/** The token issuers at which this server is a client (`client_id`), by OpenID Connect. */
export const issuerProviders = (
  { OAUTH_ISSUERS = [] }: Settings,
  env: object,
): readonly (SignInProvider & { provider: Provider })[] =>
  OAUTH_ISSUERS.flatMap(({ issuer, client }) => {
    if (client === undefined) return [];
    const provider = Provider.of(issuer, { issuer, ...SIGN_IN, ...client }, variablesOf(env));
    const admit = async ({ claims }: Granted) => {
      if (claims === undefined) throw new Fault("forbidden", notSignedIn(provider.host));
      return `${issuer} ${claims.sub}`;
    };
    const accountChoice = { prompt: "login" };
    const callback = CALLBACK_PATH;
    return [{ id: issuer, title: provider.host, provider, callback, admit, accountChoice }];
  });

/**
 * Signs people in at providers. What is pending is in cookies, so that only the browser that began it can finish it.
 */
export class ProviderSignIn {
  readonly #all: () => readonly SignInProvider[];
  readonly #sealer: Sealer;

  constructor(all: () => readonly SignInProvider[], sealer: Sealer) {
    this.#all = all;
    this.#sealer = sealer;
  }

  /**
   * Begins to sign in at the provider of this number: its URL, and the cookie of the pending sign-in. `isOther` has it
   * ask which account to use. Throws `unavailable`, and `invalid_params` for an unknown number.
   */
  async begin(
    nth: number,
    request: Request,
    { back, isOther }: { back: string; isOther: boolean },
  ): Promise<{ url: string; cookie: string }> {
    const found = this.#all()[nth];
    if (found === undefined)
      throw new Fault("invalid_params", "There is no such sign-in. Open the link again.");
    const { origin } = new URL(request.url);
    const scopes = (await found.scopes?.()) ?? [];
    const params = isOther ? found.accountChoice : undefined;
    const { url, begun } = await found.provider.begin(scopes, origin + found.callback, { params });
    const until = Date.now() + limits.connectingMs;
    const isShort = back.length <= BACK_CHARACTERS;
    const pending: PendingSignIn = { provider: found.id, begun, until, ...(isShort && { back }) };
    const sealed = await this.#sealer.sealText(pending, PLACE);
    const name = await this.#cookieToUse(request);
    return { url, cookie: cookieFor(request, name, sealed, limits.connectingMs) };
  }

  /** Takes a provider's response. Undefined if this browser has not begun that sign-in, or the provider is gone. */
  async finish(request: Request): Promise<SignInReturn | undefined> {
    const { origin, pathname, searchParams } = new URL(request.url);
    for (const cookie of COOKIES) {
      const pending = await this.#pendingIn(request, cookie);
      if (pending === undefined || searchParams.get("state") !== pending.begun.state) continue;
      // Another provider sends people to another address.
      if (pending.begun.redirectUri !== origin + pathname) continue;
      const all = this.#all();
      const nth = all.findIndex(({ id }) => id === pending.provider);
      const found = all[nth];
      if (found === undefined) return undefined;
      const { begun, back } = pending;
      const to = back === undefined ? {} : { back };
      let isKnown = false;
      try {
        const granted = await found.provider.finish(searchParams, begun);
        if (granted === undefined) throw new Fault("forbidden", notSignedIn(found.title));
        isKnown = true;
        const name = await found.admit(granted, request);
        return { ...to, name, deletion: cookieFor(request, cookie, "", 0) };
      } catch (refusal) {
        // The cookie stays, so that the page can be reloaded.
        const next = back ?? PAGES.Home;
        const [again, other] = [providerPath(nth, next), providerPath(nth, next, true)];
        return { ...to, refusal, isKnown, again, other };
      }
    }
    return undefined;
  }

  /** The name of a free cookie; that of the oldest pending sign-in if none is free. */
  async #cookieToUse(request: Request): Promise<string> {
    const all = await Promise.all(
      COOKIES.map(async (name) => ({
        name,
        until: (await this.#pendingIn(request, name))?.until ?? 0,
      })),
    );
    return all.reduce((first, one) => (one.until < first.until ? one : first)).name;
  }

  async #pendingIn(request: Request, cookie: string): Promise<PendingSignIn | undefined> {
    const sealed = cookieIn(request, cookie);
    const pending = (await this.#sealer.openText(sealed, PLACE)) as PendingSignIn | undefined;
    return pending !== undefined && pending.until >= Date.now() ? pending : undefined;
  }
}

const notSignedIn = (title: string): string =>
  `You did not sign in at ${title}, or did not allow it to tell this server who you are.`;

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
