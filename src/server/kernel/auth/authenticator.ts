import type { KeyRecordsEnv } from "./key-records.ts";
import { apiKeysOf, type Settings } from "../settings/env.ts";
import { Fault } from "../core/errors.ts";
import { KEY_PREFIX } from "../core/key-name.ts";
import { limits } from "./limits.ts";
import {
  ANONYMOUS,
  isServletPrincipal,
  OPERATOR_SCOPE,
  OWNER,
  type Json,
  type Principal,
} from "../core/model.ts";
import { KnownKeys, nearestRecords, revokedKey } from "./key-records.ts";
import { audienceOf, challengeOf, metadataOf, profileAt } from "./metadata.ts";
import { audienceAt, demandOwnOrigin, isAtLoopback, isLocal } from "./origin.ts";
import { anonymousAt, bearerIn, type Known } from "./principal.ts";

/** How to close a server that anybody may call. */
export const HOW_TO_CLOSE =
  "Create an API key (npm run keys -- create NAME) or a passphrase (npm run passphrase), have your team sign in (SIGN_IN), or set AUTH to none if public access is intended.";

/** Authenticates callers by API keys, the built-in sign-in or external issuers, whichever are configured. */
export interface Authenticator {
  /** True if no authentication is configured. */
  isOpen: boolean;
  /** True if anyone on the internet may call the address of this request although the configuration does not say so. */
  isExposed(request: Request): boolean;
  keys: KnownKeys;
  /** The means of authentication for people; empty where none is required. */
  proof: "" | "key" | "sign-in";
  /**
   * The caller of the whole server, or of a profile; not a promise where no authentication is required. Throws
   * `unauthorized`, `insufficient_scope`, `unavailable`.
   */
  identify(request: Request, profile?: string): Principal | Promise<Principal>;
  /**
   * An operator of the server: by a key or a sign-in with the scope `operator`, or from this machine where no
   * authentication is configured. Throws as `identify`.
   */
  operator(request: Request): Promise<Principal>;
  /**
   * A caller of the whole server, at the endpoint of a profile. Throws `insufficient_scope` if its scopes do not grant
   * the profile.
   */
  atProfile(principal: Principal, profile: string | undefined): Principal;
  /**
   * This caller with those of its earlier rights that it still has: for runs without a request. Throws `unauthorized` if it
   * may not call any more, `insufficient_scope` if it may not use its profile, `unavailable` while that cannot be told.
   */
  current(principal: Principal): Promise<Principal>;
  /** The `WWW-Authenticate` header for a fault; undefined for faults without one. */
  challenge(request: Request, fault: Fault): string | undefined;
  /** Protected resource metadata (RFC 9728); undefined without OAuth. */
  metadata(request: Request): Json | undefined;
}

/** The parts of the server that the built-in sign-in needs. */
export interface SignInContext {
  /** The titles of profiles, by name: each is a resource of its own. */
  profiles: ReadonlyMap<string, string>;
  /**
   * True if a scope grants anything here, or at the endpoint of this profile: a configured scope, or a pattern that
   * fits a servlet or profile.
   */
  isScope(scope: string, profile?: string): boolean;
  /** Called with the prefix of tokens that have ended. */
  onEnd(prefix: string): void;
}

/** The built-in sign-in, as far as it authenticates callers. */
export interface SignIn {
  /**
   * The holder of a token that this server issued for itself or this profile; undefined if the token is unknown,
   * expired or revoked.
   */
  verify(token: string, request: Request, profile?: string): Promise<Known | undefined>;
}

/** The claims of a verified token of an issuer. */
export interface Verified {
  /** Issuer and subject. */
  name: string;
  scopes: readonly string[];
  /** Unix time in ms. */
  expires: number;
  /** True if the token was made for the profile, rather than for the whole server. */
  isForProfile: boolean;
}

/** The URLs that tokens may be made for at an endpoint: the whole server's, and the profile's. */
export interface Resources {
  whole: string;
  profile?: string;
}

/**
 * Verifies a JWT that was made for one of these resources. Throws `unauthorized`, `insufficient_scope`, `unavailable`.
 */
export type Verify = (token: string, resources: Resources) => Promise<Verified>;

/** How callers prove who they are, besides API keys. */
export interface SignInParts {
  /** Makes the built-in sign-in; undefined if it is not configured. */
  own?(context: SignInContext): SignIn | undefined;
  /** Verifies tokens of the issuers in OAUTH_ISSUERS. */
  verify?: Verify;
  /**
   * The scopes that a member of a team has now, null for all; undefined for the name of anybody else. Throws
   * `unauthorized` if it has no access any more, `unavailable`.
   */
  memberScopes?(name: string): Promise<readonly string[] | null> | undefined;
}

/** Creates the authenticator. Throws if the configuration of the sign-in is incomplete. */
export function createAuthenticator(
  settings: Settings,
  env: KeyRecordsEnv,
  { isScope, profiles, grantsProfile, commonScopes, own, verify, memberScopes }: AuthenticatorParts,
): Authenticator {
  const keys = new KnownKeys(apiKeysOf(settings), nearestRecords(env));
  const issuers = settings.OAUTH_ISSUERS ?? [];
  const remembered = new TokenMemory();
  const signIn = own?.({
    isScope,
    profiles,
    onEnd: (prefix) => remembered.forget(prefix),
  });
  // Continuing without it would leave the server open.
  const unused = ["OWNER_PASSPHRASE", "SIGN_IN"].find(
    (name) => Reflect.get(env, name) !== undefined,
  );
  if (unused !== undefined && signIn === undefined)
    throw new Error(
      `${unused} is set, but this server was built without the feature that reads it.`,
    );
  const hasOAuth = issuers.length > 0 || signIn !== undefined;
  const isOpen = settings.API_KEYS === undefined && !hasOAuth;
  const needed = [...new Set(issuers.flatMap((issuer) => issuer.required_scopes))];

  async function holderOf(token: string, request: Request, profile?: string): Promise<Known> {
    if (token.length > limits.tokenCharacters) {
      throw new Fault(
        "unauthorized",
        `The access token has ${token.length} characters (limit ${limits.tokenCharacters}). Request a shorter one.`,
      );
    }
    const owner = await keys.ownerOf(token);
    if (owner !== undefined) return owner;
    if (!hasOAuth || token.startsWith(KEY_PREFIX))
      throw new Fault(
        "unauthorized",
        "Unknown API key. Send a key that `npm run keys -- list` shows, as Authorization: Bearer.",
      );
    const known = await signIn?.verify(token, request, profile);
    if (known === undefined) {
      const whole = audienceOf(request);
      const resources =
        profile === undefined ? { whole } : { whole, profile: audienceOf(request, profile) };
      if (verify === undefined)
        throw new Fault(
          "unauthorized",
          "This server did not issue the access token. Sign in again.",
        );
      return foreign(await verify(token, resources));
    }
    return { ...known, expires: Math.min(known.expires, Date.now() + limits.ownTokenMemoryMs) };
  }

  /** Scopes of external tokens apply only if the configuration defines scopes. */
  const foreign = ({ name, scopes: held, expires, isForProfile }: Verified): Known => ({
    // Only this server decides who may operate it.
    principal: {
      name,
      ...(settings.SCOPES && { scopes: held.filter((scope) => scope !== OPERATOR_SCOPE) }),
    },
    expires,
    isForProfile,
  });

  const identify = (request: Request, profile?: string): Principal | Promise<Principal> =>
    isOpen
      ? atProfile({ principal: anonymousAt(request) }, profile)
      : authenticated(request, profile);

  async function authenticated(request: Request, profile?: string): Promise<Principal> {
    if (hasQueryToken(request.url)) {
      throw new Fault(
        "invalid_request",
        "The URL contains access_token. Send the token in the Authorization header instead.",
      );
    }
    const token = bearerIn(request.headers.get("authorization"));
    if (token === undefined) {
      const what = hasOAuth ? "an access token" : "an API key";
      throw new Fault(
        "unauthorized",
        `The Authorization header is missing. Send Authorization: Bearer with ${what}.`,
      );
    }
    const at = audienceAt(request);
    const place = keyOf(token, at, profile);
    let known = remembered.get(place);
    if (known === undefined) {
      known = await holderOf(token, request, profile);
      remembered.set(place, known);
    }
    const { principal, key } = known;
    if (key !== undefined && (await keys.isRevoked(key))) throw revokedKey(principal.name);
    return atProfile(known, profile);
  }

  /** The caller at the endpoint of a profile. Throws `insufficient_scope` if its scopes do not grant the profile. */
  function atProfile(
    { principal, isForProfile }: Pick<Known, "principal" | "isForProfile">,
    profile: string | undefined,
  ): Principal {
    if (profile === undefined) return principal;
    const { scopes } = principal;
    if (isForProfile !== true && scopes !== undefined && !grantsProfile(scopes, profile)) {
      const scope = `profile:${profile}`;
      throw new Fault(
        "insufficient_scope",
        `The token lacks the scope ${scope}. Request a token with it, or one for this endpoint.`,
        { data: { scope } },
      );
    }
    return { ...principal, profile };
  }

  /** The scopes that this caller has now; undefined for all. Throws as `current`. */
  async function scopesNow({ name, scopes }: Principal): Promise<readonly string[] | undefined> {
    if (isServletPrincipal(name)) return undefined;
    if (isOpen === (name === ANONYMOUS.name)) {
      if (isOpen) return undefined;
      const member = memberScopes?.(name);
      if (member !== undefined) return (await member) ?? undefined;
      if (name === OWNER && settings.OWNER_PASSPHRASE !== undefined) return undefined;
      // What a token of an issuer granted cannot be asked again. One of the time before SCOPES was set grants nothing.
      if (issuers.some(({ issuer }) => name.startsWith(`${issuer} `)))
        return settings.SCOPES && (scopes ?? []);
      const key = await keys.find(name);
      if (key !== undefined) return key.scopes;
    }
    throw new Fault("unauthorized", `${name} may not call this server any more.`);
  }

  return {
    isOpen,
    keys,
    isExposed: (request) => isOpen && settings.AUTH !== "none" && !isAtLoopback(request),
    proof: isOpen ? "" : hasOAuth ? "sign-in" : "key",
    identify,
    atProfile: (principal, profile) => atProfile({ principal }, profile),
    async current(principal) {
      const scopes = commonScopes(principal.scopes, await scopesNow(principal));
      const { scopes: before, ...rest } = principal;
      const now = { ...rest, ...(scopes && { scopes }) };
      const { profile } = principal;
      // A token whose scopes did not grant the profile was made for it.
      const isForProfile = before !== undefined && !grantsProfile(before, profile ?? "");
      return atProfile({ principal: now, isForProfile }, profile);
    },
    async operator(request) {
      demandOwnOrigin(request);
      if (isOpen && !isLocal(request)) {
        throw new Fault(
          "forbidden",
          "This server requires no authentication, and cannot tell whether you are on its machine: only npm run dev can, where it listens on loopback. Make a key: npm run keys -- create NAME --scopes operator",
        );
      }
      const principal = await identify(request);
      if (isOpen || principal.scopes?.includes(OPERATOR_SCOPE) === true) return principal;
      throw new Fault(
        "insufficient_scope",
        "This needs the scope operator, which no other scope includes. Make a key: npm run keys -- create NAME --scopes operator",
        { data: { scope: OPERATOR_SCOPE } },
      );
    },
    challenge(request, fault) {
      if (fault.code !== "unauthorized" && fault.code !== "insufficient_scope") return undefined;
      return challengeOf(request, fault, hasOAuth ? { scopes: needed } : undefined);
    },
    metadata(request) {
      if (!hasOAuth) return undefined;
      const issued = signIn ? [new URL(request.url).origin] : [];
      const profile = profileAt(request);
      const title = profile === undefined ? undefined : profiles.get(profile);
      const granting = profile === undefined ? [] : [`profile:${profile}`];
      return metadataOf(request, {
        name: title ?? settings.SERVER_TITLE ?? settings.SERVER_NAME,
        authorizationServers: [...issued, ...issuers.map(({ issuer }) => issuer)],
        // Without configured scopes, scopes narrow no token, and other servers know none of this server's.
        scopes: [
          ...new Set([
            ...(settings.SCOPES ? granting : []),
            ...Object.keys(settings.SCOPES ?? {}),
            ...needed,
          ]),
        ],
      });
    },
  };
}

/** Scopes and profiles as the kernel resolves them, and the features' additions to authentication. */
interface AuthenticatorParts extends SignInParts, Omit<SignInContext, "onEnd"> {
  /** True if these scopes grant the profile. */
  grantsProfile(scopes: readonly string[], profile: string): boolean;
  /** The scopes that grant what both grant; undefined for all. */
  commonScopes(
    one: readonly string[] | undefined,
    other: readonly string[] | undefined,
  ): readonly string[] | undefined;
}

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.3 */
const hasQueryToken = (url: string): boolean =>
  url.includes("access_token") && new URL(url).searchParams.has("access_token");

/** How long, and how many, verified tokens are remembered in one isolate. */
const TOKEN_MEMORY_MS = 5 * 60_000;
const TOKEN_MEMORY = 1000;

/**
 * Owners of tokens that this isolate has verified, so that a call costs no hash and no signature. The time of a
 * look-up reveals nothing: V8 hashes strings with a random seed.
 */
class TokenMemory {
  readonly #known = new Map<string, Known & { at: number }>();

  get(key: string): Known | undefined {
    const found = this.#known.get(key);
    const now = Date.now();
    // Not if the clock was set back.
    if (found === undefined || (found.at <= now && now < found.expires)) return found;
    this.#known.delete(key);
    return undefined;
  }

  /** Above the limit, drops the oldest. */
  set(key: string, known: Known): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= TOKEN_MEMORY && oldest !== undefined) this.#known.delete(oldest);
    const at = Date.now();
    this.#known.set(key, { ...known, at, expires: Math.min(known.expires, at + TOKEN_MEMORY_MS) });
  }

  /** Forgets the tokens with this prefix. */
  forget(prefix: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(prefix)) this.#known.delete(key);
  }
}

/** A token is valid for one resource, identified by the URL's origin and the profile. */
const keyOf = (token: string, url: string, profile = ""): string =>
  `${token} ${url.slice(0, url.indexOf("/", "https://".length))}/${profile}`;
