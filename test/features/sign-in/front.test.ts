import { env as bound } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { asOnCloudflare } from "../../../src/tools/host/platform/front.ts";
import { bundle } from "../../bundle.gen.ts";
import { PASSPHRASE, visitor, type App } from "../../worker/auth/owner.ts";

/** Signing in behind a proxy. */

function hosted(settings: object = {}, trustProxy = true) {
  const env = { ...bound, AUTH: undefined, [RUNS]: "self-hosted", ...settings };
  const front = asOnCloudflare(createApp(new Kernel(bundle, env)));
  const context = { props: { trustProxy } } as unknown as ExecutionContext;
  const fetch = async (request: Request) => front.fetch(request, env as Cloudflare.Env, context);
  const get = (path: string, headers: HeadersInit = {}, at = "http://127.0.0.1:8787") =>
    fetch(new Request(at + path, { headers }));
  /** How the server names its endpoint. */
  const named = async (headers: HeadersInit, at?: string) => {
    const response = await get("/nope", headers, at);
    const text = await response.text();
    return response.status === 404 ? /is (\S+)\/mcp\./.exec(text)?.[1] : [response.status, text];
  };
  return { fetch, get, named };
}
const HOST = "https://mcp.example.com";

test("the owner signs in at the forwarded name, which does not choose whom tokens are for", async () => {
  const OWNER_PASSPHRASE = await hashPassphrase(PASSPHRASE);
  const { fetch } = hosted({ OWNER_PASSPHRASE });
  const proxied = (name: string) => ({
    fetch(request: Request) {
      request.headers.set("x-forwarded-host", name);
      request.headers.set("x-forwarded-proto", "https");
      request.headers.set("x-forwarded-for", request.headers.get("cf-connecting-ip")!);
      return fetch(request);
    },
  });
  const app = proxied("mcp.example.com") as unknown as App;
  const person = visitor(app, "192.0.2.210", "http://127.0.0.1:8787");
  const metadata = await person.fetch("/.well-known/oauth-authorization-server");
  expect(await metadata.json()).toMatchObject({
    issuer: HOST,
    token_endpoint: `${HOST}/oauth/token`,
  });
  const client = await person.register();
  const resource = `${HOST}/mcp/`;
  const path = await person.authorizePath(client, { resource });
  const { handle, response } = await person.open(path);
  expect(response.headers.get("set-cookie")).toMatch(/^__Host-.*; Secure/);
  const fields = { handle, decision: "allow", passphrase: PASSPHRASE };
  const evil = await person.form("/authorize", fields, { origin: "https://evil.example" });
  expect(evil.status).toBe(403);
  const back = await person.form("/authorize", fields, { origin: HOST });
  const location = new URL(back.headers.get("location")!);
  expect(location.searchParams.get("iss")).toBe(HOST);
  const { access_token } = await person.tokens({
    grant_type: "authorization_code",
    code: location.searchParams.get("code")!,
    code_verifier: person.verifier,
    client_id: client,
    redirect_uri: location.origin + location.pathname,
    resource,
  });
  expect((await person.call(access_token)).status).toBe(200);
  const other = proxied("other.example") as unknown as App;
  expect(
    (await visitor(other, "192.0.2.211", "http://127.0.0.1:8787").call(access_token)).status,
  ).toBe(200);
  const plain = visitor({ fetch } as unknown as App, "192.0.2.212", "http://localhost:8787");
  expect((await plain.call(access_token)).status).toBe(401);
});
