import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { current, namesAt, profiled } from "../../worker/profiles.ts";
import { prepare } from "../../worker/auth/issuer.ts";
import { CALLBACK, ORIGIN, PASSPHRASE, principalOf, visitor } from "../../worker/auth/owner.ts";

/** A grant for a profile. */
prepare();

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

  test.each(["/mcp/nobody", "/mcp/constructor", "/mcp/support/x", "/mcp/SUPPORT"])(
    "is made for no other resource: %s",
    async (path) => {
      const guest = visitor(await owners());
      const client = await guest.register();
      const back = await guest.fetch(
        await guest.authorizePath(client, { resource: ORIGIN + path }),
        {
          redirect: "manual",
        },
      );
      const text = back.headers.get("location") ?? (await back.text());
      expect(text).toMatch(/invalid_target|resource/);
      expect(text).not.toContain("passphrase of this server");
    },
  );

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

test("a token that was made for a profile is good there later, with less than the profile", async () => {
  const OWNER_PASSPHRASE = await hashPassphrase(PASSPHRASE);
  const token = { name: "owner", profile: "support", scopes: ["hello:greet"] };
  expect(await current({ OWNER_PASSPHRASE })(token)).toEqual(token);
});
