import { beforeAll, describe, expect, test } from "vitest";
import type { JWTPayload } from "jose";
import {
  base64url,
  internet,
  now,
  signingKey,
  tokenOf,
  type SigningKey,
} from "../../worker/auth/issuer.ts";
import { ORIGIN, ownersApp, principalOf, visitor } from "../../worker/auth/owner.ts";

/** Users of an enterprise come in by assertions of its identity provider, without a sign-in here. */

const IDP = "https://idp.example";
const KEYS = `${IDP}/keys`;
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const enterprise = { issuer: IDP, jwks_uri: KEYS, algorithms: ["ES256"] };

let key: SigningKey;
let foreign: SigningKey;
beforeAll(async () => {
  [key, foreign] = await Promise.all([signingKey("k"), signingKey("k")]);
});

let nth = 0;

/** The claims of an assertion with another header, and no signature. */
const unsigned = (jwt: string) =>
  `${base64url({ alg: "none", typ: "oauth-id-jag+jwt" })}.${jwt.split(".")[1]}.AA`;

/** The same, signed by whoever knows the public key. */
async function byMac(jwt: string): Promise<string> {
  const text = `${base64url({ alg: "HS256", kid: key.kid, typ: "oauth-id-jag+jwt" })}.${jwt.split(".")[1]}`;
  const bytes = (given: string) => new TextEncoder().encode(given);
  const usage = { name: "HMAC", hash: "SHA-256" };
  const secret = bytes(JSON.stringify(key.jwk));
  const mac = await crypto.subtle.importKey("raw", secret, usage, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", mac, bytes(text)));
  return `${text}.${signature.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** A client with a secret, on a server that knows the enterprise. */
async function client(more: object = {}, settings: object = enterprise) {
  const { asked } = internet({ [KEYS]: { keys: [key.jwk] } });
  const app = await ownersApp({ ENTERPRISE_ISSUERS: JSON.stringify([settings]), ...more });
  const at = visitor(app);
  const registered = async (auth: string) => {
    const response = await at.fetch("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "Enterprise client",
        redirect_uris: ["https://client.example/callback"],
        grant_types: [GRANT, "authorization_code"],
        token_endpoint_auth_method: auth,
      }),
    });
    return (await response.json()) as { client_id: string; client_secret?: string };
  };
  const { client_id, client_secret } = await registered("client_secret_post");
  const assertion = (claims: JWTPayload = {}, by = key, header: object = {}) =>
    tokenOf(
      by,
      {
        iss: IDP,
        sub: "ada",
        aud: ORIGIN,
        client_id,
        resource: `${ORIGIN}/mcp`,
        jti: `jti${++nth}`,
        iat: now(),
        exp: now() + 240,
        scope: undefined,
        ...claims,
      },
      { typ: "oauth-id-jag+jwt", ...header },
    );
  const exchange = async (given: string, as: Record<string, string> = {}) =>
    at.tokens({
      grant_type: GRANT,
      assertion: given,
      client_id,
      client_secret: client_secret!,
      ...as,
    });
  return { ...at, app, asked, client_id, registered, assertion, exchange };
}

test("an assertion is exchanged for a token, by which its user calls", async () => {
  const { assertion, exchange, call } = await client();
  const { status, access_token, refresh_token } = await exchange(await assertion());
  expect(status).toBe(200);
  expect(refresh_token).toBeUndefined();
  const answer = await call(access_token);
  expect(await principalOf(answer)).toBe(`${IDP} ada`);
});

test.each(["/mcp/", "", "/", "HOST/mcp"])(
  "an assertion names the endpoint by any of its URLs: %s",
  async (path) => {
    const { assertion, exchange, call } = await client();
    const resource = path.startsWith("HOST") ? `${ORIGIN.toUpperCase()}/mcp` : ORIGIN + path;
    const asks: Record<string, string>[] = [{}, { resource }, { resource: `${ORIGIN}/mcp/` }];
    for (const asked of asks) {
      const { status, access_token } = await exchange(await assertion({ resource }), asked);
      expect(status).toBe(200);
      expect((await call(access_token)).status).toBe(200);
    }
    const other = await exchange(await assertion({ resource }), { resource: `${ORIGIN}/tools` });
    expect(other.error).toBe("invalid_target");
  },
);

test("the metadata says so, where it is configured", async () => {
  const { fetch } = await client();
  const plain = visitor(await ownersApp());
  const stated = async (at: Pick<typeof plain, "fetch">) =>
    (await (await at.fetch("/.well-known/oauth-authorization-server")).json()) as Record<
      string,
      string[]
    >;
  expect((await stated({ fetch }))["grant_types_supported"]).toContain(GRANT);
  expect((await stated({ fetch }))["authorization_grant_profiles_supported"]).toEqual([
    "urn:ietf:params:oauth:grant-profile:id-jag",
  ]);
  expect((await stated(plain))["grant_types_supported"]).not.toContain(GRANT);
  expect(await stated(plain)).not.toHaveProperty("authorization_grant_profiles_supported");
});

test("scopes are those of the assertion, where scopes are configured, and never that of operators", async () => {
  const { assertion, exchange, call } = await client({
    SCOPES: JSON.stringify({ reader: ["probe:echo_input"] }),
  });
  const limited = await exchange(await assertion({ scope: "reader operator" }), {
    scope: "reader operator",
  });
  expect(limited).toMatchObject({ status: 200, scope: "reader" });
  expect(await principalOf(await call(limited.access_token))).toBe(`${IDP} ada`);
  const without = await exchange(await assertion({ scope: "other" }));
  expect((await call(without.access_token)).status).toBe(403);
  // An assertion that names none grants none, whatever its client asks for.
  const asked = await exchange(await assertion(), { scope: "reader" });
  expect(asked).toMatchObject({ status: 200, scope: "" });
  expect((await call(asked.access_token)).status).toBe(403);
});

describe("an assertion is refused", () => {
  type Made = (at: Awaited<ReturnType<typeof client>>) => Promise<string>;
  test.each<[string, Made]>([
    ["signed by another key", ({ assertion }) => assertion({}, foreign)],
    ["of another issuer", ({ assertion }) => assertion({ iss: "https://evil.example" })],
    ["for another server", ({ assertion }) => assertion({ aud: "https://other.example" })],
    [
      "for another resource",
      ({ assertion }) => assertion({ resource: "https://other.example/mcp" }),
    ],
    ["for another client", ({ assertion }) => assertion({ client_id: "other" })],
    ["that has expired", ({ assertion }) => assertion({ iat: now() - 900, exp: now() - 600 })],
    ["that lasts too long", ({ assertion }) => assertion({ exp: now() + 7200 })],
    ["from the future", ({ assertion }) => assertion({ iat: now() + 200 })],
    ["that is not valid yet", ({ assertion }) => assertion({ nbf: now() + 200 })],
    [
      "for this server and others",
      ({ assertion }) => assertion({ aud: [ORIGIN, "https://b.example"] }),
    ],
    ["of nobody", ({ assertion }) => assertion({ sub: "" })],
    ["that is not signed", async ({ assertion }) => unsigned(await assertion())],
    ["signed with the public key as a secret", async ({ assertion }) => byMac(await assertion())],
    ["by a key that is in it", ({ assertion }) => assertion({}, foreign, { jwk: foreign.jwk })],
    ["by an unknown key", ({ assertion }) => assertion({}, foreign, { kid: "other" })],
    ["without an id", ({ assertion }) => assertion({ jti: undefined })],
    ["that is an access token", ({ assertion }) => assertion({}, key, { typ: "at+jwt" })],
    ["bound to a key", ({ assertion }) => assertion({ cnf: { jkt: "x" } })],
    ["that is no JWT", async () => "garbage"],
    ["that is too large", async () => "x".repeat(100_000)],
  ])("%s", async (_what, made) => {
    const at = await client();
    const { status, access_token } = await at.exchange(await made(at));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(access_token).toBeUndefined();
  });

  test("of an unknown issuer without a look at what that says", async () => {
    const { assertion, exchange, asked } = await client();
    const { status } = await exchange(await assertion({ iss: "https://evil.example" }));
    expect(status).toBe(400);
    expect(asked).toEqual([]);
  });

  test("that is one of several, or says twice what it is", async () => {
    const { assertion, client_id, fetch } = await client();
    for (const name of ["grant_type", "assertion", "client_id"]) {
      const form = new URLSearchParams({
        grant_type: GRANT,
        assertion: await assertion(),
        client_id,
      });
      form.append(name, "other");
      const answer = await fetch("/oauth/token", { method: "POST", body: form });
      expect(answer.status).toBe(400);
    }
  });

  test("while the identity provider does not say its keys, and taken afterwards", async () => {
    const { assertion, exchange } = await client();
    const { pages } = internet({ [KEYS]: new Error("unreachable") });
    const given = await assertion();
    expect((await exchange(given)).status).toBe(400);
    pages[KEYS] = { keys: [key.jwk] };
    expect((await exchange(given)).status).toBe(200);
  });

  test("that was used, also by requests at the same time", async () => {
    const { assertion, exchange } = await client();
    const once = await assertion();
    const all = await Promise.all([exchange(once), exchange(once), exchange(once)]);
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await exchange(once)).status).toBe(400);
  });

  test("of a client without a secret, unless the enterprise allows those", async () => {
    for (const [isAllowed, status] of [
      [false, 401],
      [true, 200],
    ] as const) {
      const at = await client({}, { ...enterprise, public_clients: isAllowed });
      const { client_id } = await at.registered("none");
      const assertion = await at.assertion({ client_id });
      const found = await at.tokens({ grant_type: GRANT, assertion, client_id });
      expect(found.status).toBe(status);
    }
  });

  test("of an address that has sent too many wrong ones", async () => {
    const { exchange } = await client();
    const statuses: number[] = [];
    for (let count = 0; count < 31; count++) statuses.push((await exchange("garbage")).status);
    expect(new Set(statuses.slice(0, 30))).toEqual(new Set([400]));
    expect(statuses.at(-1)).toBe(429);
  });
});

test("an issuer stands there once", async () => {
  const twice = { ENTERPRISE_ISSUERS: JSON.stringify([enterprise, enterprise]) };
  await expect(ownersApp(twice)).rejects.toThrow(/names an issuer twice/);
});

test("needs the server's own sign-in", async () => {
  await expect(
    ownersApp({ OWNER_PASSPHRASE: undefined, ENTERPRISE_ISSUERS: JSON.stringify([enterprise]) }),
  ).rejects.toThrow(/ENTERPRISE_ISSUERS needs the server's own sign-in/);
});
