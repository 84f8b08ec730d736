import * as oauth from "oauth4webapi";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { PersonBrowser } from "./account-provider.ts";
import { type GitHub, gitHub } from "./github.ts";
import { CALLBACK } from "./oauth-client.ts";
import { type Claims, openIdProvider, type OpenIdKind, type OpenIdProvider } from "./openid.ts";

type Json = Record<string, any>;

const http = { [oauth.allowInsecureRequests]: true };

const OFFLINE: Record<OpenIdKind, Record<string, string>> = {
  google: { access_type: "offline", prompt: "consent" },
  entra: { scope: "openid profile email offline_access User.Read" },
  okta: { scope: "openid profile email groups offline_access" },
  auth0: { scope: "openid profile email offline_access" },
  keycloak: {},
  workos: { scope: "openid profile email offline_access" },
};

const ACCOUNTS: Record<OpenIdKind, Claims> = {
  google: { sub: "110", email: "ada@acme.example", email_verified: true, hd: "acme.example" },
  entra: { sub: "pairwise", tid: "t1", oid: "o1", groups: ["g1"], roles: ["mcp.user"], acct: 0 },
  okta: { groups: ["Everyone", "mcp"] },
  auth0: { "https://acme.example/roles": ["admin"], org_id: "org_1" },
  keycloak: { realm_access: { roles: ["mcp-user"] }, groups: ["/staff/core"] },
  workos: { org_id: "org_1", role: "member", permissions: ["servlets:write"] },
};

/** The address at which a person signs in, and how it ends. */
async function begin(endpoint: string, clientId: string, given: Record<string, string>) {
  const [verifier, state, nonce] = [
    oauth.generateRandomCodeVerifier(),
    oauth.generateRandomState(),
    oauth.generateRandomNonce(),
  ];
  const url = new URL(endpoint);
  url.search = String(
    new URLSearchParams({
      client_id: clientId,
      redirect_uri: CALLBACK,
      response_type: "code",
      scope: "openid profile email",
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...given,
    }),
  );
  return { url: url.href, verifier, state, nonce };
}

/** Where a person is sent back to. */
async function sentBack(url: string, answers: Record<string, string>): Promise<URL> {
  const browser = new PersonBrowser();
  // Nobody listens at the callback.
  await browser.go(url, answers).catch(() => undefined);
  return browser.visited.at(-1)!;
}

/** Signs in at a provider as a client does that checks everything. */
async function signIn(
  provider: OpenIdProvider,
  given: Record<string, string> = {},
  issuer = provider.issuer,
) {
  const answer = await oauth.discoveryRequest(new URL(issuer), http);
  const found = (await answer.clone().json()) as oauth.AuthorizationServer;
  // An issuer that several tenants of Entra share is known from the ID token.
  const as = found.issuer.includes("{tenantid}")
    ? { ...found, issuer: `${provider.url}/${String(provider.accounts.get("ada")!["tid"])}/v2.0` }
    : await oauth.processDiscoveryResponse(new URL(issuer), answer);
  const { clientId, clientSecret } = provider.client;
  const client = { client_id: clientId };
  const secret = oauth.ClientSecretPost(clientSecret);
  const { url, verifier, state, nonce } = await begin(as.authorization_endpoint!, clientId, given);
  const back = await sentBack(url, { login: "ada", password: "any" });
  const parameters = oauth.validateAuthResponse(as, client, back, state);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    secret,
    parameters,
    CALLBACK,
    verifier,
    http,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(as, response, http);
  const claims = oauth.getValidatedIdTokenClaims(tokens)!;
  const refresh = async (token = tokens.refresh_token!) => {
    const again = await oauth.refreshTokenGrantRequest(as, client, secret, token, http);
    return oauth.processRefreshTokenResponse(as, client, again);
  };
  return { as, client, tokens, claims, refresh };
}

async function running(kind: OpenIdKind, claims: Claims = {}) {
  const started = await openIdProvider(kind, CALLBACK);
  onTestFinished(() => started.close());
  started.accounts.set("ada", { ...ACCOUNTS[kind], ...claims });
  return started;
}

describe.each(Object.keys(ACCOUNTS) as OpenIdKind[])("%s", (kind) => {
  test("signs a person in with the claims of the account", async () => {
    const started = await running(kind);
    const { as, client, tokens, claims } = await signIn(started, OFFLINE[kind]);
    expect(claims).toMatchObject(ACCOUNTS[kind]);
    const info = await oauth.userInfoRequest(as, client, tokens.access_token, http);
    expect(await oauth.processUserInfoResponse(as, client, claims.sub, info)).toMatchObject(
      ACCOUNTS[kind],
    );
    expect(started.requests.filter(({ grant }) => grant !== undefined)).toMatchObject([
      { grant: "authorization_code", login: "ada" },
    ]);
  });

  test("refreshes with the claims of now, until the account is disabled", async () => {
    const started = await running(kind);
    const { refresh } = await signIn(started, OFFLINE[kind]);
    started.accounts.set("ada", { ...ACCOUNTS[kind], org_id: "org_2" });
    const renewed = await refresh();
    const claims = oauth.getValidatedIdTokenClaims(renewed);
    expect(claims).toMatchObject({ org_id: "org_2" });
    expect(claims).not.toHaveProperty("nonce");
    const isSame = ["okta", "entra", "keycloak"].includes(kind);
    expect(renewed.refresh_token !== undefined).toBe(isSame || kind === "workos");
    started.disabled.add("ada");
    await expect(refresh(renewed.refresh_token)).rejects.toMatchObject({ error: "invalid_grant" });
  });

  test("gives no refresh token to who has not asked for it", async () => {
    const { tokens } = await signIn(await running(kind));
    expect(tokens.refresh_token !== undefined).toBe(kind === "keycloak");
  });
});

test.each([
  ["iss", { iss: "https://other.example" }],
  ["aud", { aud: "other" }],
  ["nonce", { nonce: "other" }],
])("an ID token with a wrong %s is refused", async (name, idToken) => {
  const started = await running("google");
  started.faults = { idToken };
  await expect(signIn(started)).rejects.toThrow(new RegExp(`unexpected (ID Token|JWT) "${name}"`));
});

test("an ID token of another key is refused", async () => {
  const started = await running("google");
  started.faults = { forged: true };
  await expect(signIn(started)).rejects.toThrow("JWT signature verification failed");
});

test("who has no account stays at the login page", async () => {
  const started = await running("okta");
  const { authorization_endpoint } = (await (
    await oauth.discoveryRequest(new URL(started.issuer), http)
  ).json()) as oauth.AuthorizationServer;
  const { url } = await begin(authorization_endpoint!, started.client.clientId, {});
  for (const login of ["bob", "ada"]) {
    started.disabled.add("ada");
    const shown = await new PersonBrowser().go(url, { login, password: "any" });
    expect(shown.text).toContain('name="login"');
  }
});

test("an authorization response of another issuer is refused", async () => {
  const started = await running("google");
  started.faults = { iss: "https://other.example" };
  await expect(signIn(started)).rejects.toThrow('unexpected "iss"');
});

test("a provider that rotates ends a grant whose refresh token is used twice", async () => {
  const started = await running("okta");
  started.rotates = true;
  const { tokens, refresh } = await signIn(started, OFFLINE.okta);
  const renewed = await refresh();
  expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
  await expect(refresh()).rejects.toMatchObject({ error: "invalid_grant" });
  await expect(refresh(renewed.refresh_token)).rejects.toMatchObject({ error: "invalid_grant" });
});

test("a provider is down and up again", async () => {
  const started = await running("google");
  const status = async (signal?: AbortSignal) =>
    (await fetch(`${started.url}/.well-known/openid-configuration`, { signal: signal ?? null }))
      .status;
  await started.fail("unavailable");
  expect(await status()).toBe(503);
  await started.fail("refused");
  await expect(status()).rejects.toThrow("fetch failed");
  await started.fail("hanging");
  const stop = new AbortController();
  const hung = status(stop.signal);
  const before = started.requests.length;
  await expect.poll(() => started.requests.length).toBe(before + 1);
  stop.abort();
  await expect(hung).rejects.toThrow("aborted");
  await started.fail();
  expect(await status()).toBe(200);
});

test("Entra leaves out groups above the limit, and Graph tells them", async () => {
  const groups = Array.from({ length: 21 }, (_, nth) => `g${nth}`);
  const started = await running("entra", { groups });
  started.groupLimit = 20;
  const { claims, tokens } = await signIn(started, OFFLINE.entra, `${started.url}/t1/v2.0`);
  expect(claims.iss).toBe(`${started.url}/t1/v2.0`);
  expect(claims["groups"]).toBeUndefined();
  expect(claims["_claim_names"]).toEqual({ groups: "src1" });
  const graph = async (path: string, body: object, token = tokens.access_token) => {
    const headers = { authorization: `Bearer ${token}` };
    const address = `${started.url}/graph/v1.0/me/${path}`;
    const how = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(address, how);
    return { status: response.status, ...((await response.json()) as { value?: string[] }) };
  };
  const checked = await graph("checkMemberGroups", { groupIds: ["g20", "other"] });
  expect(checked).toMatchObject({ status: 200, value: ["g20"] });
  expect(await graph("getMemberObjects", {})).toMatchObject({ status: 200, value: groups });
  expect(await graph("checkMemberGroups", { groupIds: groups })).toMatchObject({ status: 400 });
  expect(await graph("getMemberObjects", {}, "other")).toMatchObject({ status: 401 });
  const plain = await signIn(started);
  expect(await graph("getMemberObjects", {}, plain.tokens.access_token)).toMatchObject({
    status: 403,
  });
});

describe("GitHub", async () => {
  const github = await gitHub(CALLBACK);
  afterAll(() => github.close());

  /** A GitHub of the test's own state, at which Ada is a member of `acme`. */
  function fresh(kind: GitHub["app"]["kind"] = "oauth") {
    github.app.kind = kind;
    const organizations = { acme: { state: "active", role: "admin" } } as const;
    const teams = { "acme/core": { state: "active", role: "member" } } as const;
    github.people = [{ id: 1, login: "Ada", name: "Ada L.", organizations, teams }];
    github.organizations = {};
    github.refusedScopes.clear();
    github.rateLimit = undefined;
    github.requests.length = 0;
  }

  const as = () => ({
    issuer: github.issuer,
    authorization_endpoint: `${github.url}/login/oauth/authorize`,
    token_endpoint: `${github.url}/login/oauth/access_token`,
    authorization_response_iss_parameter_supported: true,
  });
  const client = { client_id: github.app.clientId };
  const secret = oauth.ClientSecretPost(github.app.clientSecret);
  const asks = { scope: "read:user read:org" };

  async function signedIn(redirectUri = `${CALLBACK}/github`) {
    const { url, verifier, state } = await begin(as().authorization_endpoint, client.client_id, {
      ...asks,
      redirect_uri: redirectUri,
    });
    const back = await sentBack(url, { login: "ada" });
    const parameters = oauth.validateAuthResponse(as(), client, back, state);
    const exchange = async (withVerifier = verifier) => {
      const sent = [as(), client, secret, parameters, redirectUri, withVerifier, http] as const;
      return (await (await oauth.authorizationCodeGrantRequest(...sent)).json()) as Json;
    };
    return { exchange };
  }

  const tokenOf = async () => (await (await signedIn()).exchange())["access_token"] as string;

  async function ask(path: string, token: string, headers: Record<string, string> = {}) {
    const authorization = `Bearer ${token}`;
    const response = await fetch(`${github.url}/api/v3${path}`, {
      headers: { authorization, ...headers },
    });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: (await response.json()) as Json,
    };
  }

  const ACME = "/user/memberships/orgs/ACME";

  test("signs a person in and tells memberships without regard to case", async () => {
    fresh();
    const { exchange } = await signedIn();
    const issued = await exchange();
    expect(issued).toMatchObject({ scope: "read:user,read:org", token_type: "bearer" });
    const token = issued["access_token"] as string;
    const user = await ask("/user", token);
    expect(user.body).toMatchObject({ id: 1, login: "Ada", name: "Ada L." });
    expect(user.headers["x-oauth-scopes"]).toBe("read:user, read:org");
    expect((await ask(ACME, token)).body).toMatchObject({ state: "active", role: "admin" });
    const team = await ask("/orgs/acme/teams/Core/memberships/ADA", token);
    expect(team.body).toMatchObject({ state: "active", role: "member" });
    expect((await ask("/user/memberships/orgs/other", token)).status).toBe(404);
    expect(await exchange()).toMatchObject({ error: "bad_verification_code" });
    expect(github.requests.filter(({ login }) => login === "Ada")).toHaveLength(5);
    expect((await ask("/user", token, { "user-agent": "" })).status).toBe(403);
  });

  test("refuses a wrong verifier, a callback of others, and who cancels", async () => {
    fresh();
    const { exchange } = await signedIn();
    expect(await exchange("other".repeat(10))).toMatchObject({ error: "bad_verification_code" });
    const at = async (given: Record<string, string>, answers: Record<string, string>) => {
      const { url } = await begin(as().authorization_endpoint, client.client_id, given);
      return (await sentBack(url, answers)).searchParams.get("error");
    };
    const other = { redirect_uri: "http://127.0.0.1:8899/callback-other" };
    expect(await at(other, { login: "ada" })).toBe("redirect_uri_mismatch");
    expect(await at({}, { login: "ada", authorize: "0" })).toBe("access_denied");
  });

  test("follows what the test sets: logins, organizations, scopes, limits", async () => {
    fresh();
    const token = await tokenOf();
    github.people[0]!.login = "Countess";
    expect((await ask("/user", token)).body).toMatchObject({ id: 1, login: "Countess" });
    const { id } = (await ask(ACME, token)).body["organization"];

    github.organizations["acme"]!.restricted = true;
    expect((await ask(ACME, token)).body["message"]).toContain("OAuth App access restrictions");
    github.organizations["acme"] = { id, singleSignOn: true };
    expect((await ask(ACME, token)).headers["x-github-sso"]).toMatch(/^required; url=https:/);
    github.organizations["acme"] = { id };

    github.renameOrganization("Acme", "Acme-Old");
    expect((await ask(ACME, token)).status).toBe(404);
    const old = await ask("/user/memberships/orgs/acme-old", token);
    expect(old.body).toMatchObject({ state: "active", organization: { id } });
    github.people[0]!.organizations!["acme"] = { state: "pending" };
    const taken = (await ask(ACME, token)).body;
    expect(taken).toMatchObject({ state: "pending" });
    expect(taken["organization"].id).not.toBe(id);

    github.rateLimit = { kind: "primary" };
    const limited = await ask(ACME, token);
    expect(limited.status).toBe(403);
    expect(limited.headers).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "60" });
    github.rateLimit = { kind: "secondary", status: 429, retryAfter: 5 };
    expect(await ask(ACME, token)).toMatchObject({ status: 429, headers: { "retry-after": "5" } });
    github.rateLimit = undefined;
  });

  test("a token of fewer scopes sees no organization", async () => {
    fresh();
    github.refusedScopes.add("read:org");
    const issued = await (await signedIn()).exchange();
    expect(issued["scope"]).toBe("read:user");
    const refused = await ask(ACME, issued["access_token"] as string);
    expect(refused.status).toBe(403);
    expect(refused.headers["x-oauth-scopes"]).toBe("read:user");
  });

  test("tokens of a GitHub App expire and are refreshed once", async () => {
    fresh("github");
    const issued = await (await signedIn()).exchange();
    expect(issued).toMatchObject({ scope: "", expires_in: 28_800 });
    github.expire("ada");
    expect((await ask("/user", issued["access_token"] as string)).status).toBe(401);
    const refresh = async () => {
      const token = issued["refresh_token"] as string;
      const response = await oauth.refreshTokenGrantRequest(as(), client, secret, token, {
        ...http,
        headers: { accept: "application/json" },
      });
      return (await response.json()) as Json;
    };
    const renewed = await refresh();
    expect((await ask("/user", renewed["access_token"] as string)).status).toBe(200);
    expect(await refresh()).toMatchObject({ error: "bad_refresh_token" });
    github.organizations["acme"] = { id: 7, lacksApp: true };
    expect((await ask(ACME, renewed["access_token"] as string)).status).toBe(403);
  });

  test("a grant that the app gives back ends its tokens", async () => {
    fresh();
    const token = await tokenOf();
    const path = `${github.url}/api/v3/applications/${client.client_id}/grant`;
    const basic = btoa(`${client.client_id}:${github.app.clientSecret}`);
    const deleted = await fetch(path, {
      method: "DELETE",
      headers: { authorization: `Basic ${basic}` },
      body: JSON.stringify({ access_token: token }),
    });
    expect(deleted.status).toBe(204);
    expect(await ask("/user", token)).toMatchObject({
      status: 401,
      body: { message: "Bad credentials" },
    });
  });
});
