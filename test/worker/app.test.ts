import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { bundle } from "../bundle.gen.ts";
import { answerOf, app, callTool, post, settings, URL_OF_MCP } from "./server.ts";
import { VERSION } from "../../src/version.ts";

const get = (path: string, headers = {}, server = app) =>
  Promise.resolve(server.fetch(new Request(new URL(path, URL_OF_MCP), { headers })));

describe("pages and health", () => {
  test("the page shows what servlets say of themselves, and browsers obey none of it", async () => {
    const hello = bundle.servlets.find(({ name }) => name === "hello")!;
    const tools = hello.lists!.tools.map((tool) => ({
      ...tool,
      description: "One\u202e\u2066\n\u0085two",
    }));
    const servlet = { ...hello, lists: { ...hello.lists!, tools } };
    const server = createApp({ ...bundle, servlets: [servlet] }, settings);
    const text = await (await server.fetch(new Request("http://localhost:8787/"))).text();
    expect(text).toContain("One\\u{202e}\\u{2066}\n\\u{85}two");
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  test("GET /health says what is served", async () => {
    const response = await get("/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      name: "edge-servlets",
      version: VERSION,
      servlets: expect.arrayContaining(["hello", "chart"]),
    });
  });

  test("and 503 where nothing can be served", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const [first] = bundle.servlets;
    const broken = { ...first!, lists: { ...first!.lists!, tools: undefined as never } };
    expect((await get("/health", {}, createApp({ servlets: [broken] }, {}))).status).toBe(503);
    vi.restoreAllMocks();
  });

  test.each(["/", "/mcp"])(
    "GET %s from a browser is a page with the URL and the tools",
    async (path) => {
      const response = await get(path, { accept: "text/html,*/*" });
      expect(response.headers.get("content-type")).toContain("text/html");
      const text = await response.text();
      expect(text).toContain("http://localhost:8787/mcp");
      expect(text).toContain("greet");
    },
  );

  test("texts of servlets are text on it, not markup", async () => {
    const [first] = bundle.servlets;
    const evil = { ...first!, manifest: { description: "<script>alert(1)</script>" } };
    const text = await (await get("/", {}, createApp({ servlets: [evil] }, {}))).text();
    expect(text).not.toContain("<script>");
    expect(text).toContain("&lt;script&gt;");
  });

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
    expect((await get("/mcp/", { accept: "text/html" })).headers.get("content-type")).toContain(
      "html",
    );
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
    const some = createApp(bundle, { ALLOWED_ORIGINS: "https://app.example, https://b.example" });
    expect((await from("https://app.example", URL_OF_MCP, some)).status).toBe(200);
    expect((await from("https://c.example", URL_OF_MCP, some)).status).toBe(403);
    const all = createApp(bundle, { ALLOWED_ORIGINS: "*" });
    expect((await from("https://c.example", URL_OF_MCP, all)).status).toBe(200);
    expect((await from("http://c.example", URL_OF_MCP, all)).status).toBe(403);
    expect((await from("null", URL_OF_MCP, all)).status).toBe(403);
  });

  test("plain http is for loopback names, unless configured", async () => {
    const rebound = "http://evil.example:8787/mcp";
    expect((await from("http://evil.example:8787", rebound)).status).toBe(403);
    const named = createApp(bundle, { ALLOWED_HOSTS: "box.local" });
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
  const locked = createApp(bundle, { API_KEYS: JSON.stringify({ ci: hash }) });
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
    const server = createApp(bundle, env);
    const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
    const { result } = await answerOf(await post(body, {}, server));
    expect(result).toMatchObject({
      instructions: "Use them well.",
      serverInfo: {
        name: "my-tools",
        title: "My tools",
        version: "2.0.0",
        websiteUrl: "https://tools.example",
        icons: [{ src: "https://tools.example/icon.png", mimeType: "image/png" }],
      },
    });
  });

  test.each([
    [{ SERVER_ICONS: "{" }, /SERVER_ICONS/],
    [{ API_KEYS: '{"ci":"hunter2"}' }, /API_KEYS\.ci/],
    [{ LOG_LEVEL: "loud" }, /LOG_LEVEL/],
    [{ SERVER_WEBSITE: "tools" }, /SERVER_WEBSITE/],
  ])("%o is refused at start", (env, message) => {
    expect(() => createApp(bundle, env)).toThrow(message);
    expect(() => createApp(bundle, env)).not.toThrow(/hunter2/);
  });
});
