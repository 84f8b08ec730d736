import { createPrivateKey, createPublicKey, hash, sign, verify } from "node:crypto";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { registryCommand } from "../../../../src/tools/commands/registry.ts";
import { serving } from "../../http/serving.ts";

/** `npm run registry`, as an operator runs it, against servers of this project that say that they are elsewhere. */

const named = {
  SERVER_NAME: "weather",
  SERVER_TITLE: "Weather",
  SERVER_VERSION: "1.2.3",
  SERVER_DESCRIPTION: "Tells the weather",
  SERVER_WEBSITE: "https://example.com/",
  PUBLIC_URL: "https://tools.example.com",
  TEST_SERVLETS: "hello",
};
const icons = [
  { src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] },
  { src: "data:image/png;base64,AAAA" },
];
const open = await serving({ variables: { ...named, SERVER_ICONS: JSON.stringify(icons) } });
const keyed = await serving({
  variables: {
    ...named,
    SERVER_REGISTERED: "io.github.ada/weather",
    API_KEYS: JSON.stringify({ ada: { hash: hash("sha256", "key-of-ada") } }),
  },
});

let folder: string;
let proof = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "registry-"));
});

/** Runs the command, for which the servers' public name leads to one of them. */
function registry(
  args: string[],
  { at = open, answers = {} as Record<string, () => Response> } = {},
) {
  const reach = async (url: string, init: RequestInit) => {
    const { pathname } = new URL(url);
    const answer = answers[pathname];
    if (answer !== undefined) return answer();
    if (pathname.endsWith("mcp-registry-auth") && proof !== "") return new Response(proof);
    return fetch(new URL(pathname, at.url), init);
  };
  return registryCommand(args, { folder, fetch: reach as typeof fetch });
}

const written = async () => JSON.parse(await readFile(join(folder, "server.json"), "utf8")) as any;
const URL_ = "https://tools.example.com/mcp";

test("server.json says what the server says, and the key pair is kept", async () => {
  const said = await registry([URL_]);
  expect(await written()).toEqual({
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: "com.example.tools/weather",
    title: "Weather",
    version: "1.2.3",
    description: "Tells the weather",
    websiteUrl: "https://example.com/",
    icons: [icons[0]],
    remotes: [{ type: "streamable-http", url: "https://tools.example.com/mcp" }],
  });
  expect(said).toContain("Left out 1 of its icons");
  const shown = /REGISTRY_PROOF = "(v=MCPv1; k=ed25519; p=([A-Za-z0-9+/=]{44}))"/.exec(said)!;
  expect((await stat(join(folder, ".registry-key.pem"))).mode & 0o777).toBe(0o600);

  // What mcp-publisher signs by the key in hex is right by the public key that the domain shows.
  const seed = Buffer.from(await registry(["key"]), "hex");
  expect(seed).toHaveLength(32);
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const key = createPrivateKey({
    key: Buffer.concat([prefix, seed]),
    format: "der",
    type: "pkcs8",
  });
  const spki = Buffer.concat([
    Buffer.from("302a300506032b6570032100", "hex"),
    Buffer.from(shown[2]!, "base64"),
  ]);
  const known = createPublicKey({ key: spki, format: "der", type: "spki" });
  const now = Buffer.from(new Date().toISOString());
  expect(verify(null, now, known, sign(null, now, key))).toBe(true);

  // Once it is deployed.
  proof = `${shown[1]!}\n`;
  const again = await registry([URL_]);
  expect(again).toContain("mcp-publisher login http --domain tools.example.com --private-key");
  expect(again).not.toContain("REGISTRY_PROOF");
  proof = "";
});

test("what somebody added stays, and what the server says is said anew", async () => {
  const repository = { url: "https://github.com/ada/weather", source: "github" };
  const file = join(folder, "server.json");
  await writeFile(file, JSON.stringify({ repository, version: "0.0.1", title: "Old" }));
  await registry([URL_]);
  expect(await written()).toMatchObject({ repository, version: "1.2.3", title: "Weather" });
  await writeFile(file, "[1]");
  await expect(registry([URL_])).rejects.toThrow("is not a JSON object");
  expect(await readFile(file, "utf8")).toBe("[1]");
});

test("clients that need an API key are told of its header; the name says how to log in", async () => {
  const said = await registry([URL_], { at: keyed });
  expect(said).toContain("mcp-publisher login github\n");
  expect((await written()).remotes).toEqual([
    {
      type: "streamable-http",
      url: "https://tools.example.com/mcp",
      headers: [
        {
          name: "Authorization",
          value: "Bearer {key}",
          isRequired: true,
          isSecret: true,
          variables: {
            key: { description: "An API key of this server", isRequired: true, isSecret: true },
          },
        },
      ],
    },
  ]);
});

test("clients that can sign in are told of no header", async () => {
  const answers = {
    "/mcp": () => new Response("", { status: 401 }),
    "/.well-known/oauth-protected-resource/mcp": () =>
      Response.json({ authorization_servers: ["https://login.example.com"] }),
  };
  await registry([URL_], { answers });
  expect((await written()).remotes).toEqual([
    { type: "streamable-http", url: "https://tools.example.com/mcp" },
  ]);
});

describe("is refused with what to do, and nothing is written:", () => {
  const card = {
    name: "com.example/weather",
    version: "1.0.0",
    description: "A",
    remotes: [{ type: "streamable-http", url: "https://tools.example.com/mcp" }],
  };
  test.each([
    ["no command", [], {}, "npm run registry -- URL"],
    ["too much", [URL_, "b"], {}, "npm run registry -- URL"],
    ["no URL", ["tools"], {}, "Deploy it first"],
    ["a server on this machine", ["http://localhost:8787"], {}, "Deploy it first"],
    ["an unencrypted URL", ["http://tools.example.com"], {}, "Deploy it first"],
    ["a URL with a password", ["https://a:b@tools.example.com"], {}, "Deploy it first"],
    ["a key that is not there", ["key"], {}, "There is no .registry-key.pem here yet"],
    [
      "a server that is not there",
      [URL_],
      {
        card: () => {
          throw new TypeError("fetch failed", { cause: new Error("connection refused") });
        },
      },
      "/mcp/server-card cannot be read: connection refused",
    ],
    ["another server", [URL_], { card: () => new Response("", { status: 404 }) }, "status 404"],
    ["no card", [URL_], { card: () => new Response("<html>") }, "is not as the registry wants it"],
    ["no name", [URL_], { card: () => Response.json({ ...card, name: "a" }) }, "name"],
    [
      "a card without end",
      [URL_],
      { card: () => new Response("x".repeat(200_000)) },
      "100000 bytes",
    ],
    ...["latest", "^1.0.0", "1.x", "1.*", ">=1", "1 - 2"].map((version) => {
      const answer = () => Response.json({ ...card, version });
      return [`version ${version}`, [URL_], { card: answer }, "SERVER_VERSION"] as const;
    }),
  ] as const)("%s", async (_what, args, { card: answer }: { card?: () => Response }, message) => {
    const answers = answer && { "/mcp/server-card": answer };
    await expect(registry([...args], { answers })).rejects.toThrow(message);
    await expect(stat(join(folder, "server.json"))).rejects.toThrow("ENOENT");
    await expect(stat(join(folder, ".registry-key.pem"))).rejects.toThrow("ENOENT");
  });

  test.each(["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])(
    "a file of keys with %j",
    async (text) => {
      await writeFile(join(folder, ".registry-key.pem"), text);
      await expect(registry([URL_])).rejects.toThrow("is not a private key for Ed25519");
      expect(await readFile(join(folder, ".registry-key.pem"), "utf8")).toBe(text);
    },
  );
});

test("a domain that is not the server's host is proved by its DNS", async () => {
  const card = {
    name: "com.acme/weather",
    version: "1.0.0",
    description: "A",
    remotes: [{ type: "streamable-http", url: "https://tools.example.com/mcp" }],
  };
  const answers = { "/mcp/server-card": () => Response.json(card) };
  const said = await registry([URL_], { answers });
  expect(said).toMatch(/^ {2}acme\.com\. IN TXT "v=MCPv1; k=ed25519; p=[^"]+"$/m);
  expect(said).toContain("mcp-publisher login dns --domain acme.com");
});
