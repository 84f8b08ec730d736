import { features } from "../all-features.ts";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/server/kernel/app.ts";
import { Kernel } from "../../src/server/kernel/kernel.ts";
import { bundle } from "../bundle.gen.ts";
import { answerOf, app, callTool, post, URL_OF_MCP } from "./server.ts";
import { VERSION } from "../../src/server/kernel/core/version.ts";

const get = (path: string, headers = {}, server = app) =>
  Promise.resolve(server.fetch(new Request(new URL(path, URL_OF_MCP), { headers })));

describe("pages and health", () => {
  test("GET /health says what is served", async () => {
    const response = await get("/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      name: "edge-servlets",
      version: VERSION,
      servlets: expect.arrayContaining(["hello", "chart"]),
    });
  });

  test.each([{}, { API_KEYS: JSON.stringify({ ada: "0".repeat(64) }) }])(
    "and 503 where nothing can be served: %j",
    async (closed) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const [first] = bundle.servlets;
      const broken = { ...first!, lists: { ...first!.lists!, tools: undefined as never } };
      const server = createApp(new Kernel({ features, servlets: [broken] }, closed));
      expect((await get("/health", {}, server)).status).toBe(503);
      vi.restoreAllMocks();
    },
  );

  test("anything else: 404", async () => {
    expect((await get("/nope")).status).toBe(404);
  });

  const list = { jsonrpc: "2.0", id: 7, method: "tools/list" };
  const postTo = (path: string, body: object) =>
    Promise.resolve(
      app.fetch(
        new Request(new URL(path, URL_OF_MCP), {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json" },
          body: JSON.stringify(body),
        }),
      ),
    );

  test("/mcp/ is /mcp", async () => {
    const { status, result } = await answerOf(await postTo("/mcp/", list));
    expect({ status, tools: Array.isArray(result?.["tools"]) }).toEqual({
      status: 200,
      tools: true,
    });
  });

  test.each(["/", "/sse", "/mcp/sse", "/MCP"])(
    "a JSON-RPC request to %s is answered with the right URL",
    async (path) => {
      const { id, error } = await answerOf(await postTo(path, list));
      expect({ id, code: error?.code }).toEqual({ id: 7, code: -32600 });
      expect(error?.message).toContain("http://localhost:8787/mcp");
      expect((await postTo(path, { ...list, id: undefined })).status).toBe(404);
    },
  );
});

describe("features are told what is served", () => {
  const telling = (served: (raw: Request) => Promise<void>) =>
    createApp(
      new Kernel(
        {
          features: [
            ...features,
            { name: "told", start: () => ({ served: (_, raw) => served(raw) }) },
          ],
          servlets: bundle.servlets,
        },
        {},
      ),
    );

  test("by a request that is admitted, and by no other", async () => {
    const urls: string[] = [];
    const server = telling(async ({ url }) => void urls.push(url));
    expect((await get("http://evil.example/", {}, server)).status).toBe(403);
    expect(urls).toEqual([]);
    await get("/health", {}, server);
    await get("/health", {}, server);
    await vi.waitFor(() => expect(urls).toEqual(["http://localhost:8787/health"]));
  });

  test("again, after one has failed", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    let told = 0;
    const server = telling(async () => {
      if (++told === 1) throw new Error("on purpose");
    });
    for (let nth = 1; nth <= 3; nth++) {
      await get("/health", {}, server);
      await vi.waitFor(() => expect(told).toBe(Math.min(nth, 2)));
    }
    vi.restoreAllMocks();
  });
});

describe("origins and hosts", () => {
  const from = (origin: string, url = URL_OF_MCP, server = app) =>
    Promise.resolve(
      server.fetch(
        new Request(url, {
          method: "POST",
          headers: { origin, "content-type": "application/json", accept: "application/json" },
          body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        }),
      ),
    );

  test.each([
    "http://localhost:3000",
    "http://127.0.0.1",
    "http://[::1]:5173",
    "https://localhost",
    "http://localhost:8787",
  ])("%s may call, and read the answer", async (origin) => {
    const response = await from(origin);
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test.each([
    "https://evil.example",
    "http://localhost.evil.example",
    "http://evil.example:8787",
    "null",
    "",
    "file://",
    "https://evil.example/localhost",
    "http://127.0.0.1.evil.example",
    "chrome-extension://abc",
    "http://localhost:8787/",
    "http://localhost:8787/mcp",
    "http://ada@localhost:8787",
    "http://localhost:8787?localhost",
  ])("%j is refused: 403", async (origin) => {
    const response = await from(origin);
    expect(response.status).toBe(403);
    expect((await answerOf(response)).error?.message).toContain("ALLOWED_ORIGINS");
  });

  test("others may be allowed by configuration", async () => {
    const some = createApp(
      new Kernel(bundle, { ALLOWED_ORIGINS: "https://app.example, https://b.example" }),
    );
    expect((await from("https://app.example", URL_OF_MCP, some)).status).toBe(200);
    expect((await from("https://c.example", URL_OF_MCP, some)).status).toBe(403);
    const all = createApp(new Kernel(bundle, { ALLOWED_ORIGINS: "*" }));
    expect((await from("https://c.example", URL_OF_MCP, all)).status).toBe(200);
    expect((await from("http://c.example", URL_OF_MCP, all)).status).toBe(403);
    expect((await from("null", URL_OF_MCP, all)).status).toBe(403);
  });

  const APPS = [
    "null",
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    "moz-extension://4d6b2c8e-0f3a-4b7c-9d1e-2f3a4b5c6d7e",
    "safari-web-extension://E2B7A7B5-93DA-4C88-A1B4-0C5D6E7F8A9B",
    "tauri://localhost",
    "vscode-webview://0abc1def",
    "capacitor://localhost",
    "app://-",
    "file://",
    "http://intranet.example:8080",
  ];

  test.each(APPS)("%s may call where it is named, and only there", async (origin) => {
    const headers = { origin, "access-control-request-method": "POST" };
    for (const ALLOWED_ORIGINS of [origin, `https://a.example, ${origin}`, "*"]) {
      const named = createApp(new Kernel(bundle, { ALLOWED_ORIGINS }));
      const isNamed = ALLOWED_ORIGINS !== "*";
      const call = await from(origin, URL_OF_MCP, named);
      const preflight = await named.fetch(new Request(URL_OF_MCP, { method: "OPTIONS", headers }));
      expect([call.status, preflight.status]).toEqual(isNamed ? [200, 204] : [403, 403]);
      for (const { headers: answer } of [call, preflight])
        expect(answer.get("access-control-allow-origin")).toBe(isNamed ? origin : null);
    }
    const asGiven = createApp(new Kernel(bundle, { ALLOWED_ORIGINS: origin }));
    for (const other of [`x${origin}`, `${origin}x`, `${origin}/`, `${origin} ${origin}`])
      expect((await from(other, URL_OF_MCP, asGiven)).status).toBe(403);
  });

  test("an entry that no browser sends is named in the log, with what to write", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    try {
      const said = (ALLOWED_ORIGINS: string) => {
        warn.mockClear();
        createApp(new Kernel(bundle, { ALLOWED_ORIGINS }));
        return warn.mock.calls
          .flat()
          .map((line) => /has (.*), which.* Write (.*)\.$/.exec(String(line))?.slice(1));
      };
      expect(said([...APPS, "*", "https://app.example", "https://[::1]:8443"].join(","))).toEqual(
        [],
      );
      const GENERIC = "the scheme and the host, such as https://app.example";
      const cases: Record<string, string> = {
        "https://app.example/": "https://app.example",
        "https://app.example/path?x": "https://app.example",
        "HTTPS://App.Example": "https://app.example",
        "https://app.example:443": "https://app.example",
        "http://app.example:80": "http://app.example",
        "https://bücher.example": "https://xn--bcher-kva.example",
        "https://ada@app.example": "https://app.example",
        "app.example": "https://app.example",
        "app.example:8443/x": "https://app.example:8443",
        '"https://app.example"': "https://app.example",
        "Tauri://localhost/": "tauri://localhost",
        "chrome-extension://abc/*": "each origin by its own, or * for all https ones",
        "https://*.example": "each origin by its own, or * for all https ones",
        NULL: "null",
        "'null'": "null",
        "https:/app.example": "https://app.example",
        "https:": GENERIC,
      };
      for (const [entry, meant] of Object.entries(cases))
        expect(said(entry)).toEqual([[entry, meant]]);
      expect(said("https://app .example")).toEqual([[".example", GENERIC]]);
    } finally {
      warn.mockRestore();
    }
  });

  test("plain http is for loopback names, unless configured", async () => {
    const rebound = "http://evil.example:8787/mcp";
    expect((await from("http://evil.example:8787", rebound)).status).toBe(403);
    const named = createApp(new Kernel(bundle, { ALLOWED_HOSTS: "box.local" }));
    expect((await from("http://box.local:8787", "http://box.local:8787/mcp", named)).status).toBe(
      200,
    );
    expect((await from("https://a.example", "https://a.example/mcp")).status).toBe(200);
  });

  test("a page of the same host that came by plain http is another's", async () => {
    expect((await from("http://a.example", "https://a.example/mcp")).status).toBe(403);
  });

  test("a preflight is answered", async () => {
    const response = await app.fetch(
      new Request(URL_OF_MCP, {
        method: "OPTIONS",
        headers: {
          origin: "http://localhost:3000",
          "access-control-request-method": "POST",
          "access-control-request-headers": "mcp-protocol-version,mcp-param-region",
        },
      }),
    );
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-headers")).toContain("mcp-param-region");
  });
});

describe("who is calling", () => {
  // SHA-256 of "sesame"
  const hash = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";
  const locked = createApp(new Kernel(bundle, { API_KEYS: JSON.stringify({ ci: hash }) }));
  const ping = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo_input" } };

  test("is anonymous without configuration", async () => {
    const { result } = await callTool("echo_input");
    expect(JSON.parse(result?.["content"][0].text).context.client.principal).toBe("anonymous");
  });

  test("is the name of the key where keys are configured", async () => {
    const { result } = await answerOf(await post(ping, { authorization: "Bearer sesame" }, locked));
    expect(JSON.parse(result?.["content"][0].text).context.client.principal).toBe("ci");
  });

  test("and what needs one is not shown on the page", async () => {
    const text = await (await get("/", {}, locked)).text();
    expect(text).toContain("http://localhost:8787/mcp");
    expect(text).not.toContain("greet");
  });

  test.each<Record<string, string>>([
    {},
    { authorization: "Bearer wrong" },
    { authorization: "Basic b3BlbjpzZXNhbWU=" },
    { authorization: "Bearer" },
  ])("%o: 401 with a challenge", async (headers) => {
    const response = await post(ping, headers, locked);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
    expect(await response.text()).not.toContain("wrong");
  });
});

describe("configuration", () => {
  test("introduces the server", async () => {
    const env = {
      SERVER_NAME: "my-tools",
      SERVER_TITLE: "My tools",
      SERVER_VERSION: "2.0.0",
      SERVER_INSTRUCTIONS: "Use them well.",
      SERVER_WEBSITE: "https://tools.example",
      SERVER_ICONS: '[{"src":"https://tools.example/icon.png","mimeType":"image/png"}]',
    };
    const server = createApp(new Kernel(bundle, env));
    const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
    const { result } = await answerOf(await post(body, {}, server));
    expect(result).toMatchObject({
      instructions: expect.stringMatching(/^Use them well\.(\n|$)/),
      serverInfo: {
        name: "my-tools",
        title: "My tools",
        version: "2.0.0",
        websiteUrl: "https://tools.example",
        icons: [{ src: "https://tools.example/icon.png", mimeType: "image/png" }],
      },
    });
  });

  test("has the version of the project, unless a setting names another", async () => {
    const versionOf = async (env: object) => {
      const server = createApp(new Kernel({ ...bundle, version: "3.1.4" }, env));
      const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
      return answerOf(await post(body, {}, server));
    };
    const has = (version: string) => ({ result: { serverInfo: { version } } });
    expect(await versionOf({})).toMatchObject(has("3.1.4"));
    expect(await versionOf({ SERVER_VERSION: "4" })).toMatchObject(has("4"));
  });

  test.each([
    [{ SERVER_ICONS: "{" }, /SERVER_ICONS/],
    [{ API_KEYS: '{"ci":"hunter2"}' }, /API_KEYS\.ci/],
    [{ LOG_LEVEL: "loud" }, /LOG_LEVEL/],
    [{ SERVER_WEBSITE: "tools" }, /SERVER_WEBSITE/],
    [{ SERVER_COLOR: "red" }, /SERVER_COLOR: must be a hex colour/],
    [{ SERVER_COLOR: "#12345" }, /SERVER_COLOR: must be a hex colour/],
    [{ SERVER_COLOR: "#fff;}" }, /SERVER_COLOR: must be a hex colour/],
    [{ SERVER_ICON: "http://a.example/i.png" }, /SERVER_ICON: must be an https or data:image/],
    [{ SERVER_ICON: "data:text/html,x" }, /SERVER_ICON: must be an https or data:image/],
    [
      { SERVER_ICON: "https://a.example/i.png", SERVER_ICONS: "[]" },
      /SERVER_ICON and SERVER_ICONS are both set/,
    ],
  ])("%o is refused at start", (env, message) => {
    expect(() => createApp(new Kernel(bundle, env))).toThrow(message);
    expect(() => createApp(new Kernel(bundle, env))).not.toThrow(/hunter2/);
  });
});

test("what an answer repeats is well-formed text, also where nothing is", async () => {
  const body = { jsonrpc: "2.0", id: "\ud800", method: "tools/list" };
  const request = new Request("http://localhost:8787/favicon.ico", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const response = await app.fetch(request);
  expect(((await response.json()) as { id: unknown }).id).toBe("\ufffd");
});
