import { test, describe, expect } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { PASSPHRASE, ownersApp, visitor } from "../../worker/auth/owner.ts";
import { refusalWithoutPublicUrl } from "../../worker/auth/self-hosted.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";

test("a self-hosted server needs to know whom assertions are for", async () => {
  const issuer = { issuer: "https://idp.example", jwks_uri: "https://idp.example/keys" };
  expect(
    refusalWithoutPublicUrl({
      ENTERPRISE_ISSUERS: JSON.stringify([issuer]),
      OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE),
    }),
  ).toMatch(/ENTERPRISE_ISSUERS has https:\/\/idp\.example.*Set PUBLIC_URL/);
});

const PUBLIC_URL = "https://mcp.example.com";
const HOSTED = { PUBLIC_URL, [RUNS]: "self-hosted" };

describe("secrets do not go over plain http, whatever PUBLIC_URL says:", () => {
  const PLAIN = "http://box.local:8787";
  const allowed = { ...HOSTED, ALLOWED_HOSTS: "box.local mcp.example.com" };

  test("the passphrase, codes and tokens", async () => {
    const app = await ownersApp(allowed);
    const plain = visitor(app, "192.0.2.200", PLAIN);
    expect((await plain.fetch("/authorize?client_id=x")).status).toBe(403);
    expect((await plain.form("/authorize", { passphrase: PASSPHRASE })).status).toBe(403);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await plain.fetch("/oauth/register", json)).status).toBe(403);
    expect((await plain.form("/oauth/token", { grant_type: "authorization_code" })).status).toBe(
      403,
    );
    const { access_token } = await visitor(app, "192.0.2.201", PUBLIC_URL).signIn();
    expect((await plain.call(access_token)).status).toBe(403);
  });
});

describe("people sign in", () => {
  test("as the owner, with tokens for PUBLIC_URL, behind a proxy", async () => {
    const app = await ownersApp(HOSTED);
    const proxied = visitor(app, "192.0.2.202", "http://mcp.example.com");
    const metadata = await proxied.fetch("/.well-known/oauth-authorization-server");
    expect(await metadata.json()).toMatchObject({
      issuer: PUBLIC_URL,
      authorization_endpoint: `${PUBLIC_URL}/authorize`,
      token_endpoint: `${PUBLIC_URL}/oauth/token`,
    });
    const client = await proxied.register();
    const resource = `${PUBLIC_URL}/mcp`;
    const path = await proxied.authorizePath(client, { resource });
    const { text, handle, response } = await proxied.open(path);
    expect(text).toContain(`at ${PUBLIC_URL}`);
    expect(response.headers.get("set-cookie")).toMatch(/; Secure/);
    const fields = { handle, decision: "allow", passphrase: PASSPHRASE };
    const back = await proxied.form("/authorize", fields, { origin: PUBLIC_URL });
    const location = new URL(back.headers.get("location")!);
    expect(location.searchParams.get("iss")).toBe(PUBLIC_URL);
    const grant = {
      grant_type: "authorization_code",
      code: location.searchParams.get("code")!,
      code_verifier: proxied.verifier,
      client_id: client,
      redirect_uri: location.origin + location.pathname,
    };
    const tokens = await proxied.form("/oauth/token", grant, { origin: PUBLIC_URL });
    const { access_token } = (await tokens.json()) as { access_token: string };
    expect((await proxied.call(access_token)).status).toBe(200);
    expect((await visitor(app, "192.0.2.203", PUBLIC_URL).call(access_token)).status).toBe(200);
  });
});
