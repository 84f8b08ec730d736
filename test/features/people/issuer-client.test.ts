import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { Provider } from "../../../src/server/kernel/auth/account-provider.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { IssuerClient } from "../../../src/server/features/people/issuer-client.ts";
import {
  ACCOUNT_TABLES,
  PersonAccounts,
  type IssuerClients,
} from "../../../src/server/features/people/person-accounts.ts";
import { clock, prepare } from "../../worker/calls/client.ts";
import { AuthorizationServer, ISSUER, METADATA, RESOURCE } from "./authorization-server.ts";

/** This server as a client at issuers that are hostile, broken, or in a private network. */
prepare();

const key = { id: 1, bytes: new Uint8Array(32) };
const sealer = new Sealer({ current: () => key, byId: () => key, lasting: () => key.bytes });
const ORIGIN = "https://server.example";
const REGISTER = `${ISSUER}/register`;

interface At {
  client: IssuerClient;
  sql: SqlStorage;
  /** The client as after a restart. */
  again(): IssuerClient;
  stored(): unknown;
}

/** Works with the client of an issuer, whose object is new. */
async function clientAt(
  work: (at: At) => Promise<void>,
  { issuer = ISSUER, isSelfHosted = false } = {},
): Promise<void> {
  const object = env.SCRATCH!.getByName(crypto.randomUUID());
  await runInDurableObject(object, async (_object, { storage: { kv, sql } }) => {
    const at = { issuer, origin: ORIGIN };
    const again = () => new IssuerClient(at, { kv, sealer, title: "Servlets", isSelfHosted });
    await work({ client: again(), sql, again, stored: () => [...kv.list()] });
  });
}

const page = (text: string) => new Response(text, { headers: { "content-type": "text/html" } });

describe("metadata is refused", () => {
  test.each<[what: string, change: object, message: RegExp]>([
    ["of another issuer", { issuer: "https://evil.example" }, /that of another issuer, "https:/],
    ["without an issuer", { issuer: undefined }, /is not valid: issuer /],
    ["without a token endpoint", { token_endpoint: undefined }, /not valid: token_endpoint /],
    ["with a number as an endpoint", { token_endpoint: 7 }, /not valid: token_endpoint /],
    [
      "with an authorization endpoint that is a script",
      { authorization_endpoint: "javascript:alert(1)" },
      /authorization_endpoint is "javascript:alert\(1\)", which is not an https URL/,
    ],
    [
      "with a token endpoint by plain http",
      { token_endpoint: "http://auth.example/token" },
      /token_endpoint is "http:\/\/auth.example\/token", which is not an https URL/,
    ],
    [
      "with a user name in an endpoint",
      { token_endpoint: "https://auth.example@evil.example/token" },
      /which is not an https URL/,
    ],
    [
      "with an endpoint on this machine",
      { token_endpoint: "http://127.0.0.1:6379/" },
      /token_endpoint is on "127.0.0.1:6379", which is in a private network/,
    ],
    [
      "with an endpoint in a private network, whose name ends with a dot",
      { registration_endpoint: "https://router.lan./" },
      /registration_endpoint is on "router.lan.", which is in a private network/,
    ],
    [
      "with a revocation endpoint at the metadata service of a cloud",
      { revocation_endpoint: "https://169.254.169.254/latest" },
      /revocation_endpoint is on "169.254.169.254", which is in a private network/,
    ],
    [
      "without PKCE",
      { code_challenge_methods_supported: undefined },
      /does not name PKCE with S256/,
    ],
    ["with plain PKCE", { code_challenge_methods_supported: ["plain"] }, /PKCE with S256/],
    [
      "with an endless URL",
      { token_endpoint: `https://auth.example/${"x".repeat(4000)}` },
      /not valid/,
    ],
  ])("%s", async (_what, change, message) => {
    const issuer = new AuthorizationServer();
    Object.assign(issuer.metadata, change);
    await clientAt(async ({ client, stored }) => {
      await expect(client.find()).rejects.toThrow(message);
      expect(issuer.sent.map(({ url }) => url)).toEqual([METADATA]);
      expect(stored()).toEqual([]);
    });
  });

  test.each<[what: string, answer: () => Response, message: RegExp]>([
    ["behind a redirect", () => Response.redirect("https://evil.example/", 302), /not followed/],
    ["that is a page", () => page("<html>"), /publishes no metadata/],
    ["that is no object", () => Response.json([1]), /publishes no metadata/],
    ["that is too large", () => page(" ".repeat(300_000)), /cannot be reached/],
    ["that fails", () => new Response("", { status: 500 }), /publishes no metadata/],
  ])("%s", async (_what, answer, message) => {
    const issuer = new AuthorizationServer();
    issuer.instead[METADATA] = answer;
    await clientAt(async ({ client }) => {
      await expect(client.find()).rejects.toThrow(message);
    });
    expect(issuer.sent.every(({ url }) => url.startsWith(`${ISSUER}/.well-known/`))).toBe(true);
  });

  test("that never ends, when the time is over, also where the request does not settle", async () => {
    const issuer = new AuthorizationServer();
    const late = new AbortController();
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(late.signal);
    issuer.instead[METADATA] = () => {
      late.abort();
      return new Promise(() => {});
    };
    await clientAt(async ({ client }) => {
      await expect(client.find()).rejects.toThrow("The issuer auth.example cannot be reached.");
    });
  });
});

test("metadata is found at each address that MCP names, for an issuer with a path", async () => {
  const at = `${ISSUER}/tenant`;
  const addresses = [
    `${ISSUER}/.well-known/oauth-authorization-server/tenant`,
    `${ISSUER}/.well-known/openid-configuration/tenant`,
    `${ISSUER}/tenant/.well-known/openid-configuration`,
  ];
  for (const [nth, address] of addresses.entries()) {
    const issuer = new AuthorizationServer();
    issuer.instead[address] = () => Response.json({ ...issuer.metadata, issuer: at });
    await clientAt(
      async ({ client }) => {
        expect(await client.metadata()).toMatchObject({ issuer: at });
        expect(issuer.sent.map(({ url }) => url)).toEqual(addresses.slice(0, nth + 1));
      },
      { issuer: at },
    );
  }
});

test("metadata is kept without what does not matter here, however much there is", async () => {
  const issuer = new AuthorizationServer();
  const many = Array.from({ length: 3000 }, (_, nth) => `value-${nth}`);
  for (const name of [
    "scopes_supported",
    "code_challenge_methods_supported",
    "token_endpoint_auth_methods_supported",
    "id_token_signing_alg_values_supported",
  ])
    issuer.metadata[name] = [...(issuer.metadata[name] ?? []), ...many];
  issuer.metadata["more"] = many;
  await clientAt(async ({ client }) => {
    const { metadata } = await client.find();
    expect(metadata).toMatchObject({
      scopes_supported: ["offline_access"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    });
    expect(JSON.stringify(metadata).length).toBeLessThan(1500);
  });
});

test("metadata is fetched once in its time, and a failure once in a shorter one", async () => {
  const issuer = new AuthorizationServer();
  const { token_endpoint } = issuer.metadata;
  delete issuer.metadata["token_endpoint"];
  await clientAt(async ({ client }) => {
    const all = Array.from({ length: 1000 }, () => client.find());
    const refused = (await Promise.allSettled(all)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(1000);
    issuer.metadata["token_endpoint"] = token_endpoint;
    await expect(client.find()).rejects.toThrow("token_endpoint");
    clock.aheadMs = limits.issuerFailureMs;
    await client.find();
    clock.aheadMs += limits.keySetMs - 1000;
    await client.find();
    expect(issuer.sent.filter(({ url }) => url === METADATA)).toHaveLength(2);
    clock.aheadMs += 2000;
    await client.find();
    expect(issuer.sent.filter(({ url }) => url === METADATA)).toHaveLength(3);
  });
});

test("an issuer in a private network is reached by a self-hosted server, which is told of the option by others", async () => {
  const local = "https://auth.internal";
  const issuer = new AuthorizationServer();
  const names = ["authorization", "token", "registration", "revocation"];
  for (const name of names) issuer.metadata[`${name}_endpoint`] = `${local}/${name}`;
  issuer.metadata["issuer"] = local;
  issuer.instead[`${local}/.well-known/oauth-authorization-server`] = () =>
    Response.json(issuer.metadata);
  await clientAt(({ client }) => expect(client.metadata()).rejects.toThrow("--private-network"), {
    issuer: local,
  });
  expect(issuer.sent).toEqual([]);
  const at = { issuer: local, isSelfHosted: true };
  await clientAt(async ({ client }) => {
    expect(await client.metadata()).toMatchObject({ token_endpoint: `${local}/token` });
  }, at);
});

test("a self-hosted server is not led into its network by an issuer of the internet", async () => {
  const issuer = new AuthorizationServer();
  issuer.metadata["token_endpoint"] = "https://router.lan/";
  await clientAt(({ client }) => expect(client.find()).rejects.toThrow("private network"), {
    isSelfHosted: true,
  });
});

describe("a registration", () => {
  test("is one for a thousand callers at once, and after a restart, and is sealed", async () => {
    const issuer = new AuthorizationServer();
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"];
    await clientAt(async ({ client, again, stored }) => {
      const all = await Promise.all(Array.from({ length: 1000 }, () => client.find()));
      const ids = new Set(all.map((one) => one.client.id));
      expect(ids.size).toBe(1);
      expect(all[0]!.client.secret).toMatch(/^secret of client-/);
      expect((await again().find()).client).toEqual(all[0]!.client);
      expect(issuer.requestsTo("/register")).toHaveLength(1);
      expect(stored()).toHaveLength(1);
      expect(JSON.stringify(stored())).not.toContain("client-1");
    });
  });

  test.each<[what: string, answer: () => Response, message: RegExp]>([
    [
      "a page",
      () => page("<html>"),
      /did not register this server\. The operator of this server must/,
    ],
    ["no client_id", () => Response.json({}, { status: 201 }), /did not register/],
    [
      "a client_id that is no text",
      () => Response.json({ client_id: { a: 1 } }),
      /did not register/,
    ],
    [
      "a client_id with a line break",
      () => Response.json({ client_id: "a\r\nb" }),
      /did not register/,
    ],
    [
      "a client_secret that is no text",
      () => Response.json({ client_id: "a", client_secret: ["b"] }),
      /did not register/,
    ],
    [
      "a method that this server lacks",
      () => Response.json({ client_id: "a", token_endpoint_auth_method: "private_key_jwt" }),
      /did not register/,
    ],
    [
      "an error",
      () => Response.json({ error: "invalid_redirect_uri" }, { status: 400 }),
      /did not register this server \(invalid_redirect_uri\)/,
    ],
    [
      "an error that is a page",
      () => Response.json({ error: "<script>" }, { status: 400 }),
      /did not register this server\. /,
    ],
    ["a redirect", () => Response.redirect("https://evil.example/", 307), /did not register/],
    ["too much", () => page(" ".repeat(300_000)), /did not register this server\. Try again/],
  ])(
    "that is answered with %s is not kept, nor asked for by the next callers",
    async (_what, answer, message) => {
      const issuer = new AuthorizationServer();
      issuer.instead[REGISTER] = answer;
      await clientAt(async ({ client, stored }) => {
        for (let nth = 0; nth < 3; nth++) await expect(client.find()).rejects.toThrow(message);
        expect(issuer.requestsTo("/register")).toHaveLength(1);
        expect(issuer.sent.every(({ url }) => url.startsWith(ISSUER))).toBe(true);
        expect(stored()).toEqual([]);
        delete issuer.instead[REGISTER];
        clock.aheadMs = limits.issuerFailureMs;
        expect((await client.find()).client.id).toMatch(/^client-/);
      });
    },
  );

  test("that its issuer refuses is made anew, but not before it has an age", async () => {
    const issuer = new AuthorizationServer();
    await clientAt(async ({ client }) => {
      const first = await client.find();
      await client.drop(first.client.id);
      expect(await client.find()).toEqual(first);
      clock.aheadMs = limits.newRegistrationMs;
      await client.drop("another");
      expect(await client.find()).toEqual(first);
      await Promise.all([client.drop(first.client.id), client.drop(first.client.id)]);
      const all = await Promise.all(Array.from({ length: 50 }, () => client.find()));
      expect(new Set(all.map((one) => one.client.id)).size).toBe(1);
      expect(issuer.requestsTo("/register")).toHaveLength(2);
    });
  });

  test("with a secret that has expired already is used: another would be the same", async () => {
    const issuer = new AuthorizationServer();
    issuer.registration = { client_secret: "s", client_secret_expires_at: 1 };
    await clientAt(async ({ client, again }) => {
      for (const one of [client, client, again()]) await one.find();
      expect(issuer.requestsTo("/register")).toHaveLength(1);
    });
  });

  test("needs a way to authenticate that both have", async () => {
    const issuer = new AuthorizationServer();
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"];
    await clientAt(({ client }) =>
      expect(client.find()).rejects.toThrow("supports no way to authenticate that this server has"),
    );
  });
});

const GRANT = {
  servlet: "mail",
  account: "remote",
  scopes: ["read"],
  hosts: ["mcp.example"],
  issuer: ISSUER,
  resource: RESOURCE,
};
const REDIRECT = { redirectUri: `${ORIGIN}/account/callback/-`, back: "/" };

/** A person's accounts, at the providers of ACCOUNTS and by the client of this server. */
async function accountsAt(
  work: (at: { accounts: PersonAccounts; providers: Map<string, Provider> }) => Promise<void>,
): Promise<void> {
  await clientAt(async ({ client, sql }) => {
    const clients: IssuerClients = {
      issuerMetadata: () => client.metadata(),
      clientAt: () => client.find(),
      dropClient: (_at, id) => client.drop(id),
    };
    sql.exec(ACCOUNT_TABLES);
    const providers = new Map<string, Provider>();
    const signedIn = async () => undefined;
    const accounts = new PersonAccounts(() => ({ sql, sealer, providers, clients, signedIn }));
    await work({ accounts, providers });
  });
}

const configured = new Provider(
  "remote",
  {
    issuer: "https://other.example",
    client_id: "by-hand",
    auth: "basic",
    scopes: [],
    params: {},
    authorization_endpoint: "https://other.example/authorize",
    token_endpoint: "https://other.example/token",
  },
  undefined,
);

describe("an account", () => {
  test("is of the provider in ACCOUNTS, which wins over the issuer, for the same resource", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts, providers }) => {
      providers.set("remote", configured);
      const url = new URL(await accounts.begin(GRANT, REDIRECT));
      expect(url.origin).toBe("https://other.example");
      expect(url.searchParams.get("client_id")).toBe("by-hand");
      expect(url.searchParams.get("resource")).toBe(RESOURCE);
      expect(issuer.sent).toEqual([]);
    });
  });

  test("that was connected at the issuer is not used when ACCOUNTS gets another provider", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts, providers }) => {
      await accounts.finish(await issuer.authorize(await accounts.begin(GRANT, REDIRECT)));
      expect(await accounts.token(GRANT)).toEqual({ value: expect.stringMatching(/^access-/) });
      providers.set("remote", configured);
      expect(await accounts.token(GRANT)).toEqual({ value: undefined });
    });
  });

  test("is for the issuer and the resource that its page has shown", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts }) => {
      await accounts.finish(await issuer.authorize(await accounts.begin(GRANT, REDIRECT)));
      for (const other of [
        { ...GRANT, issuer: "https://evil.example" },
        { ...GRANT, resource: "https://mcp.example/other" },
      ])
        expect(await accounts.token(other)).toEqual({ value: undefined });
      expect(await accounts.token(GRANT)).toEqual({ value: expect.stringMatching(/^access-/) });
    });
  });

  test("is not connected by a client that the issuer refuses, and says so", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts }) => {
      const back = await issuer.authorize(await accounts.begin(GRANT, REDIRECT));
      issuer.clients.clear();
      expect(await accounts.finish(back)).toMatchObject({
        isConnected: false,
        failure: expect.stringContaining("did not grant access (invalid_client)"),
      });
    });
  });

  test("is not connected by a token that is no bearer token", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts }) => {
      const back = await issuer.authorize(await accounts.begin(GRANT, REDIRECT));
      issuer.instead[`${ISSUER}/token`] = () =>
        Response.json({ access_token: "bound-to-a-key", token_type: "DPoP" });
      expect(await accounts.finish(back)).toMatchObject({ isConnected: false });
      expect(await accounts.token(GRANT)).toEqual({ value: undefined });
    });
  });

  test("whose revocation endpoint has moved to another host is not revoked there", async () => {
    const issuer = new AuthorizationServer();
    await accountsAt(async ({ accounts }) => {
      await accounts.finish(await issuer.authorize(await accounts.begin(GRANT, REDIRECT)));
      issuer.metadata["revocation_endpoint"] = "https://evil.example/revoke";
      clock.aheadMs = limits.keySetMs;
      await accounts.disconnect(GRANT);
      expect(issuer.sent.filter(({ url }) => url.includes("revoke"))).toEqual([]);
      expect(await accounts.all()).toEqual([]);
    });
  });
});
