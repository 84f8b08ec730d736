import { rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { resolve as absolute } from "node:path";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import Provider from "oidc-provider";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { hashPassphrase } from "../../../../src/server/kernel/auth/passphrase.ts";
import { host, project } from "../../../node/host/hosting.ts";
import { freePort, stop } from "../../../node/workerd.ts";
import { browse, CALLBACK, credentials, type Provided } from "../../../node/http/oauth-client.ts";
import { textOf } from "../../../node/http/official.ts";
import { serveTests } from "../../../node/http/serving.ts";

/** The official clients sign in, from nothing but the server's URL, over real HTTP. */
const ISSUER_PORT = await freePort();
const SERVER_PORT = await freePort();
const ISSUER = `http://127.0.0.1:${ISSUER_PORT}`;
const PASSPHRASE = "correct horse battery";

interface Place {
  url: URL;
  issuer: string;
  /** The person's form data. */
  answers: Record<string, string>;
  principal: RegExp;
  close(): Promise<unknown>;
}

/** The server is its own authorization server, hosted on a machine of one's own: what it grants is on disk. */
async function own(): Promise<Place> {
  const folder = await project();
  const variables = { OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE) };
  const server = await host(folder, { variables, args: ["--worker", absolute(inject("worker"))] });
  return {
    url: server.url,
    issuer: server.url.origin,
    answers: { passphrase: PASSPHRASE, decision: "allow" },
    principal: /^owner$/,
    async close() {
      await server.end();
      await rm(folder, { recursive: true });
    },
  };
}

/** Tokens are another server's, which knows no more of this one than its URL. */
async function independent(): Promise<Place> {
  const url = new URL(`http://127.0.0.1:${SERVER_PORT}/mcp`);
  const getResourceServerInfo = (_context: unknown, audience: string) => ({
    scope: "tools",
    audience,
    accessTokenFormat: "jwt",
    jwt: { sign: { alg: "RS256" } },
  });
  const provider = new Provider(ISSUER, {
    scopes: ["openid", "offline_access", "tools"],
    features: {
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo, useGrantedResource: () => true },
    },
    issueRefreshToken: () => true,
  });
  const server = await new Promise<Server>((resolve) => {
    const made = createServer(provider.callback());
    made.listen(ISSUER_PORT, "127.0.0.1", () => resolve(made));
  });
  const issuers = [{ issuer: ISSUER, required_scopes: ["tools"] }];
  const variables = { OAUTH_ISSUERS: JSON.stringify(issuers) };
  const served = await serveTests({ port: SERVER_PORT, variables, durable: true });
  return {
    url,
    issuer: ISSUER,
    answers: { login: "ada", password: "lovelace" },
    principal: new RegExp(`^${ISSUER} ada$`),
    async close() {
      await stop(served);
      server.closeAllConnections();
      server.close();
    },
  };
}

const info = { name: "test", version: "1.0.0" };

/** A new client and its transport, with what the person granted to it. */
const clients = {
  "@modelcontextprotocol/client (v2)": (url: URL, authProvider: Provided) => {
    const client = new ClientV2(info, { versionNegotiation: { mode: "auto" } });
    const transport = new TransportV2(url, { authProvider });
    return {
      connect: () => client.connect(transport),
      finish: (back: URL) => transport.finishAuth(back.searchParams),
      call: (name: string) => client.callTool({ name }),
      close: () => client.close(),
    };
  },
  "@modelcontextprotocol/sdk (v1)": (url: URL, authProvider: Provided) => {
    const client = new ClientV1(info);
    const transport = new TransportV1(url, { authProvider });
    return {
      connect: () => client.connect(transport as Transport),
      finish: (back: URL) => transport.finishAuth(back.searchParams.get("code")!),
      call: (name: string) => client.callTool({ name }),
      close: () => client.close(),
    };
  },
};

describe.each(Object.entries({ own, independent }))("%s", (_place, open) => {
  let place: Place;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());

  const pasted = Object.entries(clients).flatMap(([name, make]) =>
    ["/mcp", "/mcp/", "/mcp/support"].map((path) => [name, path, make] as const),
  );

  test.each(pasted)("%s: signs in at %s, calls, renews", async (_client, path, make) => {
    const url = new URL(path, place.url);
    const { provider, asked, tokens, spoil } = credentials();
    const first = make(url, provider);
    await expect(first.connect()).rejects.toThrow();
    expect(asked().origin).toBe(place.issuer);
    expect(asked().searchParams.get("resource")).toBe(url.href);
    const back = await browse(asked(), place.answers);
    expect(back.href).toContain(CALLBACK);
    await first.finish(back);
    const client = make(url, provider);
    await client.connect();
    const principal = async () => {
      const echoed = JSON.parse(textOf(await client.call("echo_input")));
      return echoed.context.client.principal;
    };
    expect(await principal()).toMatch(place.principal);
    const before = tokens()?.access_token;
    spoil();
    expect(await principal()).toMatch(place.principal);
    expect(tokens()?.access_token).not.toBe(before);
    await client.close();
  });

  test.each(Object.entries(clients))(
    "%s: a profile's token is good there alone",
    async (_name, make) => {
      const url = new URL("/mcp/support", place.url);
      const { provider, asked, tokens } = credentials();
      const first = make(url, provider);
      await expect(first.connect()).rejects.toThrow();
      await first.finish(await browse(asked(), place.answers));
      const client = make(url, provider);
      await client.connect();
      expect(textOf(await client.call("greet"))).toContain("Ada");
      await client.close();
      const headers = {
        authorization: `Bearer ${tokens()!.access_token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      for (const path of ["/mcp", "/mcp/plans"]) {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
        const response = await fetch(new URL(path, place.url), { method: "POST", headers, body });
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toContain(
          `/.well-known/oauth-protected-resource${path}`,
        );
      }
    },
  );

  test("a web page of localhost may read the metadata and the challenge", async () => {
    const headers = { origin: "http://localhost:6274" };
    const refused = await fetch(place.url, { method: "POST", headers });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
    const path = "/.well-known/oauth-protected-resource/mcp";
    const metadata = await fetch(new URL(path, place.url), { headers });
    expect(metadata.headers.get("access-control-allow-origin")).toBe(headers.origin);
    expect(await metadata.json()).toMatchObject({ authorization_servers: [place.issuer] });
  });
});
