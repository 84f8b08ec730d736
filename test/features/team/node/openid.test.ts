import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { request } from "../../../node/http/installing.ts";
import { openIdProvider } from "../../../node/http/openid.ts";
import { serving } from "../../../node/http/serving.ts";
import { call, callerOf, Member, wayTo } from "./team-flow.ts";

/** A team signs in at OpenID providers, which all stand on one page. */

const port = await freePort();
const CALLBACK = `http://127.0.0.1:${port}/account/callback`;
/** The names in the configuration that are not those of the stand-ins. */
const NAMES: Readonly<Record<string, string>> = { entra: "staff", keycloak: "hostile" };
const [google, entra, okta, auth0, keycloak] = await Promise.all(
  (["google", "entra", "okta", "auth0", "keycloak"] as const).map((kind) =>
    openIdProvider(kind, `${CALLBACK}/${NAMES[kind] ?? kind}`),
  ),
);
const all = { google, entra, okta, auth0, keycloak };

const TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const PARTNER = "11111111-2222-3333-4444-555555555555";
const FOREIGN = "99999999-2222-3333-4444-555555555555";
const GROUP = "aaaaaaaa-0000-4000-8000-000000000001";
const oid = (nth: number) => `bbbbbbbb-0000-4000-8000-00000000000${nth}`;
const entraServer = new URL(entra!.issuer).origin;

const client = (name: keyof typeof all) => ({
  client_id: all[name]!.client.clientId,
  client_secret: `${name.toUpperCase()}_SECRET`,
  auth: "post",
});

const SIGN_IN = {
  google: {
    ...client("google"),
    issuer: google!.issuer,
    allow: { domains: ["Acme.example"], users: ["ada@GMAIL.com"] },
  },
  staff: {
    ...client("entra"),
    type: "entra",
    title: "Microsoft",
    tenant: [TENANT, PARTNER],
    server: entraServer,
    graph: `${entraServer}/graph`,
    allow: {
      tenants: [PARTNER],
      groups: [GROUP.toUpperCase()],
      claims: [{ claim: "roles", has: "mcp.user" }],
    },
  },
  okta: { ...client("okta"), issuer: okta!.issuer, scopes: ["groups"], allow: { groups: ["mcp"] } },
  auth0: {
    ...client("auth0"),
    issuer: auth0!.issuer,
    allow: {
      organizations: ["org_acme"],
      claims: [{ claim: ["https://acme.example/roles"], has: "mcp" }],
    },
  },
  // Named as an account that a guest of the tests uses.
  hostile: {
    ...client("keycloak"),
    title: "Keycloak",
    issuer: keycloak!.issuer,
    account: true,
    allow: "*",
    roles: {
      reader: {
        claims: [{ claim: "realm_access.roles", has: "mcp-reader" }],
        scopes: ["hello:*", "greeter"],
      },
      tester: { groups: ["/acme/testers"], scopes: ["durable:*"], profiles: ["support"] },
    },
    operators: { claims: [{ claim: "realm_access.roles", has: "mcp-admin" }] },
  },
};

const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: () => undefined,
  variables: {
    ...Object.fromEntries(
      Object.entries(all).map(([name, one]) => [
        `${name.toUpperCase()}_SECRET`,
        one!.client.clientSecret,
      ]),
    ),
    SCOPES: JSON.stringify({ greeter: ["script:greet"] }),
    TEST_LIMITS: JSON.stringify({ memberCheckMs: 0, memberMemoryMs: 0, memberRetryMs: 300 }),
    SIGN_IN: JSON.stringify(SIGN_IN),
  },
});
const { url } = server;
afterAll(async () => {
  await Promise.all(Object.values(all).map((one) => one!.close()));
});
beforeEach(async () => {
  for (const one of Object.values(all)) {
    await one!.fail();
    one!.faults = {};
    one!.accounts.clear();
    one!.disabled.clear();
  }
});

const at = (title: string, login: string) => new Member(url, title, login);
const NOT_IN = "not one of those that this server lets in";

describe("Google", () => {
  test.each([
    [
      "of the Workspace",
      { hd: "acme.example", email: "a@acme.example", email_verified: true },
      true,
    ],
    [
      "of it in another case",
      { hd: "ACME.example", email: "a@x.example", email_verified: true },
      true,
    ],
    [
      "with an address in its domain, but no Workspace",
      { email: "a@acme.example", email_verified: true },
      false,
    ],
    ["of another domain with the same end", { hd: "evilacme.example" }, false],
    ["who is named", { email: "Ada@gmail.com", email_verified: true }, true],
    ["whose address is not verified", { email: "ada@gmail.com", email_verified: "true" }, false],
    [
      "whose address Google does not give",
      { email: "ada@gmail.com.evil.example", email_verified: true },
      false,
    ],
  ])("an account %s", async (_what, claims, isIn) => {
    google!.accounts.set("ada", { sub: "110", name: "Ada", ...claims });
    const ada = at("Google", "ada");
    const page = await ada.consent();
    expect(page.status).toBe(isIn ? 200 : 403);
    const tokens = isIn && (await ada.tokens(await ada.agree(page)));
    const known = tokens && (await callerOf(url, tokens["access_token"]));
    expect(known ? known["principal"] : page.text).toContain(
      isIn ? `${google!.issuer} 110` : NOT_IN,
    );
  });

  test("gives an address to somebody else, who is not let in by it", async () => {
    google!.accounts.set("ada", { sub: "110", email: "ada@gmail.com", email_verified: true });
    expect((await at("Google", "ada").signIn())["status"]).toBe(200);
    google!.accounts.set("eve", { sub: "111", email: "ada@gmail.com", email_verified: true });
    const page = await at("Google", "eve").consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain("Another account had the address");
  });

  test.each([
    ["another issuer", { idToken: { iss: "https://evil.example" } }],
    ["another audience", { idToken: { aud: "somebody-else" } }],
    ["another nonce", { idToken: { nonce: "n" } }],
    ["the past", { idToken: { exp: 1 } }],
  ])("refuses an ID token of %s", async (_what, faults) => {
    google!.accounts.set("ada", { sub: "110", hd: "acme.example" });
    google!.faults = faults;
    const page = await at("Google", "ada").consent();
    expect(page.status).toBe(503);
    expect(page.text).toContain("did not grant access");
  });

  test("refuses an answer that another provider has sent", async () => {
    google!.accounts.set("ada", { sub: "110", hd: "acme.example" });
    google!.faults = { iss: okta!.issuer };
    expect((await at("Google", "ada").consent()).status).toBe(503);
  });
});

describe("Entra ID", () => {
  const account = (nth: number, more: object) =>
    entra!.accounts.set(`u${nth}`, {
      sub: `s${nth}`,
      oid: oid(nth),
      tid: TENANT,
      name: "Ada",
      ...more,
    });

  test.each([
    ["in an allowed group", { groups: [GROUP] }, true],
    ["in other groups", { groups: [oid(9)] }, false],
    ["with an app role", { roles: ["mcp.user"] }, true],
    ["of an allowed tenant", { tid: PARTNER }, true],
    ["who is a guest there", { tid: PARTNER, acct: 1 }, false],
    ["who is a guest there, and in a group", { tid: PARTNER, acct: 1, groups: [GROUP] }, true],
    ["of a tenant without that", {}, false],
    [
      "with a foreign address as its own",
      { email: "ada@acme.example", upn: "ada@acme.example" },
      false,
    ],
  ])("an account %s", async (_what, claims, isIn) => {
    account(1, claims);
    const page = await at("Microsoft", "u1").consent();
    expect(page.status).toBe(isIn ? 200 : 403);
  });

  test("an account of a foreign tenant is refused, whatever its claims say", async () => {
    account(1, { tid: FOREIGN, groups: [GROUP], roles: ["mcp.user"] });
    const page = await at("Microsoft", "u1").consent();
    expect(page.status).toBe(503);
  });

  test("an account with too many groups for a token: Graph is asked, at each check", async () => {
    const many = Array.from(
      { length: 300 },
      (_, nth) => `cccccccc-0000-4000-8000-${String(nth).padStart(12, "0")}`,
    );
    account(1, { groups: [...many, GROUP] });
    const ada = at("Microsoft", "u1");
    const tokens = await ada.signIn();
    expect(await callerOf(url, tokens["access_token"])).toMatchObject({
      principal: `${entraServer}/${TENANT}/v2.0 ${oid(1)}`,
    });
    expect(entra!.requests.some(({ path }) => path.endsWith("/me/checkMemberGroups"))).toBe(true);
    account(1, { groups: many });
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
  });

  test("two people with one address are two people", async () => {
    account(1, { groups: [GROUP], email: "ada@acme.example" });
    account(2, { groups: [GROUP], email: "ada@acme.example" });
    const principals = [];
    for (const login of ["u1", "u2"]) {
      const { access_token } = await at("Microsoft", login).signIn();
      principals.push((await callerOf(url, access_token))["principal"]);
    }
    expect(new Set(principals).size).toBe(2);
  });
});

describe("Okta, Auth0 and Keycloak", () => {
  test("a group of Okta, and who leaves it", async () => {
    okta!.accounts.set("ada", { sub: "00u1", groups: ["mcp"] });
    const ada = at("Okta", "ada");
    const tokens = await ada.signIn();
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
    okta!.accounts.set("ada", { sub: "00u1", groups: ["MCP"] });
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
    expect((await ada.refresh(tokens["refresh_token"]))["error"]).toBe("invalid_grant");
  });

  test.each([
    ["an organization", { org_id: "org_acme" }, true],
    ["a role in a claim with a URL as its name", { "https://acme.example/roles": ["mcp"] }, true],
    ["neither", { org_id: "org_other" }, false],
  ])("of Auth0 with %s", async (_what, claims, isIn) => {
    auth0!.accounts.set("ada", { sub: "auth0|1", ...claims });
    expect((await at("Auth0", "ada").consent()).status).toBe(isIn ? 200 : 403);
  });

  test("a disabled account of Keycloak has access no more", async () => {
    keycloak!.accounts.set("ada", { sub: "k1", realm_access: { roles: ["mcp-reader"] } });
    const ada = at("Keycloak", "ada");
    const tokens = await ada.signIn();
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
    keycloak!.disabled.add("ada");
    const refused = await call(url, tokens["access_token"], "greet", { name: "x" });
    expect(refused.status).toBe(401);
  });

  test("a provider that is down for a while throws nobody out", async () => {
    keycloak!.accounts.set("ada", { sub: "k1", realm_access: { roles: ["mcp-reader"] } });
    const ada = at("Keycloak", "ada");
    const tokens = await ada.signIn();
    for (const kind of ["unavailable", "refused"] as const) {
      await keycloak!.fail(kind);
      expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
    }
    // It is not asked at once when it is there again.
    await keycloak!.fail();
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
  });

  test("somebody with an id that no list can hold is not let in: nobody could end their access", async () => {
    const claims = (length: number) => ({
      sub: "s".repeat(length),
      groups: ["mcp"],
      name: "Long",
    });
    okta!.accounts.set("ada", claims(255));
    expect((await at("Okta", "ada").signIn())["status"]).toBe(200);
    okta!.accounts.set("eve", claims(1100));
    const page = await at("Okta", "eve").consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain("too long an id");
  });

  test.each([
    ["invalid_grant", 401],
    ["interaction_required", 401],
    ["login_required", 401],
    ["consent_required", 401],
    ["access_denied", 401],
    ["server_error", 200],
    ["invalid_client", 200],
  ])("a refresh that is refused as %s: status %i", async (error, status) => {
    keycloak!.accounts.set("ada", { sub: "k1", realm_access: { roles: ["mcp-reader"] } });
    const { access_token } = await at("Keycloak", "ada").signIn();
    keycloak!.faults = { token: error };
    expect((await call(url, access_token, "greet", { name: "x" })).status).toBe(status);
  });

  test("many calls at once are one check: a refresh token is used once", async () => {
    keycloak!.rotates = true;
    keycloak!.accounts.set("ada", { sub: "k1", realm_access: { roles: ["mcp-reader"] } });
    const { access_token } = await at("Keycloak", "ada").signIn();
    const calls = Array.from({ length: 20 }, () => call(url, access_token, "greet", { name: "x" }));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
    expect((await call(url, access_token, "greet", { name: "x" })).status).toBe(200);
    keycloak!.rotates = false;
  });
});

describe("roles", () => {
  const ada = () => at("Keycloak", "ada");
  const signedIn = (claims: object, more = {}) => {
    keycloak!.accounts.set("ada", { sub: "k1", ...claims });
    return ada().signIn(more);
  };
  const mayCall = async (token: string, name: string, args: object = {}) => {
    const { status, body } = await call(url, token, name, args);
    return status === 200 && body["error"] === undefined;
  };
  const READER = { realm_access: { roles: ["mcp-reader"] } };

  test("grant their scopes, and no more", async () => {
    const { access_token } = await signedIn(READER);
    expect(await mayCall(access_token, "greet", { name: "x" })).toBe(true);
    expect(await mayCall(access_token, "plan", { steps: [] })).toBe(false);
  });

  test("add up, and change for an app that is in", async () => {
    const { access_token } = await signedIn({ ...READER, groups: ["/acme/testers"] });
    expect(await mayCall(access_token, "plan", { steps: [] })).toBe(true);
    keycloak!.accounts.set("ada", { sub: "k1", ...READER });
    expect(await mayCall(access_token, "plan", { steps: [] })).toBe(false);
    expect(await mayCall(access_token, "greet", { name: "x" })).toBe(true);
  });

  test("grant a profile", async () => {
    const support = new URL("/mcp/support", url);
    const { access_token } = await signedIn({ groups: ["/acme/testers"] });
    expect((await call(support, access_token, "greet", { name: "x" })).status).toBe(200);
    const other = await signedIn(READER);
    expect((await call(support, other["access_token"], "greet", { name: "x" })).status).toBe(403);
  });

  test("are the most that an app gets: what it asks for beyond is left out", async () => {
    const limited = await signedIn(READER, { scope: "hello:greet durable:*" });
    expect(limited["scope"]).toBe("hello:greet");
    expect(await mayCall(limited["access_token"], "greet", { name: "x" })).toBe(true);
    const wide = await signedIn(READER, { scope: "*:*" });
    expect(await mayCall(wide["access_token"], "greet", { name: "x" })).toBe(true);
    expect(await mayCall(wide["access_token"], "plan", { steps: [] })).toBe(false);
  });

  test("let nobody in whom none of them fits", async () => {
    keycloak!.accounts.set("ada", { sub: "k1" });
    expect((await ada().consent()).status).toBe(403);
  });

  test("of pages are those of calls", async () => {
    keycloak!.accounts.set("ada", { sub: "k1", ...READER });
    const page = await ada().open("/sign-in");
    expect(page.text).toContain('data-name="greet"');
    expect(page.text).not.toContain('data-name="plan"');
    keycloak!.accounts.set("ada", { sub: "k1", realm_access: { roles: ["mcp-admin"] } });
    expect((await ada().open("/console/operate")).text).toContain("Operate");
  });
});

describe("the page on which people sign in", () => {
  test("offers each provider", async () => {
    const member = at("Google", "ada");
    const page = await member.browser.open(await member.asked());
    for (const title of ["Google", "Microsoft", "Okta", "Auth0", "Keycloak"])
      expect(wayTo(page, title)).toContain("/account/sign-in");
  });

  test("a token of the sign-in is the person's account, where operators say so", async () => {
    keycloak!.accounts.set("ada", { sub: "k1", groups: ["/acme/testers"] });
    const { access_token } = await at("Keycloak", "ada").signIn();
    const before = keycloak!.requests.length;
    const userinfo = `${keycloak!.issuer}/protocol/openid-connect/userinfo`;
    const step = { do: "http", url: userinfo, account: "hostile" };
    const params = { name: "plan", arguments: { steps: [step] } };
    const headers = { authorization: `Bearer ${access_token}` };
    const result = await request(url, { method: "tools/call", params }, headers);
    expect(keycloak!.requests.slice(before)).toContainEqual(
      expect.objectContaining({ path: expect.stringContaining("userinfo"), login: "ada" }),
    );
    expect(JSON.stringify(result)).toContain("k1");
    okta!.accounts.set("ada", { sub: "00u1", groups: ["mcp"] });
    const other = await at("Okta", "ada").signIn();
    const own = { authorization: `Bearer ${other["access_token"]}` };
    const asked = await request(url, { method: "tools/call", params }, own);
    expect(JSON.stringify(asked)).toContain("The account hostile is needed");
  });
});
