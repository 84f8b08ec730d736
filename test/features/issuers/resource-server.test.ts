import type { JWTPayload } from "jose";
import { SignJWT, UnsecuredJWT, exportSPKI, importJWK } from "jose";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { post } from "../../worker/server.ts";
import {
  appOf,
  CALL,
  base64url,
  come,
  forward,
  internet,
  ISSUER,
  key,
  KEYS,
  METADATA,
  now,
  pagesOf,
  prepare,
  RESOURCE,
  signingKey,
  tokenOf,
} from "../../worker/auth/issuer.ts";

/** Tokens of an issuer, at the door of the whole app. */
prepare();

test.each([{ nonce: "n" }, { at_hash: "h" }])("an ID token is none: %j", async (claims) => {
  internet(pagesOf(key));
  const app = appOf({ audience: "client" });
  const answer = await come(await tokenOf(key, { aud: "client", ...claims }), app);
  expect(answer).toMatchObject({ status: 401, message: expect.stringContaining("ID token") });
});

test.each(["logout+jwt", "dpop+jwt", "id_token+jwt", "application/secevent+jwt"])(
  "a token of the type %s is no access token",
  async (typ) => {
    internet(pagesOf(key));
    const answer = await come(await tokenOf(key, {}, { typ }));
    expect(answer).toMatchObject({ status: 401, message: expect.stringContaining(typ) });
  },
);

test.each(["JWT", "jwt", "application/at+jwt", "AT+JWT", undefined])(
  "an access token may say that its type is %s",
  async (typ) => {
    internet(pagesOf(key));
    expect(await come(await tokenOf(key, {}, { typ }))).toMatchObject({ status: 200 });
  },
);

test.each(["", " "])("a token whose subject is %j is refused", async (sub) => {
  internet(pagesOf(key));
  const answer = await come(await tokenOf(key, { sub }));
  expect(answer).toMatchObject({ status: 401, message: expect.stringContaining("`sub`") });
});

describe("a good token", () => {
  test("names its issuer and subject", async () => {
    internet(pagesOf(key));
    expect(await come(await tokenOf(key))).toMatchObject({
      status: 200,
      principal: `${ISSUER} ada`,
    });
  });

  test.each<[string, JWTPayload]>([
    ["several audiences", { aud: ["https://else.example", RESOURCE] }],
    ["scp instead of scope", { scope: undefined, scp: ["read"] }],
    ["clocks that differ a little", { exp: now() - 10, nbf: now() + 10 }],
  ])("%s", async (_name, claims) => {
    internet(pagesOf(key));
    expect(await come(await tokenOf(key, claims))).toMatchObject({ status: 200 });
  });

  test.each(["RS256", "PS256", "EdDSA"])("%s", async (alg) => {
    const other = await signingKey("other", alg);
    internet(pagesOf(key, other));
    expect(await come(await tokenOf(other))).toMatchObject({ status: 200 });
  });

  test.each([
    "http://localhost:8787/mcp/",
    "http://localhost:8787",
    "http://localhost:8787/",
    "HTTP://LocalHost:8787/mcp/",
    "http://localhost:8787/mcp?",
    "http://localhost:8787/mcp?v=2",
    "http://localhost:8787/%6Dcp",
  ])("the endpoint by another of its names: %s", async (aud) => {
    internet(pagesOf(key));
    expect(await come(await tokenOf(key, { aud }))).toMatchObject({ status: 200 });
    const app = appOf({ audience: "http://localhost:8787/mcp/" });
    expect(await come(await tokenOf(key, { aud }), app)).toMatchObject({ status: 200 });
  });

  test("an audience of the configuration's that is no endpoint, letter by letter", async () => {
    internet(pagesOf(key));
    const app = appOf({ audience: "https://api.example" });
    const statusOf = async (aud: string) => (await come(await tokenOf(key, { aud }), app)).status;
    expect(await statusOf("https://api.example")).toBe(200);
    for (const aud of ["https://api.example/", "https://api.example/mcp"])
      expect(await statusOf(aud)).toBe(401);
  });

  test("an audience of the configuration's", async () => {
    internet(pagesOf(key));
    const app = appOf({ audience: "api://tools" });
    expect(await come(await tokenOf(key, { aud: "api://tools" }), app)).toMatchObject({
      status: 200,
    });
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 401 });
  });

  test("is verified once, and refused when it has expired", async () => {
    const { asked } = internet(pagesOf(key));
    const app = appOf();
    const token = await tokenOf(key, { exp: now() + 60 });
    const verify = vi.spyOn(crypto.subtle, "verify");
    expect(await come(token, app)).toMatchObject({ status: 200 });
    expect(await come(token, app)).toMatchObject({ status: 200 });
    expect(verify).toHaveBeenCalledTimes(1);
    expect(asked).toEqual([METADATA, KEYS]);
    forward(100_000);
    expect(await come(token, app)).toMatchObject({ status: 401 });
  });
});

describe("a bad token: 401, and what is wrong with it", () => {
  test.each<[string, JWTPayload, RegExp]>([
    ["expired", { exp: now() - 120 }, /has expired/],
    ["without an end", { exp: undefined }, /not valid/],
    ["without a subject", { sub: undefined }, /not valid/],
    ["not valid yet", { nbf: now() + 120 }, /not valid yet/],
    ["for another resource", { aud: "https://else.example/mcp" }, /another resource/],
    ["for a resource that only begins like this one", { aud: `${RESOURCE}/x` }, /another resource/],
    ["for nobody", { aud: undefined }, /another resource/],
    ...[
      `${RESOURCE}//`,
      `${RESOURCE}%2F`,
      `${RESOURCE}#`,
      "http://localhost:8787/MCP",
      "http://localhost:8787//mcp",
      "http://localhost/mcp",
      "https://localhost:8787/mcp",
      "http://ada@localhost:8787/mcp",
      "http://localhost:8787.evil.example/mcp",
      "localhost:8787/mcp",
      "",
    ].map((aud): [string, JWTPayload, RegExp] => [`for ${aud}`, { aud }, /another resource/]),
    ["of another issuer", { iss: "https://evil.example" }, /unknown issuer/],
    ["of an issuer that is nearly this one", { iss: `${ISSUER}/` }, /unknown issuer/],
    ["of nobody", { iss: undefined }, /unknown issuer/],
    ["bound to a key", { cnf: { jkt: "x" } }, /bound to a key/],
  ])("%s", async (_name, claims, message) => {
    internet(pagesOf(key));
    const { status, challenge, message: said } = await come(await tokenOf(key, claims));
    expect(status).toBe(401);
    expect(said).toMatch(message);
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="/);
    expect(challenge).toContain(
      'resource_metadata="http://localhost:8787/.well-known/oauth-protected-resource/mcp"',
    );
  });

  const claims = () => ({ iss: ISSUER, sub: "ada", aud: RESOURCE, exp: now() + 600 });

  test("none", async () => {
    internet(pagesOf(key));
    const response = await post(CALL, {}, appOf());
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(
      'Bearer resource_metadata="http://localhost:8787/.well-known/oauth-protected-resource/mcp"',
    );
  });

  test.each<[string, () => Promise<string> | string]>([
    ["nonsense", () => "nonsense"],
    ["three parts of nonsense", () => "a.b.c"],
    ["five parts", () => "a.b.c.d.e"],
    ["alg none", () => new UnsecuredJWT(claims()).encode()],
    ["alg none, in other letters", () => `${base64url({ alg: "nOnE" })}.${base64url(claims())}.`],
    ["no algorithm", () => `${base64url({})}.${base64url(claims())}.c2ln`],
    ["a list as claims", () => `${base64url({ alg: "ES256" })}.${base64url([])}.c2ln`],
    ["a critical header that is not known", () => tokenOf(key, {}, { crit: ["odd"], odd: 1 })],
    ["another key under the same id", async () => tokenOf(await signingKey("first"))],
    [
      "a key that it brings along",
      async () => {
        const own = await signingKey("own");
        return tokenOf(own, {}, { jwk: own.jwk, jku: "https://evil.example/keys" });
      },
    ],
    [
      "an altered claim",
      async () => {
        const [header, , signature] = (await tokenOf(key)).split(".");
        return `${header}.${base64url({ ...claims(), sub: "root" })}.${signature}`;
      },
    ],
  ])("%s", async (_name, make) => {
    const { asked } = internet(pagesOf(key));
    expect(await come(await make())).toMatchObject({ status: 401 });
    expect(asked.filter((url) => url.includes("evil"))).toEqual([]);
  });

  test("HS256, signed with the public key", async () => {
    const rsa = await signingKey("rsa", "RS256");
    internet(pagesOf(rsa));
    const publicKey = await importJWK(rsa.jwk, "RS256", { extractable: true });
    const secret = new TextEncoder().encode(await exportSPKI(publicKey as CryptoKey));
    const forged = await new SignJWT(claims())
      .setProtectedHeader({ alg: "HS256", kid: "rsa" })
      .sign(secret);
    expect(await come(forged)).toMatchObject({ status: 401 });
  });

  test("an algorithm that is not configured", async () => {
    internet(pagesOf(key));
    expect(await come(await tokenOf(key), appOf({ algorithms: ["RS256"] }))).toMatchObject({
      status: 401,
    });
  });

  test("a huge one, which nobody looks at", async () => {
    const { asked } = internet(pagesOf(key));
    expect(await come(await tokenOf(key, { groups: "x".repeat(20_000) }))).toMatchObject({
      status: 401,
      message: expect.stringContaining("limit 16384"),
    });
    expect(asked).toEqual([]);
  });

  test("in the query: 400, even beside a good one", async () => {
    internet(pagesOf(key));
    const token = await tokenOf(key);
    const request = new Request(`${RESOURCE}?access_token=${token}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(CALL),
    });
    expect((await appOf().fetch(request)).status).toBe(400);
  });
});

test("a scope that is missing: 403, with all that are needed", async () => {
  internet(pagesOf(key));
  const app = appOf({ required_scopes: ["read", "admin"] });
  const { status, challenge } = await come(await tokenOf(key), app);
  expect(status).toBe(403);
  expect(challenge).toMatch(/^Bearer error="insufficient_scope", .*scope="read admin", resource_/);
  expect(await come(await tokenOf(key, { scope: "x admin read" }), app)).toMatchObject({
    status: 200,
  });
});

test("scopes limit a token where the configuration knows scopes", async () => {
  internet(pagesOf(key));
  const app = appOf({}, { SCOPES: JSON.stringify({ read: ["hello:*"], all: ["*:*"] }) });
  const refused = await come(await tokenOf(key), app);
  expect(refused.status).toBe(403);
  expect(refused.challenge).toMatch(/^Bearer error="insufficient_scope", .*scope="all", resource_/);
  expect(await come(await tokenOf(key, { scope: "all" }), app)).toMatchObject({ status: 200 });
  expect(await come(await tokenOf(key, { scope: undefined }), app)).toMatchObject({ status: 403 });
});

test("API keys beside it", async () => {
  internet(pagesOf(key));
  const hash = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";
  const app = appOf({}, { API_KEYS: JSON.stringify({ ci: hash }) });
  expect(await come("sesame", app)).toMatchObject({ status: 200, principal: "ci" });
  expect(await come(await tokenOf(key), app)).toMatchObject({ principal: `${ISSUER} ada` });
  expect(await come("wrong", app)).toMatchObject({ status: 401 });
});

describe("metadata", () => {
  const get = (url: string, app = appOf()) => Promise.resolve(app.fetch(new Request(url)));

  test.each([
    ["/.well-known/oauth-protected-resource", ""],
    ["/.well-known/oauth-protected-resource/", "/"],
    ["/.well-known/oauth-protected-resource/mcp", "/mcp"],
    ["/.well-known/oauth-protected-resource/mcp?v=2", "/mcp?v=2"],
    ["/.well-known/oauth-protected-resource/mcp/", "/mcp/"],
    ["/.well-known/oauth-protected-resource/%6dcp", "/%6dcp"],
    ["/mcp/.well-known/oauth-protected-resource", "/mcp"],
  ])("at %s names the resource that it is asked for: %s", async (path, resource) => {
    const app = appOf({ required_scopes: ["read"] });
    const response = await get(`https://TOOLS.example:443${path}`, app);
    expect(await response.json()).toEqual({
      resource: `https://tools.example${resource}`,
      resource_name: "edge-servlets",
      authorization_servers: [ISSUER],
      bearer_methods_supported: ["header"],
      scopes_supported: ["read"],
    });
  });

  test.each([
    "/.well-known%2Foauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/tools",
    "/.well-known/oauth-protected-resource//mcp",
  ])("is of no other resource: %s", async (path) => {
    expect((await get(`https://tools.example${path}`)).status).toBe(404);
  });

  test.each(["/mcp", "/mcp/", "/mcp?", "/mcp?v=2", "/%6Dcp"])(
    "is where the challenge says, and names the URL of the client: %s",
    async (path) => {
      const app = appOf();
      const refused = await app.fetch(
        new Request(`https://tools.example${path}`, { method: "POST" }),
      );
      expect(refused.status).toBe(401);
      const [, address] = /resource_metadata="([^"]+)"/.exec(
        refused.headers.get("www-authenticate")!,
      )!;
      const { resource } = (await (await get(address!, app)).json()) as { resource: string };
      expect(resource).toBe(`https://tools.example${path.replace(/\?$/, "")}`);
    },
  );

  test.each([{}, { API_KEYS: "{}" }])("not with %o", async (env) => {
    const url = "https://tools.example/.well-known/oauth-protected-resource";
    expect((await get(url, createApp(new Kernel(bundle, env)))).status).toBe(404);
  });
});

test.each<[string, RegExp]>([
  ["[", /OAUTH_ISSUERS: is not JSON/],
  ["[]", /OAUTH_ISSUERS/],
  ['[{"issuer":"issuer.example"}]', /OAUTH_ISSUERS\.0\.issuer: is not a URL/],
  ['[{"issuer":"http://issuer.example"}]', /must be https, or http to a loopback host/],
  ['[{"issuer":"http://localhost.evil.example"}]', /must be https/],
  ['[{"issuer":"http://localhost:80@evil.example"}]', /must be https/],
  [`[{"issuer":"${ISSUER}","algorithms":["HS256"]}]`, /algorithms\.0: must be one of RS256/],
  [`[{"issuer":"${ISSUER}","algorithms":["none"]}]`, /algorithms/],
  [`[{"issuer":"${ISSUER}","algorithms":[]}]`, /algorithms/],
  [`[{"issuer":"${ISSUER}","audiance":"x"}]`, /audiance/],
  [`[{"issuer":"${ISSUER}"},{"issuer":"${ISSUER}"}]`, /twice/],
])("%s is refused at start", (OAUTH_ISSUERS, message) => {
  expect(() => createApp(new Kernel(bundle, { OAUTH_ISSUERS }))).toThrow(message);
});

test("the error for a mistyped API key is about keys, not about tokens of issuers", async () => {
  internet(pagesOf(key));
  const { status, message } = await come("esk_mistyped", appOf());
  expect([status, message]).toEqual([401, expect.stringMatching(/Unknown API key.*keys -- list/)]);
});
