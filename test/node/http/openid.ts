import { generateKeyPairSync } from "node:crypto";
import { decodeJwt, type JWTPayload, SignJWT } from "jose";
import Provider, { type Context } from "oidc-provider";
import { freePort } from "../workerd.ts";
import { forgetting } from "./account-provider.ts";
import { bodyOf, standIn, tokenIn } from "./stand-in.ts";

/** The shapes of providers that a stand-in can have. */
export type OpenIdKind = "google" | "entra" | "okta" | "auth0" | "keycloak" | "workos";

/** Claims of an account. Those that no scope governs are in every ID token and in the answer of userinfo. */
export type Claims = Record<string, unknown> & { sub?: string };

/** What is wrong with the next answers. */
export interface Faults {
  /** Replaces claims of ID tokens, as `iss`, `aud` and `nonce`; `undefined` removes one. */
  idToken?: Record<string, unknown>;
  /** Replaces `iss` of authorization responses. */
  iss?: string;
}

interface Shape {
  /** What follows the origin in the issuer. */
  issuer: string;
  /** What stands before the paths of `routes`: a realm or a tenant. */
  base?: RegExp;
  routes: Record<"authorization" | "token" | "jwks" | "userinfo" | "revocation", string>;
  /** Scopes beside `openid`, `email`, `profile` and `offline_access`. */
  scopes?: string[];
  /** Authorization responses have `iss`: RFC 9207. */
  iss?: boolean;
  /** When there is a refresh token; else with the scope `offline_access`. */
  refreshes?: (parameters: Record<string, string | undefined>) => boolean;
  /** A refresh gives no refresh token unless these rotate. */
  keepsRefreshToken?: boolean;
  rotates?: boolean;
}

const GRAPH_RIGHTS = ["User.Read", "GroupMember.Read.All", "Directory.Read.All"];
const GRAPH = "https://graph.microsoft.com/";

const SHAPES: Record<OpenIdKind, Shape> = {
  // https://developers.google.com/identity/openid-connect/openid-connect
  google: {
    issuer: "",
    routes: {
      authorization: "/o/oauth2/v2/auth",
      token: "/token",
      jwks: "/oauth2/v3/certs",
      userinfo: "/v1/userinfo",
      revocation: "/revoke",
    },
    iss: true,
    refreshes: ({ access_type, prompt }) =>
      access_type === "offline" && prompt?.split(" ").includes("consent") === true,
    keepsRefreshToken: true,
  },
  // https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc
  entra: {
    issuer: "",
    base: /^(\/[^/]+)(?:(?=\/(?:oauth2|discovery)\/v2\.0\/)|\/v2\.0(?=\/\.well-known\/))/,
    routes: {
      authorization: "/oauth2/v2.0/authorize",
      token: "/oauth2/v2.0/token",
      jwks: "/discovery/v2.0/keys",
      userinfo: "/graph/oidc/userinfo",
      revocation: "/unused/revoke",
    },
    scopes: GRAPH_RIGHTS.flatMap((right) => [right, GRAPH + right]),
  },
  // https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/, the org authorization server
  okta: {
    issuer: "",
    routes: {
      authorization: "/oauth2/v1/authorize",
      token: "/oauth2/v1/token",
      jwks: "/oauth2/v1/keys",
      userinfo: "/oauth2/v1/userinfo",
      revocation: "/oauth2/v1/revoke",
    },
    scopes: ["groups"],
  },
  auth0: {
    issuer: "/",
    routes: {
      authorization: "/authorize",
      token: "/oauth/token",
      jwks: "/.well-known/jwks.json",
      userinfo: "/userinfo",
      revocation: "/oauth/revoke",
    },
    keepsRefreshToken: true,
  },
  // https://www.keycloak.org/securing-apps/oidc-layers
  keycloak: {
    issuer: "/realms/acme",
    base: /^(\/realms\/acme)(?=\/)/,
    routes: {
      authorization: "/protocol/openid-connect/auth",
      token: "/protocol/openid-connect/token",
      jwks: "/protocol/openid-connect/certs",
      userinfo: "/protocol/openid-connect/userinfo",
      revocation: "/protocol/openid-connect/revoke",
    },
    iss: true,
    refreshes: () => true,
  },
  workos: {
    issuer: "",
    routes: {
      authorization: "/oauth2/authorize",
      token: "/oauth2/token",
      jwks: "/oauth2/jwks",
      userinfo: "/oauth2/userinfo",
      revocation: "/oauth2/revoke",
    },
    rotates: true,
  },
};

/** Claims that are given only with a scope. */
const GOVERNED: Record<string, string[]> = {
  email: ["email", "email_verified"],
  profile: ["name", "given_name", "family_name", "nickname", "picture", "preferred_username"],
};

const CLIENT = { id: "edge-servlets", secret: "the secret of the client, which is long" };

/** The key of all stand-ins of this process. */
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const SIGNING_KEY = { ...privateKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" };

/**
 * Starts a stand-in for a provider: `oidc-provider` with the paths and the tokens of another. Tests change the fields of
 * what it gives at any time.
 *
 *     const google = await openIdProvider("google", "http://127.0.0.1:8787/callback");
 *     google.accounts.set("ada", { sub: "110", email: "ada@acme.example", email_verified: true, hd: "acme.example" });
 *     await new PersonBrowser().go(authorizationUrl, { login: "ada", password: "any" });
 */
export async function openIdProvider(kind: OpenIdKind, ...redirectUris: string[]) {
  const shape = SHAPES[kind];
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  /** By what a person enters as login. */
  const accounts = new Map<string, Claims>();
  /** Logins of accounts that are switched off: they can neither sign in nor refresh. */
  const disabled = new Set<string>();
  const claimsOf = (login: string): Claims => ({ sub: login, ...accounts.get(login) });

  const provider = new Provider(url + shape.issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    jwks: { keys: [SIGNING_KEY] },
    routes: shape.routes,
    scopes: ["openid", "offline_access", ...(shape.scopes ?? [])],
    claims: { openid: ["sub"], ...GOVERNED },
    extraParams: ["access_type"],
    features: { revocation: { enabled: true } },
    findAccount: (_: unknown, accountId: string) =>
      accounts.has(accountId) && !disabled.has(accountId)
        ? { accountId, claims: () => claimsOf(accountId) }
        : undefined,
    issueRefreshToken: ({ oidc }: { oidc: { params: { code: string } } }) =>
      refreshable.has(oidc.params.code),
    rotateRefreshToken: () => standing.rotates,
    pkce: { required: () => true },
  });

  /** Codes that are exchanged for a refresh token too. */
  const refreshable = new Set<string>();
  provider.on("authorization.success", (context, out) => {
    const { params = {} } = (context as Context).oidc!;
    const hasScope = params["scope"]?.split(" ").includes("offline_access") === true;
    if (shape.refreshes?.(params) ?? hasScope) refreshable.add((out as { code: string }).code);
  });

  /** The claims of an account that a token with these scopes gives. */
  function granted(login: string, scopes: readonly string[]): Claims {
    const claims = claimsOf(login);
    for (const [scope, names] of Object.entries(GOVERNED))
      if (!scopes.includes(scope)) for (const name of names) delete claims[name];
    if (kind === "okta" && !scopes.includes("groups")) delete claims["groups"];
    const { groups, oid } = claims;
    if (kind === "entra" && Array.isArray(groups) && groups.length > standing.groupLimit) {
      // https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference
      delete claims["groups"];
      claims["_claim_names"] = { groups: "src1" };
      const endpoint = `${url}/graph/v1.0/users/${String(oid)}/getMemberObjects`;
      claims["_claim_sources"] = { src1: { endpoint } };
    }
    return claims;
  }

  /** The ID token with the claims of the account, and with what is wrong with it. */
  async function dressed(
    idToken: string,
    login: string,
    scopes: readonly string[],
    isFirst: boolean,
  ) {
    const { nonce, ...payload } = decodeJwt(idToken);
    const claims: JWTPayload = { ...payload, ...granted(login, scopes) };
    if (kind === "entra") claims.iss = `${url}/${String(claims["tid"])}/v2.0`;
    if (isFirst && nonce !== undefined) claims["nonce"] = nonce;
    Object.assign(claims, standing.faults.idToken);
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "1" }).sign(privateKey);
  }

  /** The discovery document, at the base of which it was asked. */
  function described(document: Record<string, unknown>, base: string) {
    const { authorization_response_iss_parameter_supported: _, ...rest } = document;
    for (const [name, value] of Object.entries(rest))
      if (typeof value === "string" && value.startsWith(`${url}/`) && name !== "issuer")
        rest[name] = url + (value.includes("/graph/") ? "" : base) + value.slice(url.length);
    if (kind === "entra") {
      const isShared = /^\/(common|organizations|consumers)$/.test(base);
      rest["issuer"] = `${url}${isShared ? "/{tenantid}" : base}/v2.0`;
      rest["tenant_region_scope"] = null;
    }
    if (standing.sendsIss) rest["authorization_response_iss_parameter_supported"] = true;
    return rest;
  }

  /** What of Microsoft Graph tells groups: https://learn.microsoft.com/en-us/graph/api/user-checkmembergroups */
  async function graph(context: Context) {
    const refuse = (status: number, code: string, message: string) => {
      context.status = status;
      context.body = { error: { code, message } };
    };
    const body = JSON.parse((await bodyOf(context.req)) || "{}") as { groupIds?: string[] };
    const token = await provider.AccessToken.find(tokenIn(context.req) ?? "");
    if (token === undefined)
      return refuse(401, "InvalidAuthenticationToken", "Access token validation failure.");
    server.recordOf(context.req).login = token.accountId;
    const scopes = token.scope?.split(" ") ?? [];
    if (!scopes.some((scope) => GRAPH_RIGHTS.includes(scope.replace(GRAPH, ""))))
      return refuse(
        403,
        "Authorization_RequestDenied",
        "Insufficient privileges to complete the operation.",
      );
    const groups = (claimsOf(token.accountId)["groups"] ?? []) as string[];
    const { groupIds } = body;
    const isCheck = context.path.endsWith("/checkMemberGroups");
    if (isCheck && (groupIds === undefined || groupIds.length > 20))
      return refuse(400, "Request_BadRequest", "The groupIds must be at most 20.");
    const value = isCheck ? groups.filter((id) => groupIds!.includes(id)) : groups;
    context.status = 200;
    context.body = { value };
  }

  provider.use(async (context, next) => {
    const [match = "", base = ""] = shape.base?.exec(context.path) ?? [];
    if (match !== "") context.path = context.path.slice(match.length);
    const { path } = context;
    if (/^\/graph\/v1\.0\/(me|users\/[^/]+)\/(checkMemberGroups|getMemberObjects)$/.test(path))
      return graph(context);
    if (path === shape.routes.authorization) context.query = asked(context.query);
    await next();
    const { params = {}, account } = context.oidc ?? {};
    const record = server.recordOf(context.req);
    if (account !== undefined) record.login = account.accountId;
    const body = context.body as Record<string, string | undefined>;
    if (path === "/.well-known/openid-configuration") context.body = described(body, base);
    if (path === shape.routes.token) {
      const { grant_type } = params;
      record.grant = grant_type!;
      const isFirst = grant_type === "authorization_code";
      const scopes = body["scope"]?.split(" ") ?? [];
      if (body["id_token"] !== undefined)
        body["id_token"] = await dressed(body["id_token"], account!.accountId, scopes, isFirst);
      if (!isFirst && shape.keepsRefreshToken && !standing.rotates) delete body["refresh_token"];
      context.body = body;
    }
    if (path === shape.routes.userinfo && context.status === 200) {
      const token = await provider.AccessToken.find(tokenIn(context.req) ?? "");
      context.body = granted(account!.accountId, token?.scope?.split(" ") ?? []);
    }
    const location = context.response.get("location") ?? "";
    if (redirectUris.some((uri) => location.startsWith(uri))) {
      const to = new URL(location);
      if (!standing.sendsIss) to.searchParams.delete("iss");
      if (standing.faults.iss !== undefined) to.searchParams.set("iss", standing.faults.iss);
      context.set("location", to.href);
    }
  });

  /** A request for authorization as `oidc-provider` wants it: it takes `offline_access` with consent only, and knows no choice of accounts. */
  function asked({ prompt = "", scope = "", ...rest }: Context["query"]): Context["query"] {
    const prompts = new Set(String(prompt).split(" ").filter(Boolean));
    prompts.delete("select_account");
    if (String(scope).split(" ").includes("offline_access")) prompts.add("consent");
    return { ...rest, scope, ...(prompts.size > 0 && { prompt: [...prompts].join(" ") }) };
  }

  const server = await standIn(provider.callback(), port);
  const standing = {
    url,
    /** As in the discovery document; of Entra it is that of `organizations`. */
    issuer: kind === "entra" ? `${url}/organizations/v2.0` : url + shape.issuer,
    client: { clientId: CLIENT.id, clientSecret: CLIENT.secret },
    accounts,
    disabled,
    faults: {} as Faults,
    /** Authorization responses have `iss`. */
    sendsIss: shape.iss ?? false,
    /** A refresh token works once, and its second use ends the grant. */
    rotates: shape.rotates ?? false,
    /** Groups that an ID token of Entra has at most. */
    groupLimit: 200,
    requests: server.requests,
    /** Takes the provider down, or up again with no argument. */
    fail: server.fail,
    /** Ends the refresh tokens of a person, by login. */
    forget: forgetting(provider),
    close: server.close,
  };
  return standing;
}

export type OpenIdProvider = Awaited<ReturnType<typeof openIdProvider>>;
