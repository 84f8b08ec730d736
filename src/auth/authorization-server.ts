import {
  AuthorizationError,
  CimdFetchError,
  OAuthAuthorizationServer,
  OAuthError,
  type AuthRequest,
  type OAuthHelpers,
} from "@cloudflare/workers-oauth-provider";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { consentPage, refusalPage, type Site } from "./consent-page.ts";
import type { Attempts } from "./gatekeeper.ts";
import { resourceOf } from "./metadata.ts";
import { isLoopback } from "./origin.ts";
import { isPassphrase } from "./passphrase.ts";
import type { Known } from "./principal.ts";

/** Counts attempts, strictly. KV would lose those that come at once. */
export interface Counter extends Attempts {
  giveBack(): void;
}

/** What the server is made of. */
export interface Owner extends Site {
  /** The hash of the passphrase. */
  passphrase: string;
  /** Names of scopes, where the configuration knows scopes at all; patterns such as `hello:*` are scopes too. */
  scopes: readonly string[] | undefined;
  store: KVNamespace;
  attempts: DurableObjectNamespace<Counter>;
}

/** What is kept with a grant. */
interface Props {
  /** Of which passphrase it is. */
  seal: string;
  /** May it be used for no more than its scopes? A client may later ask for fewer of them, down to none. */
  isLimited: boolean;
}

interface Env {
  OAUTH_KV: KVNamespace;
}

/** The library hands a context to the handlers of its resources alone, and here it has none. */
const NO_CONTEXT = {} as ExecutionContext;

/** Where the server's own pages and endpoints are, besides `/authorize`. */
export const PROTOCOL_PATHS = [
  "/.well-known/oauth-authorization-server",
  "/oauth/token",
  "/oauth/register",
];

/** The authorization server that comes with this one. */
export interface AuthorizationServer {
  /** What a token of its own says; undefined where it is none, or none any more. */
  verify(token: string, request: Request): Promise<Known | undefined>;
  /** The page where the owner lets a client in: `/authorize`. */
  authorize(request: Request): Promise<Response>;
  /** `PROTOCOL_PATHS`: metadata, tokens, registration. */
  protocol(request: Request): Promise<Response>;
}

/**
 * An authorization server for one person: whoever knows the passphrase lets clients in. Clients name
 * themselves by a metadata document, or register.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export function authorizationServer(owner: Owner): AuthorizationServer {
  const env: Env = { OAUTH_KV: owner.store };
  const byOrigin = new Map<string, OAuthAuthorizationServer<Env>>();
  // Tokens are bound to the passphrase: with another one, nobody is let in any more.
  const seal = owner.passphrase;

  /** A deployment has a few host names, and is told them by requests alone. */
  function serverOf(request: Request): OAuthAuthorizationServer<Env> {
    const { origin, protocol, hostname } = new URL(request.url);
    if (protocol !== "https:" && !isLoopback(hostname)) {
      throw new Fault("forbidden", "Signing in needs https.");
    }
    const known = byOrigin.get(origin);
    if (known !== undefined) return known;
    const made = new OAuthAuthorizationServer<Env>({
      issuer: origin,
      resources: [resourceOf(request)],
      clientRegistrationEndpoint: "/oauth/register",
      clientIdMetadataDocumentEnabled: true,
      refreshTokenTTL: limits.refreshTokenMs / 1000,
      refreshTokenIdleTTL: limits.refreshTokenMs / 1000,
      tokenExchangeCallback: ({ props }) => {
        if (props.seal !== seal) {
          throw new OAuthError("invalid_grant", { description: "The passphrase has changed" });
        }
      },
      clientRegistrationCallback: async ({ request: registration }) => {
        if (await mayBegin(registration)) return undefined;
        return { code: "temporarily_unavailable", description: "Try again later", status: 429 };
      },
      onError: () => undefined,
    });
    if (byOrigin.size >= limits.origins) byOrigin.clear();
    byOrigin.set(origin, made);
    return made;
  }

  const counter = (what: string) => owner.attempts.getByName(what);
  const addressOf = ({ headers }: Request) => {
    const address = headers.get("cf-connecting-ip") ?? "unknown";
    // Whoever has one address of IPv6 has all of its /64.
    return address.includes(":") ? address.split(":").slice(0, 4).join(":") : address;
  };
  const mayBegin = async (request: Request): Promise<boolean> =>
    (await counter(`begin ${addressOf(request)}`).take(limits.signIns, limits.attemptsMs)) === 0;

  /** Undefined where it was tried too often. Tries are counted before they are made: many can come at once. */
  async function knows(request: Request, passphrase: string): Promise<boolean | undefined> {
    const own = counter(`passphrase ${addressOf(request)}`);
    const all = counter("passphrase");
    const { wrongPassphrases, wrongPassphrasesOfAll, attemptsMs } = limits;
    if ((await own.take(wrongPassphrases, attemptsMs)) > 0) return undefined;
    if ((await all.take(wrongPassphrasesOfAll, attemptsMs)) > 0) return undefined;
    if (!(await isPassphrase(passphrase, owner.passphrase))) return false;
    await Promise.all([own.giveBack(), all.giveBack()]);
    return true;
  }

  /** Those of the scopes it asks for that mean something here; where there are none, it may do everything. */
  const granted = ({ scope }: AuthRequest): string[] => {
    const { scopes } = owner;
    if (scopes === undefined) return [];
    return scope.filter((name) => scopes.includes(name) || name.includes(":"));
  };

  /** The page that asks; each time it is shown, it is for one use in this browser. */
  async function ask(oauth: OAuthHelpers, request: Request, complaint?: string) {
    const asked = await oauth.parseAuthRequest(request);
    if (asked.codeChallenge === undefined) {
      throw new AuthorizationError("invalid_request", { description: "PKCE (S256) is needed" });
    }
    const client = await oauth.describeConsent(asked);
    const { handle, headers } = await oauth.beginConsent(asked);
    return consentPage({ site: owner, client, handle, headers, scopes: granted(asked), complaint });
  }

  async function decide(oauth: OAuthHelpers, request: Request): Promise<Response> {
    const form = await formOf(request);
    const handle = form.get("handle") ?? "";
    if (form.get("decision") !== "allow") {
      const { headers } = await oauth.denyConsent(request, handle);
      return new Response(null, { status: 303, headers });
    }
    const isKnown = await knows(request, form.get("passphrase") ?? "");
    if (isKnown === undefined)
      return refusalPage(owner, 429, "Too many tries. Come back in an hour.");
    if (!isKnown) return ask(oauth, request, "This is not the passphrase.");
    const { request: asked, headers } = await oauth.approveConsent(request, handle);
    const { redirectTo } = await oauth.completeAuthorization({
      request: asked,
      userId: "owner",
      metadata: {},
      scope: granted(asked),
      props: { seal, isLimited: granted(asked).length > 0 } satisfies Props,
    });
    headers.set("location", redirectTo);
    return new Response(null, { status: 303, headers });
  }

  return {
    async verify(token, request) {
      if (token.split(":").length !== 3) return undefined;
      const found = await serverOf(request).validateToken<Props>(resourceOf(request), token, env);
      if (found === null || found.props.seal !== seal) return undefined;
      const principal = { name: "owner", ...(found.props.isLimited && { scopes: found.scope }) };
      return { principal, expires: found.expiresAt * 1000 };
    },
    async authorize(request) {
      try {
        const oauth = serverOf(request).getOAuthApi(env);
        if (request.method === "POST") return await decide(oauth, request);
        if (await mayBegin(request)) return await ask(oauth, request);
        return refusalPage(owner, 429, "Too many tries. Come back in an hour.");
      } catch (error) {
        if (error instanceof AuthorizationError) {
          if (error.redirectTo !== undefined) return Response.redirect(error.redirectTo, 303);
          return refusalPage(owner, 400, `${error.description}.`);
        }
        if (error instanceof CimdFetchError) {
          return refusalPage(owner, 400, "What the app says of itself cannot be fetched.");
        }
        throw error;
      }
    },
    protocol: (request) => serverOf(request).fetch(request, env, NO_CONTEXT),
  };
}

/** The fields of the form. */
async function formOf({ headers, body }: Request): Promise<URLSearchParams> {
  if (!headers.get("content-type")?.startsWith("application/x-www-form-urlencoded")) {
    throw new Fault("unsupported_media_type", "This takes the form of the sign-in page.");
  }
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > limits.formBytes) throw new Fault("too_large", "The form is too large.");
    text += decoder.decode(chunk, { stream: true });
  }
  return new URLSearchParams(text + decoder.decode());
}
