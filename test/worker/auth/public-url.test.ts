import { env as bound } from "cloudflare:workers";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { atOwnOrigin, originPolicy } from "../../../src/server/kernel/auth/origin.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";
import { callOf } from "../calls/client.ts";
import { steps } from "../calls/plans.ts";
import { browser } from "../pages/browser.ts";
import { answerOf, modern } from "../server.ts";
import { base64url } from "./issuer.ts";
import { serverOf } from "./key-holders.ts";
import { ownersApp, PASSPHRASE, visitor } from "./owner.ts";

const PUBLIC_URL = "https://mcp.example.com";
const OAUTH_ISSUERS = JSON.stringify([{ issuer: "https://issuer.example" }]);

const get = async (env: object, url: string, init?: RequestInit) =>
  createApp(new Kernel(bundle, { AUTH: undefined, ...env })).fetch(new Request(url, init));

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
    expect(() => createApp(new Kernel(bundle, { PUBLIC_URL: url }))).toThrow(
      /PUBLIC_URL: must be.*origin/,
    );
  });
});

describe("A trailing dot of a host is ignored", () => {
  const DOTTED = "https://mcp.example.com.";
  const ping = (headers: Record<string, string> = {}) => ({
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });

  test.each<[string, object, string]>([
    ["PUBLIC_URL", { PUBLIC_URL }, DOTTED],
    ["PUBLIC_URL with a dot", { PUBLIC_URL: DOTTED }, PUBLIC_URL],
    ["a host of ALLOWED_HOSTS", { PUBLIC_URL, ALLOWED_HOSTS: "box.local" }, "http://box.local."],
    ["one with a dot", { PUBLIC_URL, ALLOWED_HOSTS: "box.local." }, "http://box.local"],
    [
      "a self-hosted server",
      { [RUNS]: "self-hosted", ALLOWED_HOSTS: "box.local" },
      "http://box.local.",
    ],
    ["this machine", { PUBLIC_URL }, "http://localhost.:8787"],
    ["this machine without PUBLIC_URL", { [RUNS]: "on-loopback" }, "http://localhost.:8787"],
    ["a Worker that knows no name", {}, "https://mine.workers.dev."],
  ])("in requests to %s", async (_what, env, at) => {
    expect((await get(env, `${at}/`)).status).toBe(200);
    expect((await get(env, `${at}/mcp`, ping())).status).toBe(200);
    const bare = at.replace(/\.(?=$|:)/, "");
    expect((await get(env, `${at}/mcp`, ping({ origin: at }))).status).toBe(200);
    expect((await get(env, `${at}/mcp`, ping({ origin: bare }))).status).toBe(200);
    expect((await get(env, `${at}/mcp`, ping({ origin: "https://evil.example." }))).status).toBe(
      403,
    );
  });

  test.each([
    ["https://app.example", "https://app.example."],
    ["https://app.example.", "https://app.example"],
  ])("in the origins of pages: %s allows %s", async (allowed, origin) => {
    const env = { PUBLIC_URL, ALLOWED_ORIGINS: allowed };
    expect((await get(env, `${PUBLIC_URL}/mcp`, ping({ origin }))).status).toBe(200);
    expect((await get(env, `${PUBLIC_URL}/mcp`, ping({ origin: `${origin}x` }))).status).toBe(403);
  });

  test("in what names the server", async () => {
    const env = { OAUTH_ISSUERS, PUBLIC_URL: DOTTED };
    expect(await (await get(env, DOTTED + METADATA)).json()).toMatchObject({
      resource: `${PUBLIC_URL}/mcp`,
    });
    const page = await get({}, "https://mine.workers.dev./", { headers: { accept: "TEXT/HTML" } });
    expect(await page.text()).toContain("https://mine.workers.dev/mcp");
  });
});

describe("a request for another host is misdirected", () => {
  const others = [
    "https://evil.example",
    "http://evil.example",
    "https://mcp.example.com.evil.example",
    "https://mcp.example.com..evil.example",
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

describe("a health check", () => {
  const at = "http://10.0.0.7:8787";
  const status = async (path: string, init?: RequestInit) =>
    (await get({ PUBLIC_URL, [RUNS]: "self-hosted" }, at + path, init)).status;

  test.each(["/health", "/health/", "/health?full=1", "/health/?x"])(
    "is answered under any host: %s",
    async (path) => {
      expect(await status(path)).toBe(200);
      expect(await status(path, { method: "HEAD" })).toBe(200);
    },
  );

  test.each(["/healthy", "/health/x", "/health/../mcp", "//health", "/x?/health", "/HEALTH"])(
    "is no other path: %s",
    async (path) => expect(await status(path)).toBe(421),
  );

  test("is no other method, and not of a web page", async () => {
    expect(await status("/health", { method: "POST", body: "{}" })).toBe(421);
    expect(await status("/health", { method: "OPTIONS" })).toBe(421);
    expect(await status("/health", { headers: { origin: at } })).toBe(421);
  });

  test.each([{}, { PUBLIC_URL }, { [RUNS]: "self-hosted" }])(
    "under another host does not list what an open server has: %j",
    async (env) => {
      const listed = async (url: string) => (await get(env, url)).json();
      expect(await listed("http://localhost:8787/health")).toHaveProperty("servlets");
      expect(await listed("http://rebound.example:8787/health")).not.toHaveProperty("servlets");
    },
  );
});

const HOSTED = { PUBLIC_URL, [RUNS]: "self-hosted" };

describe("a host is the same, however it is written:", () => {
  test.each([
    [PUBLIC_URL, "", "https://MCP.Example.COM/"],
    [PUBLIC_URL, "", "http://mcp.example.com:443/"],
    ["https://mcp.example.com:8443", "", "http://mcp.example.com:8443/"],
    ["https://mcp.example.com:8443", "", "http://mcp.example.com/"],
    ["HTTPS://Bücher.example/", "", "https://xn--bcher-kva.example/"],
    ["https://[2001:DB8:0:0::1]:8443", "", "https://[2001:db8::1]/"],
    [PUBLIC_URL, "BOX.Local", "http://box.local:9000/"],
    [PUBLIC_URL, "bücher.example", "http://xn--bcher-kva.example/"],
    [PUBLIC_URL, "2001:db8::7, [2001:db8::8]", "http://[2001:db8::7]:8787/"],
    [PUBLIC_URL, "2001:db8::7, [2001:db8::8]", "http://[2001:DB8::8]:8787/"],
    [PUBLIC_URL, "box.local:8787", "http://box.local:8787/"],
    [PUBLIC_URL, "", "http://[::1]:8787/"],
  ])("PUBLIC_URL %s, ALLOWED_HOSTS %j, request %s", async (url, ALLOWED_HOSTS, at) => {
    const env = { PUBLIC_URL: url, ALLOWED_HOSTS, [RUNS]: "self-hosted" };
    const headers = { accept: "text/html" };
    const page = await get(env, at, { headers });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`${new URL(url).origin}/mcp`);
  });

  test("headers that name a host are not looked at", async () => {
    const forged: Record<string, string>[] = [
      { "x-forwarded-host": "evil.example" },
      { forwarded: "host=evil.example;proto=http" },
      { "x-original-host": "evil.example", "x-forwarded-port": "666" },
    ];
    for (const headers of forged) {
      const page = await get(HOSTED, "http://mcp.example.com/nope", { headers });
      expect(await page.text()).toContain(`${PUBLIC_URL}/mcp.`);
      const evil = { "x-forwarded-host": "mcp.example.com", forwarded: "host=mcp.example.com" };
      expect((await get(HOSTED, "https://evil.example/mcp", { headers: evil })).status).toBe(421);
    }
  });
});

describe("plain http to the host of an https PUBLIC_URL", () => {
  const at = "http://mcp.example.com";

  test("is served on a server of one's own, where a proxy ends TLS", async () => {
    expect((await get(HOSTED, `${at}/`)).status).toBe(200);
  });

  test("is refused where the platform says how the client came, and past the proxy", async () => {
    expect((await get({ PUBLIC_URL }, `${at}/`)).status).toBe(403);
    expect((await get(HOSTED, `${at}:8787/`)).status).toBe(403);
  });

  test("is not a page that may call", async () => {
    const of = async (origin: string) =>
      (await get(HOSTED, `${at}/health`, { headers: { origin } })).status;
    expect(await of(PUBLIC_URL)).toBe(200);
    expect(await of(at)).toBe(403);
  });
});

test.each(["http://localhost:8787", "https://allowed.example", PUBLIC_URL])(
  "people sign in and out at each address of the server: %s",
  async (at) => {
    const app = await serverOf({ ada: {} }, { PUBLIC_URL, ALLOWED_HOSTS: "allowed.example" });
    const person = browser(app, at);
    await person.send("/sign-in", { credential: "ada" });
    expect((await person.fetch("/account")).text).toContain("You are signed in as ada");
    expect((await person.send("/sign-out", {})).text).toContain("You are signed out");
    expect((await person.fetch("/account")).text).not.toContain("You are signed in");
  },
);

describe("secrets do not go over plain http, whatever PUBLIC_URL says:", () => {
  const PLAIN = "http://box.local:8787";
  const allowed = { ...HOSTED, ALLOWED_HOSTS: "box.local mcp.example.com" };

  test.each([PLAIN, "http://mcp.example.com:8787"])("keys on pages at %s", async (at) => {
    const app = await serverOf({ ada: {} }, allowed);
    for (const path of ["/account", "/sign-in", "/console/live", `/ask/${"0".repeat(64)}`]) {
      const page = await browser(app, at).send(path, { credential: "ada" });
      expect(page.status).toBe(403);
      expect(page.text).toContain("over https only");
      expect(page.response.headers.getSetCookie()).toEqual([]);
    }
  });

  test("the passphrase, codes and tokens", async () => {
    const app = await ownersApp(allowed);
    const plain = visitor(app, "192.0.2.200", PLAIN);
    expect((await plain.fetch("/authorize?client_id=x")).status).toBe(403);
    expect((await plain.form("/authorize", { passphrase: PASSPHRASE })).status).toBe(403);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await plain.fetch("/oauth/register", json)).status).toBe(403);
    expect((await plain.form("/oauth/token", { grant_type: "authorization_code" })).status).toBe(
      403,
    );
    const { access_token } = await visitor(app, "192.0.2.201", PUBLIC_URL).signIn();
    expect((await plain.call(access_token)).status).toBe(403);
    const otc = { headers: { "otc-api-key": access_token } };
    expect((await plain.fetch("/tools", otc)).status).toBe(403);
  });
});

describe("people sign in", () => {
  const OWN_COOKIE = /^__Host-person=.*; Secure$/;
  const LOCAL_COOKIE = /^person=((?!Secure).)*$/;

  test.each([
    ["over https", PUBLIC_URL, PUBLIC_URL, OWN_COOKIE],
    ["behind a proxy that passes the name on", "http://mcp.example.com", PUBLIC_URL, OWN_COOKIE],
    ["behind a proxy that names this machine", "http://127.0.0.1:8787", PUBLIC_URL, OWN_COOKIE],
    ["at another name", "https://other.example", "https://other.example", OWN_COOKIE],
    ["on this machine", "http://127.0.0.1:8787", "http://127.0.0.1:8787", LOCAL_COOKIE],
    ["by its name", "http://localhost:9000", "http://localhost:9000", LOCAL_COOKIE],
    ["by IPv6", "http://[::1]:8787", "http://[::1]:8787", LOCAL_COOKIE],
  ])("%s", async (_where, at, origin, cookie) => {
    const settings = { ...HOSTED, ALLOWED_HOSTS: "other.example" };
    const app = await serverOf({ boss: { scopes: ["operator"] } }, settings);
    const person = browser(app, at);
    const body = new URLSearchParams({ credential: "boss" });
    const signed = await person.fetch("/sign-in?back=/account", {
      method: "POST",
      body,
      headers: { origin },
    });
    expect(signed.status).toBe(303);
    expect(signed.response.headers.getSetCookie()[0]).toMatch(cookie);
    const led = await person.fetch(signed.response.headers.get("location")!);
    expect(led.response.headers.get("location")).toBe("/account");
    const account = await person.fetch("/account");
    expect(account.status).toBe(200);
    expect((await person.fetch("/console/usage")).status).toBe(200);
    const sent = (from: string) =>
      person.send("/account", { ...account.hidden, do: "nothing" }, { origin: from });
    expect((await sent(origin)).status).not.toBe(403);
    for (const from of ["https://evil.example", "http://mcp.example.com", "http://localhost:3000"])
      expect((await sent(from)).status).toBe(403);
    const mcp = await person.fetch("/console/mcp", {
      method: "POST",
      headers: { ...modern("ping").headers, origin, "content-type": "application/json" },
      body: JSON.stringify(modern("ping").body),
    });
    expect(mcp.status).not.toBe(403);
    const evil = { method: "POST", headers: { origin: "http://localhost:3000" }, body: "{}" };
    expect((await person.fetch("/console/mcp", evil)).status).toBe(403);
  });

  test("and a cookie of this machine is not taken from a proxy", async () => {
    const app = await serverOf({ ada: {} }, HOSTED);
    const person = browser(app, "http://127.0.0.1:8787");
    await person.send("/account", { credential: "ada" });
    expect((await person.fetch("/account")).text).toContain("signed in as ada");
    const headers = { "x-forwarded-for": "192.0.2.1" };
    expect((await person.fetch("/account", { headers })).text).not.toContain("signed in as ada");
  });

  test("as the owner, with tokens for PUBLIC_URL, behind a proxy", async () => {
    const app = await ownersApp(HOSTED);
    const proxied = visitor(app, "192.0.2.202", "http://mcp.example.com");
    const metadata = await proxied.fetch("/.well-known/oauth-authorization-server");
    expect(await metadata.json()).toMatchObject({
      issuer: PUBLIC_URL,
      authorization_endpoint: `${PUBLIC_URL}/authorize`,
      token_endpoint: `${PUBLIC_URL}/oauth/token`,
    });
    const client = await proxied.register();
    const resource = `${PUBLIC_URL}/mcp`;
    const path = await proxied.authorizePath(client, { resource });
    const { text, handle, response } = await proxied.open(path);
    expect(text).toContain(`at ${PUBLIC_URL}`);
    expect(response.headers.get("set-cookie")).toMatch(/; Secure/);
    const fields = { handle, decision: "allow", passphrase: PASSPHRASE };
    const back = await proxied.form("/authorize", fields, { origin: PUBLIC_URL });
    const location = new URL(back.headers.get("location")!);
    expect(location.searchParams.get("iss")).toBe(PUBLIC_URL);
    const grant = {
      grant_type: "authorization_code",
      code: location.searchParams.get("code")!,
      code_verifier: proxied.verifier,
      client_id: client,
      redirect_uri: location.origin + location.pathname,
    };
    const tokens = await proxied.form("/oauth/token", grant, { origin: PUBLIC_URL });
    const { access_token } = (await tokens.json()) as { access_token: string };
    expect((await proxied.call(access_token)).status).toBe(200);
    expect((await visitor(app, "192.0.2.203", PUBLIC_URL).call(access_token)).status).toBe(200);
  });
});

test("links to pages of questions and secrets lead to PUBLIC_URL, and are answered there", async () => {
  const app = await serverOf({ ada: {} }, HOSTED);
  const headers = { authorization: "Bearer ada" };
  const ask = { do: "ask_secret", name: "deepl", message: "Your key" };
  const { result } = await callOf("plan", steps(ask), { server: app, capabilities: {}, headers });
  const { url } = result!["structuredContent"];
  expect(url).toMatch(/^https:\/\/mcp\.example\.com\/ask\//);
  const person = browser(app, PUBLIC_URL);
  await person.send("/account", { credential: "ada" });
  const led = await person.fetch(url);
  expect(led.response.headers.get("location")).toMatch(/^\/secret\//);
  const asked = await callOf("plan", steps(ask), {
    server: app,
    capabilities: { elicitation: { url: {} } },
    headers,
  });
  expect(JSON.stringify(asked.result)).toContain(`"url":"${PUBLIC_URL}/secret/`);
});

test("a body that comes in parts is read, and a client that leaves is noticed, at PUBLIC_URL too", async () => {
  const { body, headers } = modern("tools/call", { name: "echo_input", arguments: { a: "é" } });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const stream = new ReadableStream({
    async start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const app = createApp(new Kernel(bundle, { ...bound, ...HOSTED, AUTH: "none" }));
  const sent = new Request("http://127.0.0.1:8787/mcp?x=%2F", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json" },
    body: stream,
  });
  const { result } = await answerOf(await app.fetch(sent));
  expect(JSON.stringify(result)).toContain("é");
  const leaving = new AbortController();
  const moved = atOwnOrigin(
    new Request("http://127.0.0.1/a?b=%2F#c", { signal: leaving.signal }),
    originPolicy(readSettings({ PUBLIC_URL }), {}),
  );
  expect(moved.url).toBe(`${PUBLIC_URL}/a?b=%2F`);
  leaving.abort();
  expect(moved.signal.aborted).toBe(true);
});

describe("a self-hosted server needs to know whom tokens are for:", () => {
  const hosted = (env: object) => () =>
    createApp(new Kernel(bundle, { ...bound, [RUNS]: "self-hosted", ...env }));
  const OTC_JWT_SECRET = "0123456789abcdef0123456789abcdef";
  const ENTERPRISE_ISSUERS = JSON.stringify([
    { issuer: "https://idp.example", jwks_uri: "https://idp.example/keys" },
  ]);
  const half = [{ issuer: "https://a.example", audience: "us" }, { issuer: "https://b.example" }];

  test.each([
    [{ OAUTH_ISSUERS }, /issuer\.example without an audience.*Set PUBLIC_URL/],
    [{ OAUTH_ISSUERS: JSON.stringify(half) }, /b\.example.*Set PUBLIC_URL/],
    [{ OTC_JWT_SECRET }, /OTC_JWT_SECRET.*without OTC_JWT_AUDIENCE.*Set PUBLIC_URL/],
    [{ OTC_JWT_SECRET, OTC_JWT_AUDIENCE: " , " }, /OTC_JWT_AUDIENCE.*Set PUBLIC_URL/],
    [
      { OTC_JWT_SECRET, OAUTH_ISSUERS: JSON.stringify(half.slice(0, 1)) },
      /OTC_JWT_SECRET.*Set PUBLIC_URL/,
    ],
    [{ ENTERPRISE_ISSUERS }, /ENTERPRISE_ISSUERS has https:\/\/idp\.example.*Set PUBLIC_URL/],
  ])("%j", async (env, message) => {
    const OWNER_PASSPHRASE = await hashPassphrase(PASSPHRASE);
    const all = { ...env, ...("ENTERPRISE_ISSUERS" in env && { OWNER_PASSPHRASE }) };
    expect(hosted(all)).toThrow(message);
    expect(hosted({ ...all, PUBLIC_URL })).not.toThrow();
    // On Cloudflare only the hosts that lead to the Worker come.
    expect(() => createApp(new Kernel(bundle, { ...bound, ...all }))).not.toThrow();
  });

  test("an audience says it, too", () => {
    expect(hosted({ OAUTH_ISSUERS: JSON.stringify(half.slice(0, 1)) })).not.toThrow();
    expect(hosted({ OTC_JWT_SECRET, OTC_JWT_AUDIENCE: "us" })).not.toThrow();
  });
});

describe("behind a proxy that names this machine and says nothing else, at an https PUBLIC_URL", () => {
  const LOCAL = "http://127.0.0.1:8787";
  const issuer = "https://issuer.example";

  /** An issuer at which this server is a client: anybody who comes there is Ada. */
  function issuing() {
    let nonce = "";
    const idToken = () =>
      ["", { iss: issuer, sub: "ada", aud: "us", nonce, ...validNow() }, ""]
        .map((part) => base64url(part || { alg: "RS256" }))
        .join(".");
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
    };
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      const url = input instanceof Request ? input.url : String(input);
      if (!url.endsWith("/token")) return Response.json(metadata);
      return Response.json({ access_token: "a", token_type: "bearer", id_token: idToken() });
    });
    return {
      /** The answer with which it sends a person back. */
      answerTo(location: string): string {
        const { searchParams } = new URL(location);
        nonce = searchParams.get("nonce")!;
        const state = searchParams.get("state")!;
        const answer = new URLSearchParams({ code: "c", state, iss: issuer });
        return `${searchParams.get("redirect_uri")}?${answer.toString()}`;
      },
    };
  }

  const validNow = () => {
    const now = Math.floor(Date.now() / 1000);
    return { iat: now, exp: now + 60 };
  };

  const client = { client_id: "us" };
  const settings = {
    ...HOSTED,
    OAUTH_ISSUERS: JSON.stringify([{ issuer, client }]),
  };

  afterEach(() => vi.restoreAllMocks());

  test("a sign-in at an issuer sets cookies of PUBLIC_URL, which its forms have", async () => {
    const { answerTo } = issuing();
    const app = await serverOf({ ada: {} }, settings);
    const person = browser(app, LOCAL);
    const begun = await person.fetch("/account/sign-in?issuer=0&back=/nope");
    expect(begun.response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-sign-in=.*; Secure$/),
    ]);
    const answer = answerTo(begun.response.headers.get("location")!);
    expect(answer).toMatch(/^https:\/\/mcp\.example\.com\/account\/callback\?/);
    const { pathname, search } = new URL(answer);
    const back = await person.fetch(pathname + search);
    expect(back.response.headers.get("location")).toBe("/nope");
    expect(back.response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-person=.*; Secure$/),
    ]);
    expect((await person.fetch("/sign-in")).status).toBe(303);
    const form = { method: "POST", body: new URLSearchParams(), headers: { origin: PUBLIC_URL } };
    expect((await person.fetch("/sign-in", form)).status).toBe(303);
  });

  test("a sign-in at an issuer leads back to a path of this server only", async () => {
    const { answerTo } = issuing();
    const person = browser(await serverOf({ ada: {} }, settings), LOCAL);
    const begin = (back: string) =>
      person.fetch(`/account/sign-in?issuer=0&back=${encodeURIComponent(back)}`);
    for (const back of [
      `blob:${PUBLIC_URL}/x`,
      PUBLIC_URL.replace("//", "//ada:pass@"),
      "http:evil.example",
      "//evil.example",
    ])
      expect(await begin(back)).toMatchObject({ status: 400 });
    const { pathname, search } = new URL(
      answerTo((await begin("/.//evil.example")).response.headers.get("location")!),
    );
    const { response } = await person.fetch(pathname + search);
    const to = new URL(response.headers.get("location")!, PUBLIC_URL);
    expect(to.origin).toBe(PUBLIC_URL);
  });

  test("whoever is on this machine sets out to an issuer from PUBLIC_URL, where they come back", async () => {
    const { answerTo } = issuing();
    const app = await serverOf({ ada: {} }, settings);
    const local = browser(app, LOCAL);
    const wayOf = (html: string) =>
      /href="([^"]*\/account\/sign-in\?[^"]*)"/.exec(html)![1]!.replaceAll("&amp;", "&");
    for (const page of [
      await local.fetch("/sign-in?back=/a"),
      await local.send("/sign-in?back=/a", { credential: "wrong" }),
      await browser(app, "http://localhost:8787").fetch("/sign-in?back=/a"),
    ]) {
      const way = wayOf(page.html);
      expect(way).toMatch(/^https:\/\/mcp\.example\.com\/account\/sign-in\?/);
      const there = browser(app, PUBLIC_URL);
      const begun = await there.fetch(way);
      const back = await there.fetch(answerTo(begun.response.headers.get("location")!));
      expect(back.response.headers.get("location")).toBe("/sign-in?back=/a");
      expect((await there.fetch("/sign-in")).status).toBe(303);
    }
    expect(wayOf((await browser(app, PUBLIC_URL).fetch("/sign-in")).html)).toMatch(/^\/account/);
  });

  test.each([
    "http://mcp.example.com",
    "https://mcp.example.com:8443",
    "https://127.0.0.1:1",
    "null",
  ])("forms and calls of the console have one rule for pages of others: %s", async (origin) => {
    const app = await serverOf(
      { boss: { scopes: ["operator"] } },
      { ...HOSTED, ALLOWED_ORIGINS: origin },
    );
    const person = browser(app, LOCAL);
    await person.send("/sign-in", { credential: "boss" }, { origin: PUBLIC_URL });
    const form = (from: string) =>
      person.fetch("/sign-in", {
        method: "POST",
        body: new URLSearchParams(),
        headers: { origin: from },
      });
    expect((await form(PUBLIC_URL)).status).toBe(303);
    expect((await form(origin)).status).toBe(403);
    const call = { method: "POST", body: "{}", headers: { origin } };
    expect((await person.fetch("/console/mcp", call)).status).toBe(403);
  });
});

test.each([
  ...["https://box.local", "box.local/mcp", "ada@box.local", "*", "*.example.com", "box.local:x"],
  ...["999.1.1.1", "a.example,b.example?", "[::1", "\\\\box"],
])("ALLOWED_HOSTS refuses what no request could name: %s", (name) => {
  expect(() => readSettings({ ALLOWED_HOSTS: `box.local ${name}` })).toThrow(
    /ALLOWED_HOSTS.*must be names of hosts, such as "box.local/,
  );
});

test("ALLOWED_HOSTS takes names as people write them", () => {
  const ALLOWED_HOSTS = "BOX.local box:8080 b\u00fccher.example ::1 [::1]:80 10.0.0.5";
  expect(readSettings({ ALLOWED_HOSTS }).ALLOWED_HOSTS).toEqual([
    "box.local",
    "box",
    "xn--bcher-kva.example",
    "[::1]",
    "[::1]",
    "10.0.0.5",
  ]);
});
