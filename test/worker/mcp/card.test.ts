import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Schema } from "../../../src/server/kernel/schema/schema.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { ask } from "../server.ts";
import { PROFILES } from "../test-profiles.ts";

/** How the server is found before a client connects. */
const CARD = "/mcp/server-card";
const serverWith = (settings: object = {}) =>
  createApp(new Kernel(bundle, { ...env, ...settings }));

test("a profile has a card of its own, which the catalogue lists as well", async () => {
  const settings = { ...env, SERVER_NAME: "x".repeat(400), SERVER_REGISTERED: "com.example/tools" };
  for (const variables of [env, settings]) {
    const app = createApp(new Kernel({ ...bundle, profiles: PROFILES }, variables));
    const read = async (path: string): Promise<any> => {
      const headers = { origin: "https://else.example" };
      const response = await app.fetch(new Request(`https://mcp.example.com${path}`, { headers }));
      expect(response.status).toBe(200);
      return response.json();
    };
    const card = await read("/mcp/support/server-card");
    expect(new Schema(CARD_SCHEMA).issues(card)).toBeUndefined();
    expect(card).toMatchObject({
      name: expect.stringMatching(/^com\.example.*-support$/),
      title: "Support",
      description: "What support needs.",
      remotes: [{ url: "https://mcp.example.com/mcp/support" }],
    });
    expect(await read("/mcp/%73upport/server-card/")).toEqual(card);
    const { entries } = await read("/.well-known/ai%2Dcatalog.json");
    expect(entries.map(({ url }: { url: string }) => url)).toEqual([
      "https://mcp.example.com/mcp/server-card",
      "https://mcp.example.com/mcp/support/server-card",
      "https://mcp.example.com/mcp/plans/server-card",
      "https://mcp.example.com/mcp/searched/server-card",
    ]);
    expect(new Set(entries.map((one: { identifier: string }) => one.identifier)).size).toBe(4);
  }
});

async function get(
  path: string,
  { settings = {}, host = "mcp.example.com", headers = {}, method = "GET" } = {},
) {
  const app = serverWith(settings);
  const url = `https://${host}${path}`;
  const response = await app.fetch(new Request(url, { method, headers }));
  const text = await response.text();
  return { response, text, body: () => JSON.parse(text) as any };
}

test("the card says who the server is and how to connect, as it says itself then", async () => {
  const settings = {
    SERVER_NAME: "weather",
    SERVER_TITLE: "Weather",
    SERVER_VERSION: "1.2.3",
    SERVER_DESCRIPTION: "Tells the weather",
    SERVER_WEBSITE: "https://example.com/",
  };
  const { response, body } = await get(CARD, { settings });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^application\/mcp-server-card\+json/);
  const { result } = await ask("server/discover");
  expect(body()).toEqual({
    $schema: "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
    name: "com.example.mcp/weather",
    version: "1.2.3",
    title: "Weather",
    description: "Tells the weather",
    websiteUrl: "https://example.com/",
    remotes: [
      {
        type: "streamable-http",
        url: "https://mcp.example.com/mcp",
        supportedProtocolVersions: result!["supportedVersions"],
      },
    ],
  });
});

/** What the schema of cards demands of the members that we write; it allows no others. */
const URI = { type: "string", pattern: "^https?://[^\\s]+$" };
const CARD_SCHEMA = {
  type: "object",
  additionalProperties: false,
  required: ["$schema", "description", "name", "version"],
  properties: {
    $schema: {
      const: "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
    },
    name: {
      type: "string",
      minLength: 3,
      maxLength: 200,
      pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
    },
    version: { type: "string", maxLength: 255 },
    title: { type: "string", minLength: 1, maxLength: 100 },
    description: { type: "string", minLength: 1, maxLength: 100 },
    websiteUrl: URI,
    icons: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["src"],
        properties: {
          src: { type: "string" },
          mimeType: { type: "string" },
          sizes: { type: "array", items: { type: "string" } },
          theme: { enum: ["dark", "light"] },
        },
      },
    },
    remotes: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["type", "url"],
        properties: {
          type: { enum: ["sse", "streamable-http"] },
          url: URI,
          supportedProtocolVersions: { type: "array", items: { type: "string" } },
        },
      },
    },
  },
};

test.each([
  {},
  { SERVER_NAME: "", SERVER_TITLE: "", SERVER_DESCRIPTION: "" },
  { SERVER_NAME: "x".repeat(400), SERVER_TITLE: "y".repeat(400), SERVER_VERSION: "1" },
  { SERVER_ICONS: '[{"src":"https://a.example/i.png","sizes":["48x48"],"other":1}]' },
])("it fits the schema of cards, with %j", async (settings) => {
  for (const host of ["localhost:8787", `${"a.".repeat(100)}example`, "[::1]"]) {
    const { body } = await get(CARD, { settings, host });
    expect(new Schema(CARD_SCHEMA).issues(body())).toBeUndefined();
  }
});

test("the catalogue lists it, under both names", async () => {
  const entry = {
    identifier: "urn:air:mcp.example.com:edge-servlets",
    displayName: "edge-servlets",
    type: "application/mcp-server-card+json",
    url: `https://mcp.example.com${CARD}`,
  };
  const found = await get("/.well-known/ai-catalog.json");
  expect(found.response.headers.get("content-type")).toMatch(/^application\/ai-catalog\+json/);
  expect(found.body()).toEqual({ specVersion: "1.0", entries: [entry] });
  const earlier = await get("/.well-known/mcp/catalog.json");
  expect(earlier.body()).toEqual({ specVersion: "draft", entries: [entry] });
});

test("a name in registries, and the server's own origin, are those that are said", async () => {
  const settings = { SERVER_REGISTERED: "io.example/tools", PUBLIC_URL: "https://tools.example" };
  const { body } = await get(CARD, { settings, host: "tools.example" });
  expect(body()).toMatchObject({
    name: "io.example/tools",
    remotes: [{ url: "https://tools.example/mcp" }],
  });
  const catalogue = await get("/.well-known/ai-catalog.json", { settings, host: "tools.example" });
  expect(catalogue.body().entries[0].identifier).toBe("urn:air:example.io:tools");
  // Whatever host a request names.
  const elsewhere = await get(CARD, { settings, host: "evil.example" });
  expect(elsewhere.text).not.toContain("evil.example");
  for (const wrong of ["weather", "a/b/c", "a b/c"])
    expect(() => serverWith({ SERVER_REGISTERED: wrong })).toThrow(/SERVER_REGISTERED/);
});

test("the proof of the domain is shown as it is, where there is one", async () => {
  const path = "/.well-known/mcp-registry-auth";
  const proof = "v=MCPv1; k=ed25519; p=yvEaf9FIkDBAYq8QLLOWrQ2OHPpQOKgyAHHKp0CZqKI=";
  // As the registry asks.
  const headers = { accept: "text/plain", "user-agent": "mcp-registry/1.0" };
  const shown = await get(path, { settings: { REGISTRY_PROOF: proof }, headers });
  expect([shown.response.status, shown.text]).toEqual([200, proof]);
  expect(shown.response.headers.get("content-type")).toMatch(/^text\/plain/);
  expect((await get(path, { headers })).response.status).toBe(404);
  for (const wrong of ["", "p=abc", `${proof}\n<script>`, "v=MCPv1; k=rsa; p=AAAA"])
    expect(() => serverWith({ REGISTRY_PROOF: wrong })).toThrow(/REGISTRY_PROOF/);
});

test("whoever has it already is told so", async () => {
  const { response } = await get(CARD);
  const etag = response.headers.get("etag")!;
  expect(response.headers.get("cache-control")).toBe("public, max-age=3600");
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const again = await get(CARD, { headers: { "if-none-match": known } });
    expect({ known, status: again.response.status, text: again.text }).toEqual({
      known,
      status: 304,
      text: "",
    });
    expect(again.response.headers.get("etag")).toBe(etag);
  }
  const changed = await get(CARD, {
    headers: { "if-none-match": etag },
    settings: { SERVER_VERSION: "9" },
  });
  expect(changed.response.status).toBe(200);
});

test.each(["https://app.example", "null", "chrome-extension://a"])(
  "pages of %s may read it",
  async (origin) => {
    const { response } = await get(CARD, { headers: { origin } });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    const asked = { origin, "access-control-request-method": "GET" };
    const preflight = await get(CARD, { headers: asked, method: "OPTIONS" });
    expect(preflight.response.status).toBe(204);
    expect(preflight.response.headers.get("access-control-allow-methods")).toBe("GET");
  },
);

test("nobody needs a key for it, and it says nothing of what is offered", async () => {
  const settings = { API_KEYS: JSON.stringify({ ada: "0".repeat(64) }) };
  const { response, text } = await get(CARD, { settings });
  expect(response.status).toBe(200);
  expect(text).not.toMatch(/greet|hello/);
  expect((await get(CARD, { settings, method: "POST" })).response.status).toBe(404);
  const head = await get(CARD, { method: "HEAD" });
  expect({ status: head.response.status, text: head.text }).toEqual({ status: 200, text: "" });
});

test("long words are cut to what a card may have, and hosts without a name have one", async () => {
  const settings = { SERVER_DESCRIPTION: "ä".repeat(300), SERVER_NAME: "my server!" };
  for (const host of ["localhost:8787", "127.0.0.1:8787", "[::1]:8787"]) {
    const { body } = await get(CARD, { settings, host });
    expect(body().description).toHaveLength(100);
    expect(body().name).toMatch(/^[a-zA-Z0-9.-]+\/my-server-$/);
  }
});
