import { hash } from "node:crypto";
import type { RequestListener } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import Provider from "oidc-provider";
import { afterAll, describe, expect, test, vi } from "vitest";
import { PersonBrowser } from "../../../node/http/account-provider.ts";
import { serving } from "../../../node/http/serving.ts";
import { closed, listening, tokenIn } from "../../../node/http/stand-in.ts";
import { freePort } from "../../../node/workerd.ts";

/** A real authorization server, at which this server makes itself a client by each of the two ways. */

type Json = Record<string, any>;

const [ISSUER, RESOURCE, PUBLIC] = [
  "https://auth.example",
  "https://mcp.example/mcp",
  "https://servlets.example",
];
const [issuerPort, port, publicPort] = [await freePort(), await freePort(), await freePort()];

/** Sends a request for a host of the tests to the port that serves it. */
const routed = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { host, pathname, search } = url;
  const to = { "auth.example": issuerPort, "servlets.example": publicPort }[host];
  if (to === undefined) return fetchNow(input, init);
  const headers = new Headers(init.headers);
  headers.set("x-test-host", host);
  return fetchNow(`http://127.0.0.1:${to}${pathname}${search}`, { ...init, headers });
};
const fetchNow = globalThis.fetch;
vi.spyOn(globalThis, "fetch").mockImplementation(routed);
afterAll(() => vi.restoreAllMocks());

const provider = new Provider(ISSUER, {
  scopes: ["read", "offline_access"],
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "read", accessTokenFormat: "opaque" }),
      useGrantedResource: () => true,
    },
  },
  // Without the provider's own dispatcher, which refuses addresses of this machine.
  fetch: async (input: string | URL | Request) => routed(input),
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  pkce: { required: () => true },
});
provider.proxy = true;
const registered: unknown[] = [];
provider.on("registration_create.success", (_context, client) => registered.push(client));

const sites = provider.callback();
const served: RequestListener = (request, response) => {
  const host = String(request.headers["x-test-host"] ?? request.headers.host);
  if (host === "auth.example") {
    request.headers["x-forwarded-proto"] = "https";
    request.headers["x-forwarded-host"] = host;
    sites(request, response);
    return;
  }
  void (async () => {
    const known = await provider.AccessToken.find(tokenIn(request) ?? "");
    if (known === undefined || known.aud !== RESOURCE) return response.writeHead(401).end("Who?");
    return response.end(`The mail of ${known.accountId}, to ${known.scope}`);
  })();
};
const internet = await listening(served, issuerPort);
afterAll(() => closed(internet));

const keyOf = (name: string) => `key-of-${name}`;
const variables = {
  API_KEYS: JSON.stringify(
    Object.fromEntries(["ada", "eve"].map((name) => [name, hash("sha256", keyOf(name))])),
  ),
  TEST_LIMITS: JSON.stringify({ accountFreshMs: 0, resultWaitMs: 100 }),
};
const local = await serving({ port, internet: issuerPort, variables });
const open = await serving({
  port: publicPort,
  internet: issuerPort,
  variables: { ...variables, PUBLIC_URL: PUBLIC },
});

/** A request of somebody with the account, which they connect if need be; what it says. */
async function mailOf(name: string, at = local) {
  const headers = { authorization: `Bearer ${keyOf(name)}` };
  const call = async (tool: string, args: Json) => {
    const client = new Client(
      { name: "plain", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(new StreamableHTTPClientTransport(at.url, { requestInit: { headers } }));
    const { structuredContent } = (await client.callTool({ name: tool, arguments: args })) as Json;
    await client.close();
    return structuredContent as Json;
  };
  const step = { do: "http", url: RESOURCE, account: "remote" };
  const { said, id, url } = await call("plan", { steps: [step] });
  if (said !== undefined) return said[0];
  const answers = {
    credential: keyOf(name),
    decision: "accept",
    login: name,
    password: "any",
  };
  const end = await new PersonBrowser().go(url, answers);
  expect(end.text).toContain("Thank you");
  return vi.waitFor(async () => {
    const result = await call("get_result", { id });
    expect(result).toHaveProperty("said");
    return result["said"][0];
  }, 20_000);
}

describe("oidc-provider", () => {
  test("registers this server once, and its tokens are renewed after a crash of this server", async () => {
    for (const name of ["ada", "eve"])
      expect(await mailOf(name)).toEqual([200, `The mail of ${name}, to read`]);
    expect(registered).toHaveLength(1);
    await local.restart();
    const tokens = vi.spyOn(provider.AccessToken, "find");
    tokens.mockResolvedValueOnce(undefined);
    expect(await mailOf("ada")).toEqual([200, "The mail of ada, to read"]);
    expect(tokens).toHaveBeenCalledTimes(2);
    expect(registered).toHaveLength(1);
  });

  test("takes the document of this server", async () => {
    expect(await mailOf("ada", open)).toEqual([200, "The mail of ada, to read"]);
    expect(registered).toHaveLength(1);
  });
});
