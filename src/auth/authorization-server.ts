import {
  AuthorizationError,
  CimdFetchError,
  OAuthAuthorizationServer,
  OAuthError,
  type AuthRequest,
  type OAuthHelpers,
} from "@cloudflare/workers-oauth-provider";
import { Fault, httpStatus, retryAfterOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { consentPage, refusalPage, type Refusal, type Site } from "./consent-page.ts";
import type { Attempts } from "./gatekeeper.ts";
import { resourceOf } from "./metadata.ts";
import { isLoopback, networkOf } from "./origin.ts";
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
  /** Is a scope for something here? Others that clients ask for are of other servers' making. */
  isScope(scope: string): boolean;
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

/** Where the server's own endpoints are, besides the page `/authorize`. */
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
        const waitMs = await begin(registration);
        if (waitMs === 0) return undefined;
        const description = tooManyTries(waitMs).message;
        return { code: "temporarily_unavailable", description, status: 429 };
      },
      // It would log each refusal of a client.
      onError: () => undefined,
    });
    if (byOrigin.size >= limits.origins) byOrigin.clear();
    byOrigin.set(origin, made);
    return made;
  }

  const counter = (what: string) => owner.attempts.getByName(what);
  const addressOf = ({ headers }: Request) =>
    networkOf(headers.get("cf-connecting-ip") ?? "unknown");

  /** Gives how long an address that begins too often has to wait, in ms. */
  const begin = (request: Request): Promise<number> =>
    counter(`begin ${addressOf(request)}`).take(limits.signIns, limits.attemptsMs);

  /** Throws `too_many` where it was tried too often. Tries are counted before they are made: many can come at once. */
  async function knows(request: Request, passphrase: string): Promise<boolean> {
    const own = counter(`passphrase ${addressOf(request)}`);
    const all = counter("passphrase");
    const { wrongPassphrases, wrongPassphrasesOfAll, attemptsMs } = limits;
    const waitMs =
      (await own.take(wrongPassphrases, attemptsMs)) ||
      (await all.take(wrongPassphrasesOfAll, attemptsMs));
    if (waitMs > 0) throw tooManyTries(waitMs);
    if (!(await isPassphrase(passphrase, owner.passphrase))) return false;
    await Promise.all([own.giveBack(), all.giveBack()]);
    return true;
  }

  /** Those of the scopes it asks for that mean something here; where there are none, it may do everything. */
  const granted = ({ scope }: AuthRequest): string[] => scope.filter(owner.isScope);

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
    if (!(await knows(request, form.get("passphrase") ?? ""))) {
      return ask(oauth, request, "This is not the passphrase.");
    }
    const { request: asked, headers } = await oauth.approveConsent(request, handle);
    const scope = granted(asked);
    const { redirectTo } = await oauth.completeAuthorization({
      request: asked,
      userId: "owner",
      metadata: {},
      scope,
      props: { seal, isLimited: scope.length > 0 } satisfies Props,
      // One app on two devices is one client.
      revokeExistingGrants: false,
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
        const waitMs = await begin(request);
        if (waitMs > 0) throw tooManyTries(waitMs);
        return await ask(oauth, request);
      } catch (error) {
        return refusalPage(owner, refusalOf(error));
      }
    },
    protocol: (request) => serverOf(request).fetch(request, env, NO_CONTEXT),
  };
}

/** What a person is told. Throws what is no refusal. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof AuthorizationError) {
    // Nobody is sent on unasked: whoever wrote the link may have registered where it leads.
    return { status: 400, reason: `${error.description}.`, back: error.redirectTo };
  }
  if (error instanceof CimdFetchError) {
    return { status: 400, reason: "What the app says of itself cannot be fetched." };
  }
  if (!(error instanceof Fault)) throw error;
  return { status: httpStatus(error), reason: error.message, retryAfter: retryAfterOf(error) };
}

function tooManyTries(waitMs: number): Fault {
  const minutes = Math.ceil(waitMs / 60_000);
  const message = `Too many tries. Come back in ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
  return new Fault("too_many", message, { data: { retryAfter: Math.ceil(waitMs / 1000) } });
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
