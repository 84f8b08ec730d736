import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { at, namesAt, profiled } from "../profiles.ts";
import { answerOf, post } from "../server.ts";
import { come, internet, ISSUER, key, pagesOf, prepare, RESOURCE, tokenOf } from "./issuer.ts";
import { CALLBACK, ORIGIN, PASSPHRASE, principalOf, visitor } from "./owner.ts";
import { send } from "./key-holders.ts";

/** Each profile is a resource of its own: who may use it, and by which tokens. */
prepare();

const digest = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

/** A server where this key has these scopes. */
async function keyed(scopes?: readonly string[], more: object = {}) {
  const entry = { hash: await digest("key"), ...(scopes && { scopes }) };
  return profiled({ API_KEYS: JSON.stringify({ key: entry }), ...more });
}

const greet = { name: "greet" };
const authorization = { authorization: "Bearer key" };

describe("an API key", () => {
  test("without scopes may use all", async () => {
    const server = await keyed();
    for (const one of [at("support", server), at("plans", server), server])
      expect((await send(one, "key", "tools/list")).status).toBe(200);
  });

  test.each([[["profile:support"]], [["profile:sup*"]], [["hello:x", "profile:*"]], [["helper"]]])(
    "with %j has all of the profile, and nothing else",
    async (scopes) => {
      const SCOPES = JSON.stringify({ helper: ["profile:support"] });
      const server = await keyed(scopes, { SCOPES });
      const there = await namesAt(at("support", server), authorization);
      expect(there).toEqual(await namesAt(at("support", profiled())));
      expect((await namesAt(server, authorization)).tools).not.toContain("greet");
      const call = await send(server, "key", "tools/call", { ...greet, arguments: { name: "A" } });
      expect(call.status).toBe(403);
    },
  );

  test.each([
    [[]],
    [["hello:greet"]],
    [["*:*"]],
    [["*:support"]],
    [["profile:plans"]],
    [["operator"]],
  ])("with %j is refused there, and told the scope that it lacks", async (scopes) => {
    const server = at("support", await keyed(scopes));
    const response = await send(server, "key", "tools/list");
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="profile:support"');
  });

  test("bound to a profile has nothing at Open Tool Calling", async () => {
    const server = await keyed(["profile:support"]);
    const listed = await server.fetch(
      new Request("http://localhost:8787/tools", { headers: authorization }),
    );
    expect(((await listed.json()) as { items: unknown[] }).items).toEqual([]);
  });

  test("bound to a profile operates nothing", async () => {
    const server = await keyed(["profile:support"]);
    const { status } = await server.fetch(
      new Request("http://localhost:8787/operator/state", { headers: authorization }),
    );
    expect(status).toBe(403);
  });
});

/** A server whose owner signs in. */
const owners = async (more: object = {}) =>
  profiled({ ...env, OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE), ...more });
const SUPPORT = `${ORIGIN}/mcp/support`;

describe("a grant of the server's own", () => {
  test("for a profile is good there alone", async () => {
    const guest = visitor(await owners());
    const { access_token: token } = await guest.signIn({ resource: `${SUPPORT}/` });
    expect(await principalOf(await guest.call(token, "/mcp/support"))).toBe("owner");
    for (const path of ["/mcp", "/mcp/plans"]) {
      const response = await guest.call(token, path);
      expect(response.status).toBe(401);
      const metadata = `${ORIGIN}/.well-known/oauth-protected-resource${path}`;
      expect(response.headers.get("www-authenticate")).toContain(`resource_metadata="${metadata}"`);
      expect((await guest.fetch(new URL(metadata).pathname)).status).toBe(200);
    }
    expect((await guest.call(token, "/tools")).status).toBe(401);
  });

  test("for a profile cannot be refreshed for anything else", async () => {
    const guest = visitor(await owners());
    const { client, refresh_token } = await guest.signIn({ resource: SUPPORT });
    const refresh = { grant_type: "refresh_token", refresh_token, client_id: client };
    for (const resource of [`${ORIGIN}/mcp`, `${ORIGIN}/mcp/plans`, ORIGIN])
      expect(await guest.tokens({ ...refresh, resource })).toMatchObject({
        status: 400,
        error: "invalid_target",
      });
    const renewed = await guest.tokens({ ...refresh, resource: SUPPORT });
    expect((await guest.call(renewed.access_token, "/mcp/support")).status).toBe(200);
    expect((await guest.call(renewed.access_token)).status).toBe(401);
  });

  test("for the whole server may use profiles if it has their scope, or no scopes", async () => {
    const guest = visitor(await owners());
    const status = async (scope: string, path: string) => {
      const { access_token: token } = await guest.signIn(scope === "" ? {} : { scope });
      return (await guest.call(token, path)).status;
    };
    expect(await status("", "/mcp/support")).toBe(200);
    expect(await status("profile:support", "/mcp/support")).toBe(200);
    expect(await status("profile:support", "/mcp/plans")).toBe(403);
    expect(await status("profile:support", "/mcp")).toBe(403);
    expect(await status("probe:*", "/mcp/support")).toBe(403);
  });

  test("for a profile, with less than that, has only what it asked for", async () => {
    const app = await owners();
    const guest = visitor(app);
    const { access_token: token } = await guest.signIn({ resource: SUPPORT, scope: "hello:greet" });
    expect((await guest.call(token, "/mcp/support")).status).toBe(403);
    const elsewhere = { fetch: (request: Request) => app.fetch(secure(request)) } as typeof app;
    const { tools, prompts } = await namesAt(elsewhere, { authorization: `Bearer ${token}` });
    expect([tools, prompts]).toEqual([["greet"], []]);
  });

  const secure = (request: Request) =>
    new Request(request.url.replace("http://localhost:8787", ORIGIN) + "/support", request);

  test("is asked for on a page that names the profile", async () => {
    const guest = visitor(await owners());
    const client = await guest.register();
    const { text } = await guest.open(await guest.authorizePath(client, { resource: SUPPORT }));
    expect(text.replaceAll(/\s+/g, " ")).toMatch(/use <bdi>Support<\/bdi> of /);
    expect(text).toContain("<code>support</code>, and nothing else of this server");
    const scoped = { scope: "profile:support profile:*" };
    const whole = await guest.open(await guest.authorizePath(client, scoped));
    expect(whole.text).toContain("everything in the profile support");
    expect(whole.text).toContain("everything in any profile");
    expect(whole.text).not.toContain("<bdi>Support</bdi> of");
  });

  test("for a profile is asked for without what another profile or the whole server has", async () => {
    const SCOPES = JSON.stringify({ desk: ["profile:plans", "hello:*"], plans: ["profile:plans"] });
    const guest = visitor(await owners({ SCOPES }));
    const client = await guest.register();
    const scope = "desk plans profile:support profile:plans operator";
    const asked = await guest.authorizePath(client, { resource: SUPPORT, scope });
    const page = (await guest.open(asked)).text.replaceAll(/\s+/g, " ");
    expect(page).toContain("use everything in hello (<code>desk</code>)");
    expect(page).toContain("everything in the profile support");
    expect(page).not.toContain("everything in the profile plans");
    expect(page).not.toContain("what the server lets operators do");
    expect(page).toMatch(
      /does not know: <code>plans<\/code> <code>profile:plans<\/code> <code>operator/,
    );
    const signed = await guest.signIn({ resource: SUPPORT, scope });
    expect(signed.scope).toBe("desk profile:support");
  });

  test.each([
    "/mcp/nobody",
    "/mcp/constructor",
    "/mcp/support/x",
    "/mcp/support?x",
    "/mcp/SUPPORT",
  ])("is made for no other resource: %s", async (path) => {
    const guest = visitor(await owners());
    const client = await guest.register();
    const back = await guest.fetch(await guest.authorizePath(client, { resource: ORIGIN + path }), {
      redirect: "manual",
    });
    const text = back.headers.get("location") ?? (await back.text());
    expect(text).toMatch(/invalid_target|resource/);
    expect(text).not.toContain("passphrase of this server");
  });

  test("is made by a client that looks below the endpoint for the metadata", async () => {
    const guest = visitor(await owners());
    const read = async (path: string) => (await (await guest.fetch(path)).json()) as object;
    const usual = await read("/.well-known/oauth-authorization-server");
    for (const path of [
      "/.well-known/oauth-authorization-server/mcp/support",
      "/mcp/support/.well-known/openid-configuration",
    ])
      expect(await read(path)).toEqual(usual);
    expect(await read("/mcp/support/.well-known/oauth-protected-resource")).toMatchObject({
      resource: SUPPORT,
      resource_name: "Support",
    });
    expect(CALLBACK).toContain("https");
  });
});

describe("a token of another server", () => {
  const tokenFor = (aud: string | string[], scope = "read") => tokenOf(key, { aud, scope });
  const issued = (issuer: object = {}, more: object = {}) =>
    profiled({ OAUTH_ISSUERS: JSON.stringify([{ issuer: ISSUER, ...issuer }]), ...more });

  test("for a profile is good there alone", async () => {
    internet(pagesOf(key));
    const server = issued();
    const token = await tokenFor(`${RESOURCE}/support`);
    expect(await come(token, at("support", server))).toMatchObject({
      status: 200,
      principal: `${ISSUER} ada`,
    });
    for (const one of [server, at("plans", server)])
      expect(await come(token, one)).toMatchObject({ status: 401 });
    // What was remembered at one endpoint counts at no other.
    expect(await come(token, at("support", server))).toMatchObject({ status: 200 });
    const { challenge } = await come(token, at("plans", server));
    expect(challenge).toContain("/.well-known/oauth-protected-resource/mcp/plans");
  });

  test("for the whole server needs the scope of the profile, where scopes count", async () => {
    internet(pagesOf(key));
    const whole = await tokenFor(RESOURCE);
    expect(await come(whole, at("support", issued()))).toMatchObject({ status: 200 });
    const scoped = issued({}, { SCOPES: JSON.stringify({ probing: ["probe:*"] }) });
    expect(await come(whole, at("support", scoped))).toMatchObject({ status: 403 });
    const granted = await tokenFor(RESOURCE, "profile:support");
    expect(await come(granted, at("support", scoped))).toMatchObject({ status: 200 });
    expect(await come(granted, scoped)).toMatchObject({ status: 403 });
    const probing = await tokenFor(`${RESOURCE}/support`, "probing");
    expect(await come(probing, at("support", scoped))).toMatchObject({ status: 200 });
    expect(await come(probing, scoped)).toMatchObject({ status: 401 });
  });

  test("with an audience of its own is for the whole server", async () => {
    internet(pagesOf(key));
    const server = issued({ audience: "api://us" });
    expect(await come(await tokenFor("api://us"), at("support", server))).toMatchObject({
      status: 200,
    });
    const other = await tokenFor(`${RESOURCE}/support`);
    expect(await come(other, at("support", server))).toMatchObject({ status: 401 });
  });
});

test("the metadata of a profile name its URL, and the scope where scopes count", async () => {
  const path = "/.well-known/oauth-protected-resource/mcp/support";
  const read = async (more: object) => {
    const issuers = JSON.stringify([{ issuer: ISSUER, required_scopes: ["tools"] }]);
    const server = profiled({ OAUTH_ISSUERS: issuers, ...more });
    return (await server.fetch(new Request(`http://localhost:8787${path}`))).json();
  };
  expect(await read({})).toMatchObject({
    resource: `${RESOURCE}/support`,
    resource_name: "Support",
    scopes_supported: ["tools"],
  });
  expect(await read({ SCOPES: "{}" })).toMatchObject({
    scopes_supported: ["profile:support", "tools"],
  });
});

test("where anybody may call, anybody may use a profile", async () => {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo_input" } };
  const { status } = await answerOf(await post(body, {}, at("support", profiled())));
  expect(status).toBe(200);
});
