import { SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { call, fetchFrom, list, plainOf, post, valueOf, type Json } from "./client.ts";

/** Who may call. */
const SECRET = "0123456789abcdef0123456789abcdef";
// SHA-256 of "sesame"
const API_KEYS = JSON.stringify({
  ci: "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272",
});

const open = plainOf(bundle);
const keyed = plainOf(bundle, { API_KEYS });
const signed = plainOf(bundle, { OTC_JWT_SECRET: SECRET });
const both = plainOf(bundle, { API_KEYS, OTC_JWT_SECRET: SECRET });
const named = plainOf(bundle, { OTC_JWT_SECRET: SECRET, OTC_JWT_AUDIENCE: "otcserver other" });

const now = () => Math.floor(Date.now() / 1000);

const jwt = (claims: Json, { alg = "HS256", secret = SECRET } = {}) =>
  new SignJWT({ exp: now() + 60, ...claims })
    .setProtectedHeader({ alg })
    .sign(new TextEncoder().encode(secret));

const bearer = async (...made: Parameters<typeof jwt>) => ({
  authorization: `Bearer ${await jwt(...made)}`,
});

/** The name of whom the server takes the caller for, or the status that it refuses them with. */
async function caller(server: typeof open, headers: Record<string, string>): Promise<unknown> {
  const body = { request: { tool_id: "probe.echo_input" } };
  const answer = await post(body, server, headers);
  const listed = await list(server, headers);
  const isRefused = answer.status !== 200;
  expect(listed.status).toBe(answer.status);
  expect(answer.headers.get("www-authenticate")).toBe(isRefused ? 'Bearer realm="tools"' : null);
  if (isRefused) return JSON.stringify(answer).match(/sesam|eyJ/) ?? answer.status;
  return (JSON.parse(String(valueOf(answer))) as Json)["context"].client.principal;
}

test("without configuration anybody may call, whatever they show", async () => {
  expect(await caller(open, {})).toBe("anonymous");
  expect(await caller(open, { authorization: "Bearer nonsense" })).toBe("anonymous");
  expect(await caller(open, { "otc-api-key": "nonsense" })).toBe("anonymous");
});

describe("API keys", () => {
  test.each(["OTC-API-Key", "X-API-Key", "OXP-API-Key"])("in %s", async (header) => {
    expect(await caller(keyed, { [header]: "sesame" })).toBe("ci");
    expect(await caller(both, { [header]: "sesame" })).toBe("ci");
    expect(await caller(keyed, { [header]: "sesam" })).toBe(401);
    expect(await caller(keyed, { [header]: "" })).toBe(401);
    expect(await caller(signed, { [header]: "sesame" })).toBe(401);
  });

  test("as for MCP", async () => {
    expect(await caller(keyed, { authorization: "Bearer sesame" })).toBe("ci");
    expect(await caller(both, { authorization: "Bearer sesame" })).toBe("ci");
    expect(await caller(keyed, { authorization: "Bearer sesam" })).toBe(401);
    expect(await caller(keyed, { authorization: "Basic sesame" })).toBe(401);
  });

  test("a wrong one is not made good by something else", async () => {
    expect(await caller(both, { "otc-api-key": "sesam", ...(await bearer({})) })).toBe(401);
  });
});

describe("JWTs", () => {
  test("are of their subject", async () => {
    expect(await caller(signed, await bearer({ sub: "ada" }))).toBe("jwt:ada");
    expect(await caller(both, await bearer({ sub: "ada" }))).toBe("jwt:ada");
    expect(await caller(signed, await bearer({}))).toBe("jwt");
  });

  test("are for us, or for nobody in particular", async () => {
    expect(await caller(signed, await bearer({ aud: "http://localhost:8787" }))).toBe("jwt");
    expect(await caller(signed, await bearer({ aud: ["x", "http://localhost:8787"] }))).toBe("jwt");
    expect(await caller(signed, await bearer({ aud: "otcserver" }))).toBe(401);
    expect(await caller(named, await bearer({ aud: "otcserver" }))).toBe("jwt");
    expect(await caller(named, await bearer({ aud: ["other"] }))).toBe("jwt");
    expect(await caller(named, await bearer({ aud: "http://localhost:8787" }))).toBe(401);
    expect(await caller(named, await bearer({}))).toBe("jwt");
  });

  test.each<[string, () => Promise<string> | string]>([
    ["nothing", () => ""],
    ["no token", () => "Bearer"],
    ["no JWT", () => "Bearer nonsense"],
    ["another scheme", async () => `Basic ${await jwt({})}`],
    ["an expired one", async () => `Bearer ${await jwt({ exp: now() - 1 })}`],
    ["one that does not expire", async () => `Bearer ${await jwt({ exp: undefined })}`],
    ["one that is not valid yet", async () => `Bearer ${await jwt({ nbf: now() + 60 })}`],
    ["another secret", async () => `Bearer ${await jwt({}, { secret: SECRET.toUpperCase() })}`],
    [
      "another algorithm",
      async () => `Bearer ${await jwt({}, { alg: "HS512", secret: SECRET.repeat(2) })}`,
    ],
    ["no signature", () => `Bearer ${new UnsecuredJWT({ exp: now() + 60 }).encode()}`],
    [
      "an altered one",
      async () => `Bearer ${(await jwt({})).replace(/\.[^.]+\./, ".eyJleHAiOjk5OTk5OTk5OTl9.")}`,
    ],
  ])("%s: 401", async (_, authorization) => {
    const value = await authorization();
    expect(await caller(signed, value === "" ? {} : { authorization: value })).toBe(401);
  });
});

test("who is calling is asked before anything else", async () => {
  expect((await post("{", keyed)).status).toBe(401);
  expect((await call("no such tool", {}, {}, keyed)).status).toBe(401);
});

test("GET /health asks nobody, and says what the response follows", async () => {
  const { status, $schema } = await fetchFrom(keyed, "/health");
  expect([status, $schema]).toEqual([200, expect.stringContaining("openapi.json")]);
});

test("a short secret is refused at start", () => {
  expect(() => plainOf(bundle, { OTC_JWT_SECRET: "short" })).toThrow(/OTC_JWT_SECRET/);
});
