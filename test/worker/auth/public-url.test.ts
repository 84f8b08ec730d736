import { env as bound } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { atOwnOrigin, originPolicy } from "../../../src/server/kernel/auth/origin.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, modern } from "../server.ts";

const PUBLIC_URL = "https://mcp.example.com";

const get = async (env: object, url: string, init?: RequestInit) =>
  createApp(new Kernel(bundle, { AUTH: undefined, ...env })).fetch(new Request(url, init));

const METADATA = "/.well-known/oauth-protected-resource/mcp";

describe("PUBLIC_URL names the server", () => {
  test("in what it says of a wrong path", async () => {
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
    expect((await get(env, `${at}/nope`)).status).toBe(404);
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
    const named = await get({ PUBLIC_URL: DOTTED }, `${DOTTED}/nope`);
    expect(await named.text()).toContain(`${PUBLIC_URL}/mcp`);
    const unnamed = await get({}, "https://mine.workers.dev./nope");
    expect(await unnamed.text()).toContain("https://mine.workers.dev/mcp");
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
      const refused = await get({ PUBLIC_URL }, at + path);
      expect({ path, status: refused.status }).toEqual({ path, status: 421 });
    }
    expect((await get({ PUBLIC_URL }, `${at}/health`)).status).toBe(200);
  });

  test.each(others)("where the server is self-hosted: %s", async (at) => {
    const env = { [RUNS]: "self-hosted" };
    expect((await get(env, `${at}/mcp`)).status).toBe(421);
    expect((await get(env, `${at}/health`)).status).toBe(200);
    const allowed = await get({ ...env, ALLOWED_HOSTS: "box.local" }, "https://box.local/nope");
    expect(allowed.status).toBe(404);
  });

  test("and no feature takes its address for the server's own", async () => {
    const kernel = new Kernel(bundle, { ...bound, [RUNS]: "self-hosted" });
    const told: string[] = [];
    Object.assign(kernel.started[0]!, {
      served: async (_registry: unknown, { url }: Request) => void told.push(url),
    });
    const app = createApp(kernel);
    for (const path of ["/mcp", "/health"]) await app.fetch(new Request(`${others[0]}${path}`));
    const own = "http://localhost:8787/health";
    await app.fetch(new Request(own));
    await vi.waitFor(() => expect(told).toEqual([own]));
  });

  test("and is not where neither is so", async () => {
    expect((await get({}, "https://mine.workers.dev/nope")).status).toBe(404);
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
    const answer = await get(env, new URL("/nope", at).href);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain(`${new URL(url).origin}/mcp`);
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
    expect((await get(HOSTED, `${at}/nope`)).status).toBe(404);
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

test.each([
  "https://box.local",
  "box.local/mcp",
  "ada@box.local",
  "*",
  "*.example.com",
  "box.local:x",
  "999.1.1.1",
  "a.example,b.example?",
  "[::1",
  "\\\\box",
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
