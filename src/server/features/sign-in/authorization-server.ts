import {
  GrantType,
  OAuthAuthorizationServer,
  OAuthError,
  type AuthRequest,
  type OAuthHelpers,
} from "@cloudflare/workers-oauth-provider";
import { Fault, httpStatus } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { OPERATOR_SCOPE } from "../../kernel/core/model.ts";
import type { Enterprise } from "./settings.ts";
import type { SignIn, SignInContext } from "../../kernel/auth/authenticator.ts";
import type { Attempts } from "../../kernel/auth/attempts.ts";
import {
  demandNavigation,
  formOf,
  refusalOf,
  refused,
  tokenError,
  unknownClient,
} from "./authorization-refusals.ts";
import {
  ClientDocuments,
  isDocumentUrl,
  storeClient,
  storedClient,
  storeWith,
} from "./client-documents.ts";
import { consentPage, refusalPage, type ClientRequest } from "./consent-page.ts";
import type { Site } from "../../kernel/http/site.ts";
import { ASSERTION_GRANT, enterpriseAuthorization, type EnterpriseProps } from "./enterprise.ts";
import type { Fetch } from "../../kernel/auth/fetch-json.ts";
import { audienceOf, unifyResource } from "../../kernel/auth/metadata.ts";
import { arrivalOf, arrivedAs } from "../../kernel/auth/origin.ts";
import { isSafe } from "../../kernel/http/private-hosts.ts";
import { isPassphrase } from "../../kernel/auth/passphrase.ts";
import type { AppRequest, AppServer, MemberApps, MemberGrant } from "./member-apps.ts";
import { mayLeadTo } from "./redirects.ts";
import { Refreshes, type RefreshesOptions } from "./refreshes.ts";
import { SignInLimiter } from "../../kernel/auth/sign-in-limiter.ts";
import { fallbackPaths, METADATA_PATH, toEndpoint, withoutOpenId } from "./token-requests.ts";

/** Host names of this server that one isolate caches. */
const ORIGINS = 20;

/** Configuration and bindings of the authorization server. */
export interface AuthorizationServerOptions extends Site, SignInContext, RefreshesOptions {
  /** Makes the apps of a team's members, for this authorization server; undefined without a team. */
  memberApps: ((server: AppServer) => MemberApps) | undefined;
  /** The configured scopes with the patterns that each grants; undefined if none are configured. */
  scopes: Readonly<Record<string, readonly string[]>> | undefined;
  fetch: Fetch;
  attempts: DurableObjectNamespace<Attempts>;
  /** Identity providers whose assertions are exchanged for tokens. */
  enterprises: readonly Enterprise[];
}

/** Data that is stored with a grant of the owner, or of an enterprise's user. */
interface Props extends Partial<EnterpriseProps> {
  /** Hash of the passphrase at the time of the grant. */
  seal: string;
  /** True if the grant is limited to its scopes. A client may narrow them later, even to none. */
  isLimited: boolean;
}

interface Env {
  OAUTH_KV: KVNamespace;
}

/** The library passes a context only to resource handlers, of which there are none. */
const NO_CONTEXT = {} as ExecutionContext;

const NO_RECEIVER =
  "no app can receive its redirect_uri. Use https, http on a loopback host, or a scheme of the app's own such as com.example.app:/callback";

/** The paths of the endpoints of a server with these profiles, besides the page `/authorize`. */
export const protocolPaths = (profiles: readonly string[]): string[] => [
  "/oauth/token",
  "/oauth/register",
  ...fallbackPaths(profiles),
];

/** The authorization request with one URL for the MCP endpoint and its scopes separated by single spaces. */
function unified(request: Request): Request {
  const url = new URL(request.url);
  const { searchParams } = url;
  if (searchParams.has("resource")) unifyResource(searchParams, request);
  const [scope, ...more] = searchParams.getAll("scope");
  if (scope !== undefined && more.length === 0)
    searchParams.set("scope", scope.trim().replaceAll(/\s+/g, " "));
  return url.href === request.url ? request : arrivedAs(request, new Request(url, request));
}

/** The built-in authorization server. */
export interface AuthorizationServer extends SignIn {
  /** The page where the owner approves a client: `/authorize`. */
  authorize(request: Request): Promise<Response>;
  /** The endpoints of `protocolPaths`: metadata, tokens, registration. */
  protocol(request: Request): Promise<Response>;
}

/**
 * An authorization server for one owner, who approves clients with a passphrase. Clients identify themselves by a
 * metadata document, or register.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export function authorizationServer(owner: AuthorizationServerOptions): AuthorizationServer {
  const { store } = owner;
  const documents = new ClientDocuments(owner.fetch);
  const limiter = new SignInLimiter(owner.attempts);
  const refreshes = new Refreshes(owner);
  const byOrigin = new Map<string, OAuthAuthorizationServer<Env>>();
  // Tokens are bound to the passphrase: changing it revokes all of them.
  const seal = owner.passphrase ?? "";
  const members = owner.memberApps?.({
    limiter,
    granted,
    described,
    complete,
    asked: askedIn,
    hasOwner: owner.passphrase !== undefined,
    scopes: owner.scopes ?? {},
  });

  /** The audience of tokens. Tokens for an assertion keep the URL that it names, since the assertion is signed. */
  const resourcesOf = (request: Request): string[] => {
    const resource = audienceOf(request);
    if (owner.enterprises.length === 0) return [resource];
    return [resource, `${resource}/`, new URL(resource).origin];
  };

  const ofProfiles = (request: Request): string[] =>
    [...owner.profiles.keys()].map((profile) => audienceOf(request, profile));

  /** The library's server for the request's host name; only requests show the host names. */
  function serverOf(request: Request): OAuthAuthorizationServer<Env> {
    const { origin } = new URL(request.url);
    const resource = audienceOf(request);
    if (!isSafe(arrivalOf(request))) {
      throw new Fault(
        "forbidden",
        "Sign-in was requested over http. Only https and loopback hosts are allowed. Open the https URL.",
      );
    }
    const known = byOrigin.get(origin + resource);
    if (known !== undefined) return known;
    const made = new OAuthAuthorizationServer<Env>({
      issuer: origin,
      resources: [...resourcesOf(request), ...ofProfiles(request)],
      defaultResource: resource,
      legacyGrantResource: resource,
      clientRegistrationEndpoint: "/oauth/register",
      // Renewed by refreshes, so that no registration ends before its tokens.
      clientRegistrationTTL: limits.refreshTokenMs / 1000,
      refreshTokenTTL: limits.refreshTokenMs / 1000,
      refreshTokenIdleTTL: limits.refreshTokenMs / 1000,
      // Narrowed by `mayLeadTo`, here and at `/authorize`.
      allowPrivateUseRedirectUris: true,
      tokenExchangeCallback: async ({ grantType, props }) => {
        const grant = props as Props | MemberGrant;
        if (!("member" in grant)) demandSeal(grant.seal);
        else if (members === undefined) demandSeal();
        else await members.demand(grant, grantType === GrantType.REFRESH_TOKEN);
      },
      clientRegistrationCallback: async ({ clientMetadata, request: registration }) => {
        // The library has checked that these are strings.
        if (!(clientMetadata["redirect_uris"] as string[]).some(mayLeadTo)) {
          return { code: "invalid_redirect_uri", description: NO_RECEIVER };
        }
        try {
          await limiter.registration(registration);
          return undefined;
        } catch (error) {
          const fault = Fault.from(error);
          const status = httpStatus(fault);
          return { code: "temporarily_unavailable", description: fault.message, status };
        }
      },
      ...(owner.enterprises.length > 0 && {
        enterpriseManagedAuthorization: enterpriseAuthorization({
          issuers: owner.enterprises,
          attempts: owner.attempts,
          // As with other issuers, they have scopes only if scopes are configured.
          propsOf: (name) => ({ name, seal, isLimited: owner.scopes !== undefined }),
          isScope: (scope) => scope !== OPERATOR_SCOPE && owner.isScope(scope),
        }),
      }),
      // The default logs every refused client.
      onError: () => undefined,
    });
    if (byOrigin.size >= ORIGINS) byOrigin.clear();
    byOrigin.set(origin + resource, made);
    return made;
  }

  /** Throws the error of the token endpoint unless the grant is sealed with the current passphrase. */
  function demandSeal(sealed?: string): void {
    if (owner.passphrase !== undefined && sealed === seal) return;
    throw new OAuthError("invalid_grant", {
      description: "The passphrase has changed since this token was issued: sign in again",
    });
  }

  /** The store for one request. Token requests use the client as approved, not its current document. */
  function envFor(request: Request, isForTokens: boolean, base = store): Env {
    const find = async (id: string) => {
      const stored = isForTokens && (await storedClient(store, id));
      if (stored) return stored;
      const found = documents.find(id, () => limiter.document(request));
      return isForTokens ? found.catch(unknownClient) : found;
    };
    return { OAUTH_KV: storeWith(base, find) };
  }

  /**
   * The requested scopes that are known. A client that requests none but those of OpenID Connect may do everything.
   * Throws `invalid_scope` if a client requests unknown scopes only, since it expects some limit.
   */
  function granted(asked: AuthRequest, request: Request): string[] {
    // A token for a profile is valid nowhere else.
    const profile = profileOf(asked, request)?.name;
    const isScope = (scope: string) => owner.isScope(scope, profile);
    const scopes = withoutOpenId(asked.scope, isScope);
    const known = scopes.filter(isScope);
    if (known.length > 0 || scopes.length === 0) return known;
    const there = [...Object.keys(owner.scopes ?? {}), "patterns such as SERVLET:TOOL"].join(", ");
    throw refused(
      asked,
      "invalid_scope",
      `The app asks for unknown scopes only. Known are ${there}; an app that asks for no scope may use everything`,
    );
  }

  /** The authorization request. Throws its refusal if it has no PKCE. */
  async function askedIn({ oauth, request }: AppRequest): Promise<AuthRequest> {
    const asked = await oauth.parseAuthRequest(request);
    if (asked.codeChallenge !== undefined) return asked;
    throw refused(
      asked,
      "invalid_request",
      "The request has no code_challenge: send one with code_challenge_method S256",
    );
  }

  /** A client's request, for its page. */
  async function described(
    asked: AuthRequest,
    { oauth, request }: AppRequest,
    scopes: readonly string[],
  ): Promise<ClientRequest> {
    const client = await oauth.describeConsent(asked);
    client.scope = withoutOpenId(client.scope, owner.isScope);
    if (isDocumentUrl(asked.clientId)) client.clientDomain = new URL(asked.clientId).hostname;
    const { origin } = new URL(request.url);
    const profile = profileOf(asked, request);
    return { site: owner, origin, client, profile, scopes: grantsOf(scopes, profile?.name) };
  }

  /** The consent page; each handle on it is valid once, in this browser. */
  async function ask(app: AppRequest, complaint?: string): Promise<Response> {
    const { oauth, request } = app;
    const asked = await askedIn(app);
    const scopes = granted(asked, request);
    if (complaint === undefined) await limiter.page(request);
    const client = await described(asked, app, scopes);
    const { handle, headers } = await oauth.beginConsent(asked);
    return consentPage(client, { handle, headers, complaint });
  }

  /** The name and title of the profile that a request is for; undefined for the whole server. */
  const profileOf = ({ resource }: AuthRequest, request: Request) =>
    [...owner.profiles]
      .map(([name, title]) => ({ name, title }))
      .find(({ name }) => [resource].flat().includes(audienceOf(request, name)));

  /** The patterns that each scope grants: the configured ones or the scope itself. Omits those for other profiles. */
  function grantsOf(scopes: readonly string[], profile: string | undefined) {
    const there = (pattern: string) => {
      if (profile === undefined || !pattern.startsWith("profile:")) return [pattern];
      return owner.isScope(pattern, profile) ? [`profile:${profile}`] : [];
    };
    const patterns = (scope: string) => owner.scopes?.[scope] ?? [scope];
    return new Map(scopes.map((scope) => [scope, patterns(scope).flatMap(there)]));
  }

  async function decide(app: AppRequest): Promise<Response> {
    const { oauth, request } = app;
    const form = await formOf(request);
    const decided = await members?.decide(app, form);
    if (decided !== undefined) return decided;
    const handle = form.get("handle") ?? "";
    if (form.get("decision") !== "allow") {
      const { headers } = await oauth.denyConsent(request, handle);
      return new Response(null, { status: 303, headers });
    }
    const isOwner = () => isPassphrase(form.get("passphrase") ?? "", seal);
    if (!(await limiter.passphrase(request, isOwner))) {
      return ask(app, "Wrong passphrase. Enter the passphrase of this server.");
    }
    const { request: asked, headers } = await oauth.approveConsent(request, handle);
    await limiter.pageAllowed(request);
    const scope = granted(asked, request);
    const props: Props = { seal, isLimited: scope.length > 0 };
    return complete(asked, oauth, { headers, scope, props, userId: "owner" });
  }

  /** Leads the browser back to an approved client, with its code. */
  async function complete(
    asked: AuthRequest,
    oauth: OAuthHelpers,
    {
      headers,
      scope,
      props,
      userId,
    }: { headers: Headers; scope: string[]; props: object; userId: string },
  ): Promise<Response> {
    const { redirectTo } = await oauth.completeAuthorization({
      request: asked,
      userId,
      metadata: {},
      scope,
      props,
      // One app on two devices is one client.
      revokeExistingGrants: false,
    });
    if (isDocumentUrl(asked.clientId)) {
      const client = await oauth.lookupClient(asked.clientId);
      if (client !== null) await storeClient(store, client);
    }
    headers.set("location", redirectTo);
    return new Response(null, { status: 303, headers });
  }

  return {
    async verify(token, request, profile) {
      if (token.split(":").length !== 3) return undefined;
      const validated = (resource: string) =>
        serverOf(request).validateToken<Props | MemberGrant>(
          resource,
          token,
          envFor(request, true),
        );
      let found: Awaited<ReturnType<typeof validated>> = null;
      if (profile !== undefined) found = await validated(audienceOf(request, profile));
      const isForProfile = found !== null;
      for (const resource of resourcesOf(request)) found ??= await validated(resource);
      if (found === null) return undefined;
      const { props, scope, expiresAt } = found;
      const expires = expiresAt * 1000;
      if ("member" in props) {
        const holder = await members?.holder(props, scope);
        return holder && { ...holder, expires: Math.min(expires, holder.expires), isForProfile };
      }
      if (owner.passphrase === undefined || props.seal !== seal) return undefined;
      const { name = "owner", isLimited } = props;
      return { principal: { name, ...(isLimited && { scopes: scope }) }, expires, isForProfile };
    },
    async authorize(sent) {
      try {
        // Checked first, since a refusal has a link to it.
        if (!mayLeadTo(new URL(sent.url).searchParams.get("redirect_uri") ?? "")) {
          throw new Fault("invalid_request", `The request cannot be answered: ${NO_RECEIVER}`);
        }
        const request = unified(sent);
        const oauth = serverOf(request).getOAuthApi(envFor(request, false));
        const app = { oauth, request };
        if (request.method === "POST") return await decide(app);
        demandNavigation(request);
        return (await members?.ask(app)) ?? (await ask(app));
      } catch (error) {
        return refusalPage(owner, refusalOf(error));
      }
    },
    async protocol(request) {
      try {
        const { request: there, form } = await toEndpoint(request, owner.isScope);
        const meant = arrivedAs(request, there);
        const serve = (given: Request, base?: KVNamespace) =>
          serverOf(given).fetch(given, envFor(given, true, base), NO_CONTEXT);
        if (form?.get("grant_type") === ASSERTION_GRANT)
          return await limiter.assertion(meant, () => serve(meant));
        if (form !== undefined) return await refreshes.answer(meant, form, serve);
        const response = await serve(meant);
        const isMetadata = meant.method === "GET" && new URL(meant.url).pathname === METADATA_PATH;
        return isMetadata ? await completed(response) : response;
      } catch (error) {
        return tokenError(error);
      }
    },
  };

  /** The library's metadata with what it does not support: client ids that are URLs, and scopes. */
  async function completed(response: Response): Promise<Response> {
    const metadata: object = await response.json();
    const scopes = Object.keys(owner.scopes ?? {});
    return Response.json(
      {
        ...metadata,
        client_id_metadata_document_supported: true,
        ...(scopes.length > 0 && { scopes_supported: scopes }),
      },
      { headers: response.headers },
    );
  }
}
