import { createHash } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { serving } from "../http/serving.ts";
import { freePort } from "../workerd.ts";
import { examined, lineOf } from "./examining.ts";

/** `npm run servlets -- doctor` against this server, on workerd. */

/** Streams are kept alive so often that nobody waits for it. */
const TEST_LIMITS = JSON.stringify({ listenKeepAliveMs: 30 });
const PATIENT = { listenMs: 60_000, firstMs: 60_000 };
const KEY = "esk_of-the-operator";
const hash = createHash("sha256").update(KEY).digest("hex");
const API_KEYS = JSON.stringify({ op: { hash, scopes: ["operator", "*:*"] } });

const open = await serving({ variables: { TEST_LIMITS } });
const keyed = await serving({ variables: { TEST_LIMITS, API_KEYS } });
const signIn = await serving({
  variables: {
    TEST_LIMITS,
    API_KEYS,
    OWNER_PASSPHRASE: await hashPassphrase("correct horse battery"),
  },
  kv: ["OAUTH_KV"],
});
const named = await serving({
  variables: { TEST_LIMITS, API_KEYS, PUBLIC_URL: "https://tools.example.com" },
  objects: { KEY_RING: "KeyRing", USAGE: "Usage" },
});

/** A server whose tokens are issued by another one, at which clients register and are deleted again. */
async function withIssuer(knowsResource: boolean) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const getResourceServerInfo = () => ({ scope: "", accessTokenFormat: "jwt" });
  const provider = new Provider(issuer, {
    features: {
      registration: { enabled: true },
      registrationManagement: { enabled: true },
      resourceIndicators: { enabled: true, ...(knowsResource && { getResourceServerInfo }) },
    },
  });
  const server = createServer(provider.callback());
  beforeAll(() => new Promise<void>((done) => void server.listen(port, "127.0.0.1", done)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return serving({ variables: { TEST_LIMITS, OAUTH_ISSUERS: JSON.stringify([{ issuer }]) } });
}

const elsewhere = await withIssuer(true);
const unknown = await withIssuer(false);

const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

test("an open server has no faults, and all its revisions, streams and a tool are tried", async () => {
  const found = await examined(open.url.href, { patience: PATIENT });
  expect(found.wrong).toEqual([]);
  expect(found.code).toBe(0);
  for (const revision of REVISIONS)
    expect(lineOf(found, `MCP ${revision}`)).toMatch(/^right.*with \d+ tools\.$/);
  expect(lineOf(found, "Call")).toMatch(/^right {2}Call: The tool \S+, which only reads, answers/);
  for (const stream of ["Stream of a session", "Stream of subscriptions"])
    expect(lineOf(found, stream)).toMatch(/^right.*and a keep-alive after/);
  expect(lineOf(found, "Sign-in")).toMatch(/^not tried.*needs none/);
  expect(lineOf(found, "User agents")).toMatch(/^right.*Claude.*status 200/);
});

describe("a server with keys", () => {
  test("is tried with one, and says to its operator that all is bound", async () => {
    const found = await examined(keyed.url.href, { key: KEY, patience: PATIENT });
    expect(found.wrong).toEqual([]);
    expect(lineOf(found, "Key")).toMatch(/^right/);
    expect(lineOf(found, "MCP 2026-07-28")).toMatch(/^right/);
    expect(lineOf(found, "Sign-in")).toMatch(/^not tried.*takes keys alone/);
    expect(found.lines.join("\n")).toMatch(/not tried {2}Bindings: BUILDS, LOADER are not bound/);
    expect(found.printed).not.toContain(KEY);
  });

  test("is not called without one, and says which to set", async () => {
    const found = await examined(keyed.url.href);
    expect(found.wrong).toEqual([]);
    for (const name of ["Calls", "Streams", "Bindings"])
      expect(lineOf(found, name)).toMatch(/^not tried.*EDGE_SERVLETS_KEY/);
  });

  test("does not know another, and says how to make one", async () => {
    const found = await examined(keyed.url.href, { key: "esk_wrong" });
    expect(found.wrong).toEqual([expect.stringMatching(/Key: .*npm run keys -- create/)]);
    expect(found.code).toBe(1);
  });
});

describe("a server with a passphrase", () => {
  test.each(["/mcp", "/mcp/", "/mcp/support"])("takes all known clients at %s", async (path) => {
    const url = new URL(path, signIn.url);
    const found = await examined(url.href);
    expect(found.wrong).toEqual([]);
    for (const app of ["Claude", "ChatGPT", "Cursor", "VS Code", "mcp-remote"])
      expect(lineOf(found, app)).toMatch(/^right.*gets the sign-in page/);
    for (const name of ["WWW-Authenticate", "PKCE", "Client identity", "Foreign address"])
      expect(lineOf(found, name)).toMatch(/^right/);
    expect(lineOf(found, "Authorization server")).toContain("at all places where clients look");
  });
});

describe("a server whose people sign in elsewhere", () => {
  test("is followed there, and the clients are deleted again", async () => {
    const found = await examined(elsewhere.url.href);
    expect(found.wrong).toEqual([]);
    for (const app of ["Claude", "ChatGPT", "Cursor", "VS Code", "mcp-remote"])
      expect(lineOf(found, app)).toMatch(/^right.*gets the sign-in page/);
    expect(lineOf(found, "Registered clients")).toContain("are deleted again");
  });

  test("is said to be unknown there, once", async () => {
    const found = await examined(unknown.url.href);
    expect(found.wrong).toEqual([
      expect.stringMatching(
        /Resource: .* issues no tokens for http:\S+\/mcp .* Add this URL there/,
      ),
    ]);
  });
});

test("a server that is told another public URL, and lacks bindings, says so to its operator", async () => {
  const found = await examined(named.url.href, { key: KEY, patience: PATIENT });
  expect(lineOf(found, "Public URL")).toMatch(
    /^wrong.*PUBLIC_URL is https:\/\/tools\.example\.com/,
  );
  expect(found.lines.join("\n")).toMatch(/Bindings: SESSIONS, HUBS are not bound, so this is off/);
  expect(lineOf(found, "Stream of a session")).toMatch(/^not tried.*SESSIONS and HUBS/);
});
