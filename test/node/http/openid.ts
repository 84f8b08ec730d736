import { generateKeyPairSync } from "node:crypto";
import { decodeJwt, type JWTPayload, SignJWT } from "jose";
import Provider, { type Context } from "oidc-provider";
import { freePort } from "../workerd.ts";
import { forgetting } from "./account-provider.ts";
import { bodyOf, standIn, tokenIn } from "./stand-in.ts";

/** A provider that a stand-in imitates. */
export type OpenIdKind = "google" | "entra" | "okta" | "auth0" | "keycloak" | "workos";

/** Claims of an account, as ID tokens and the userinfo endpoint give them. `sub` is the login by default. */
export type Claims = Record<string, unknown> & { sub?: string };

/** Errors in the next responses. */
export interface Faults {
  /** Replaces claims of ID tokens, such as `iss`, `aud`, `nonce` and `exp`; `undefined` removes a claim. */
  idToken?: Record<string, unknown>;
  /** Signs ID tokens with a key that the key set lacks. */
  forged?: boolean;
  /** Replaces `iss` of authorization responses. */
  iss?: string;
  /** The error code with which every token request is refused. */
  token?: string;
}

interface TokenResponse {
  id_token?: string;
  refresh_token?: string;
  scope?: string;
}

interface Shape {
  /** The issuer without the origin. */
  issuer: string;
  /** Start of the path of each endpoint, before the paths in `routes`: a realm or a tenant. */
  base?: RegExp;
  routes: Record<"authorization" | "token" | "jwks" | "userinfo" | "revocation", string>;
  /** Scopes beside `openid`, `email`, `profile` and `offline_access`. */
  scopes?: string[];
  /** Whether authorization responses have `iss`: https://www.rfc-editor.org/rfc/rfc9207 */
  iss?: boolean;
  /** Whether an authorization request leads to a refresh token. Default: with the scope `offline_access`. */
  refreshes?: (parameters: Record<string, string | undefined>) => boolean;
  /** Whether a response to a refresh omits the refresh token if it has not changed. */
  omitsRefreshToken?: boolean;
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
    omitsRefreshToken: true,
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
    omitsRefreshToken: true,
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

/** Claims by the scope that they need. */
const GOVERNED: Record<string, string[]> = {
  email: ["email", "email_verified"],
  profile: ["name", "given_name", "family_name", "nickname", "picture", "preferred_username"],
};

const CLIENT = { id: "edge-servlets", secret: "the secret of the client, which is long" };

const newKey = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

/** The signing key of all stand-ins in this process. */
const privateKey = newKey();
const SIGNING_KEY = { ...privateKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" };

/**
 * Starts a stand-in for a provider: `oidc-provider` with the paths, tokens and claims of that provider. Tests may change
 * the fields of the result at any time.
 *
 *     const google = await openIdProvider("google", "http://127.0.0.1:8787/callback");
 *     google.accounts.set("ada", { sub: "110", email: "ada@acme.example", email_verified: true, hd: "acme.example" });
 *     await new PersonBrowser().go(authorizationUrl, { login: "ada", password: "any" });
 */
export async function openIdProvider(kind: OpenIdKind, ...redirectUris: string[]) {
  const shape = SHAPES[kind];
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const accounts = new Map<string, Claims>();
  const disabled = new Set<string>();
  const isActive = (login: string) => accounts.has(login) && !disabled.has(login);
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
      isActive(accountId) ? { accountId, claims: () => claimsOf(accountId) } : undefined,
    issueRefreshToken: ({ oidc }: { oidc: { params: { code: string } } }) =>
      refreshable.has(oidc.params.code),
    rotateRefreshToken: () => state.rotates,
    pkce: { required: () => true },
  });

  /** Authorization codes that are worth a refresh token. */
  const refreshable = new Set<string>();
  provider.on("authorization.success", (context, out) => {
    const { params = {} } = (context as Context).oidc!;
    const hasScope = params["scope"]?.split(" ").includes("offline_access") === true;
    if (shape.refreshes?.(params) ?? hasScope) refreshable.add((out as { code: string }).code);
  });

  /** Claims of an account that these scopes grant. */
  function grantedClaims(login: string, scopes: readonly string[]): Claims {
    const claims = claimsOf(login);
    for (const [scope, names] of Object.entries(GOVERNED))
      if (!scopes.includes(scope)) for (const name of names) delete claims[name];
    if (kind === "okta" && !scopes.includes("groups")) delete claims["groups"];
    const { groups, oid } = claims;
    if (kind === "entra" && Array.isArray(groups) && groups.length > state.groupLimit) {
      // https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference
      delete claims["groups"];
      claims["_claim_names"] = { groups: "src1" };
      const endpoint = `${url}/graph/v1.0/users/${String(oid)}/getMemberObjects`;
      claims["_claim_sources"] = { src1: { endpoint } };
    }
    return claims;
  }

  /** Signs an ID token again, with the claims of the account and with faults. */
  async function issueIdToken(
    original: string,
    login: string,
    scopes: readonly string[],
    isRefresh: boolean,
  ) {
    const claims: JWTPayload = { ...decodeJwt(original), ...grantedClaims(login, scopes) };
    // https://openid.net/specs/openid-connect-core-1_0.html#RefreshTokenResponse
    if (isRefresh) delete claims["nonce"];
    if (kind === "entra") claims.iss = `${url}/${String(claims["tid"])}/v2.0`;
    const { idToken, forged } = state.faults;
    return new SignJWT({ ...claims, ...idToken })
      .setProtectedHeader({ alg: "RS256", kid: "1" })
      .sign(forged ? newKey() : privateKey);
  }

  /** Adapts a token response; `login` is undefined if there is no valid grant. */
  async function tokenResponse(body: TokenResponse, login: string | undefined, isRefresh: boolean) {
    if (body.id_token === undefined || login === undefined) return body;
    const scopes = body.scope?.split(" ") ?? [];
    const id_token = await issueIdToken(body.id_token, login, scopes, isRefresh);
    const adapted = { ...body, id_token };
    if (isRefresh && shape.omitsRefreshToken && !state.rotates) delete adapted.refresh_token;
    return adapted;
  }

  /** Adapts the discovery document at a base path. */
  function discoveryDocument(original: object, base: string) {
    const document: Record<string, unknown> = { ...original };
    for (const [name, value] of Object.entries(original))
      if (typeof value === "string" && value.startsWith(`${url}/`) && name !== "issuer")
        document[name] = url + (value.includes("/graph/") ? "" : base) + value.slice(url.length);
    if (kind === "entra") {
      const isShared = /^\/(common|organizations|consumers)$/.test(base);
      document["issuer"] = `${url}${isShared ? "/{tenantid}" : base}/v2.0`;
    }
    if (!state.sendsIss) delete document["authorization_response_iss_parameter_supported"];
    return document;
  }

  /** Adapts an authorization request: `oidc-provider` ignores `offline_access` without consent, and rejects `select_account`. */
  function authorizationQuery({ prompt = "", scope = "", ...rest }: Context["query"]) {
    const prompts = new Set(String(prompt).split(" ").filter(Boolean));
    prompts.delete("select_account");
    if (String(scope).split(" ").includes("offline_access")) prompts.add("consent");
    return { ...rest, scope, ...(prompts.size > 0 && { prompt: [...prompts].join(" ") }) };
  }

  /** Adapts an authorization response. */
  function authorizationResponse(location: string) {
    const to = new URL(location);
    if (!state.sendsIss) to.searchParams.delete("iss");
    if (state.faults.iss !== undefined) to.searchParams.set("iss", state.faults.iss);
    return to.href;
  }

  /** The group functions of Microsoft Graph: https://learn.microsoft.com/en-us/graph/api/user-checkmembergroups */
  async function graph(context: Context) {
    const refuse = (status: number, code: string, message: string) => {
      context.status = status;
      context.body = { error: { code, message } };
    };
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
    context.status = 200;
    context.body = { value: groups };
    if (!context.path.endsWith("/checkMemberGroups")) return;
    const { groupIds } = JSON.parse(await bodyOf(context.req)) as { groupIds: string[] };
    if (groupIds.length > 20)
      return refuse(400, "Request_BadRequest", "`groupIds` has more than 20 items.");
    context.body = { value: groups.filter((id) => groupIds.includes(id)) };
  }

  provider.use(async (context, next) => {
    const [match = "", base = ""] = shape.base?.exec(context.path) ?? [];
    if (match !== "") context.path = context.path.slice(match.length);
    const { path, req } = context;
    if (/^\/graph\/v1\.0\/(me|users\/[^/]+)\/(checkMemberGroups|getMemberObjects)$/.test(path))
      return graph(context);
    const { token: error } = state.faults;
    if (path === shape.routes.token && error !== undefined) {
      context.status = 400;
      context.body = { error };
      return;
    }
    if (path === shape.routes.authorization) context.query = authorizationQuery(context.query);
    if (path.startsWith("/interaction/") && context.method === "POST") {
      req.body = await bodyOf(req);
      const login = new URLSearchParams(req.body).get("login");
      // The login page again, as for a wrong password.
      if (login !== null && !isActive(login)) return context.redirect(path);
    }
    await next();
    const { params, account } = context.oidc ?? {};
    const login = account?.accountId;
    const record = server.recordOf(req);
    if (login !== undefined) record.login = login;
    if (path === "/.well-known/openid-configuration")
      context.body = discoveryDocument(context.body!, base);
    if (path === shape.routes.token) {
      record.grant = params?.["grant_type"] ?? "";
      context.body = await tokenResponse(context.body!, login, record.grant === "refresh_token");
    }
    if (path === shape.routes.userinfo && context.status === 200) {
      const token = await provider.AccessToken.find(tokenIn(req) ?? "");
      context.body = grantedClaims(login!, token?.scope?.split(" ") ?? []);
    }
    const location = context.response.get("location") ?? "";
    if (redirectUris.some((uri) => location.startsWith(uri)))
      context.set("location", authorizationResponse(location));
  });

  const server = await standIn(provider.callback(), port);
  const state = {
    url,
    /** Issuer to discover; for Entra that of `organizations`. A single tenant has `${url}/${tid}/v2.0`. */
    issuer: kind === "entra" ? `${url}/organizations/v2.0` : url + shape.issuer,
    client: { clientId: CLIENT.id, clientSecret: CLIENT.secret },
    /** Accounts by login. */
    accounts,
    /** Logins of accounts that can neither sign in nor refresh. */
    disabled,
    faults: {} as Faults,
    /** Whether authorization responses have `iss`. */
    sendsIss: shape.iss ?? false,
    /** Whether each refresh replaces the refresh token. A second use of a refresh token then ends the grant. */
    rotates: shape.rotates ?? false,
    /** Maximum of groups in an ID token of Entra. */
    groupLimit: 200,
    requests: server.requests,
    /** Takes the provider down; without an argument up again. */
    fail: server.fail,
    /** Ends the refresh tokens of a person, by login. */
    forget: forgetting(provider),
    close: server.close,
  };
  return state;
}

export type OpenIdProvider = Awaited<ReturnType<typeof openIdProvider>>;
