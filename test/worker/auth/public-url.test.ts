import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/app.ts";
import { RUNS } from "../../../src/env.ts";
import { bundle } from "../../bundle.gen.ts";

const PUBLIC_URL = "https://mcp.example.com";
const OAUTH_ISSUERS = JSON.stringify([{ issuer: "https://issuer.example" }]);

const get = async (env: object, url: string, init?: RequestInit) =>
  createApp(bundle, { AUTH: undefined, ...env }).fetch(new Request(url, init));

const METADATA = "/.well-known/oauth-protected-resource/mcp";

describe("PUBLIC_URL names the server", () => {
  test.each([
    "http://127.0.0.1:8787",
    "http://localhost",
    "https://mcp.example.com:9000",
    "https://allowed.example",
    PUBLIC_URL,
  ])("in metadata and challenges, whatever the request names: %s", async (at) => {
    const env = { PUBLIC_URL: `${PUBLIC_URL}/`, OAUTH_ISSUERS, ALLOWED_HOSTS: "allowed.example" };
    expect(await (await get(env, at + METADATA)).json()).toMatchObject({
      resource: `${PUBLIC_URL}/mcp`,
    });
    const refused = await get(env, `${at}/mcp`, { method: "POST", body: "{}" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain(
      `resource_metadata="${PUBLIC_URL}${METADATA}"`,
    );
  });

  test("in the default audience of Open Tool Calling", async () => {
    const OTC_JWT_SECRET = "0123456789abcdef0123456789abcdef";
    const env = { PUBLIC_URL, OTC_JWT_SECRET };
    const asked = async (aud: string) => {
      const jwt = await new SignJWT({})
        .setProtectedHeader({ alg: "HS256" })
        .setAudience(aud)
        .setExpirationTime("1m")
        .sign(new TextEncoder().encode(OTC_JWT_SECRET));
      const headers = { authorization: `Bearer ${jwt}` };
      return (await get(env, "http://localhost:8787/tools", { headers })).status;
    };
    expect(await asked("http://localhost:8787")).toBe(401);
    expect(await asked(PUBLIC_URL)).toBe(200);
  });

  test("on its page, and in what it says of a wrong path", async () => {
    const headers = { accept: "text/html" };
    const page = await get({ PUBLIC_URL }, "http://127.0.0.1:8787/", { headers });
    expect(await page.text()).toContain(`${PUBLIC_URL}/mcp`);
    const missing = await get({ PUBLIC_URL }, "http://127.0.0.1:8787/nope");
    expect(await missing.text()).toContain(`${PUBLIC_URL}/mcp`);
  });

  test("for its own web pages, behind a proxy that names another host", async () => {
    const init = (origin: string) => ({
      method: "POST",
      headers: { origin, "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    const at = "http://127.0.0.1:8787/mcp";
    expect((await get({ PUBLIC_URL }, at, init(PUBLIC_URL))).status).not.toBe(403);
    expect((await get({ PUBLIC_URL }, at, init("https://evil.example"))).status).toBe(403);
  });

  test.each([
    "mcp.example.com",
    "https://mcp.example.com/mcp",
    "https://mcp.example.com?x",
    "https://mcp.example.com/#x",
    "https://ada:secret@mcp.example.com",
    "ftp://mcp.example.com",
    "https://",
    "",
  ])("and is checked at start: %j", (url) => {
    expect(() => createApp(bundle, { PUBLIC_URL: url })).toThrow(/PUBLIC_URL: must be.*origin/);
  });
});

describe("a request for another host is misdirected", () => {
  const others = [
    "https://evil.example",
    "http://evil.example",
    "https://mcp.example.com.evil.example",
    "https://mcp.example.com.",
    "https://sub.mcp.example.com",
    "https://127.0.0.1.evil.example",
    "https://10.0.0.7:8787",
  ];

  test.each(others)("where PUBLIC_URL is set: %s", async (at) => {
    for (const path of ["/mcp", "/", METADATA, "/tools", "/account", "/operator/servlets"]) {
      const refused = await get({ PUBLIC_URL, OAUTH_ISSUERS }, at + path);
      expect({ path, status: refused.status }).toEqual({ path, status: 421 });
    }
    expect((await get({ PUBLIC_URL }, `${at}/health`)).status).toBe(200);
  });

  test.each(others)("where the server is self-hosted: %s", async (at) => {
    const env = { [RUNS]: "self-hosted" };
    expect((await get(env, `${at}/mcp`)).status).toBe(421);
    expect((await get(env, `${at}/health`)).status).toBe(200);
    expect((await get({ ...env, ALLOWED_HOSTS: "box.local" }, "https://box.local/")).status).toBe(
      200,
    );
  });

  test("and is not where neither is so", async () => {
    expect((await get({}, "https://mine.workers.dev/")).status).toBe(200);
  });
});

test("a self-hosted server needs to know whom tokens are for", () => {
  const hosted = (env: object) => () => createApp(bundle, { [RUNS]: "self-hosted", ...env });
  expect(hosted({ OAUTH_ISSUERS })).toThrow(/issuer\.example.*PUBLIC_URL/);
  const half = [{ issuer: "https://a.example", audience: "us" }, { issuer: "https://b.example" }];
  expect(hosted({ OAUTH_ISSUERS: JSON.stringify(half) })).toThrow(/b\.example.*PUBLIC_URL/);
  expect(hosted({ OAUTH_ISSUERS, PUBLIC_URL })).not.toThrow();
  expect(hosted({ OAUTH_ISSUERS: JSON.stringify(half.slice(0, 1)) })).not.toThrow();
});
