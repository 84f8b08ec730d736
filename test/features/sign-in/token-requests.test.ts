import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, ORIGIN, ownersApp, visitor, type App } from "../../worker/auth/owner.ts";

/** Token requests as clients send them, with the deviations that are accepted, at the server's own authorization server. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

interface Registered {
  client_id: string;
  client_secret: string;
  token_endpoint_auth_method: string;
}

/** A client that registers without naming a method, as the Python SDK does, and is let in. */
async function confidential() {
  const visit = visitor(app);
  const registration = await visit.fetch("/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Python", redirect_uris: [CALLBACK] }),
  });
  expect(registration.status).toBe(201);
  const client = (await registration.json()) as Registered;
  expect(client.token_endpoint_auth_method).toBe("client_secret_basic");
  const back = await visit.agree(await visit.authorizePath(client.client_id));
  const code = new URL(back.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const grant = {
    grant_type: "authorization_code",
    code,
    code_verifier: visit.verifier,
    redirect_uri: CALLBACK,
    resource: `${ORIGIN}/mcp`,
  };
  const basic = (id: string, secret: string) => ({
    origin: ORIGIN,
    authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
  });
  return { visit, client, grant, basic };
}

describe("Basic authentication", () => {
  test.each(["/oauth/token", "/token", "/token/"])(
    "with an equal client_id in the body is one method, at %s",
    async (path) => {
      const { visit, client, grant, basic } = await confidential();
      const { client_id, client_secret } = client;
      const headers = basic(client_id, client_secret);
      const response = await visit.form(path, { ...grant, client_id }, headers);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ token_type: "bearer" });
    },
  );

  test("with the client_id of another is refused", async () => {
    const { visit, client, grant, basic } = await confidential();
    const headers = basic(client.client_id, client.client_secret);
    const client_id = await visit.register();
    const response = await visit.form("/oauth/token", { ...grant, client_id }, headers);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_request" });
  });

  test.each([
    ["a secret", { client_secret: "x" }],
    ["an assertion", { client_assertion: "x", client_assertion_type: "y" }],
  ])("with %s in the body as well is refused", async (_, more) => {
    const { visit, client, grant, basic } = await confidential();
    const { client_id, client_secret } = client;
    const headers = basic(client_id, client_secret);
    const response = await visit.form("/token", { ...grant, client_id, ...more }, headers);
    expect(response.status).toBe(400);
  });

  test.each(["wrong", ""])("with the secret %j is refused", async (secret) => {
    const { visit, client, grant, basic } = await confidential();
    const { client_id } = client;
    const headers = basic(client_id, secret);
    const response = await visit.form("/token", { ...grant, client_id }, headers);
    expect(response.status).toBe(401);
  });

  test("two client_ids in the body are refused, though one of them is equal", async () => {
    const { visit, client, grant, basic } = await confidential();
    const { client_id, client_secret } = client;
    const body = new URLSearchParams({ ...grant, client_id });
    body.append("client_id", "other");
    const headers = basic(client_id, client_secret);
    const response = await visit.fetch("/token", { method: "POST", headers, body });
    expect(response.status).toBe(400);
  });
});

test.each([
  { logo_uri: "", client_uri: null, contacts: null, policy_uri: "" },
  { grant_types: ["authorization_code", "client_credentials", "refresh_token", null] },
  { grant_types: null, response_types: null, token_endpoint_auth_method: null },
])(
  "a registration may have members that say nothing, and ask for more grants: %j",
  async (more) => {
    const { fetch } = visitor(app);
    const response = await fetch("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "Written whole", redirect_uris: [CALLBACK], ...more }),
    });
    expect(response.status).toBe(201);
    const { grant_types } = (await response.json()) as { grant_types: string[] };
    expect(["authorization_code", "refresh_token"]).toEqual(expect.arrayContaining(grant_types));
  },
);

test.each(["{", "[]", "null", '{"redirect_uris":[],"client_name":null}'])(
  "a registration that is none is refused: %s",
  async (body) => {
    const headers = { "content-type": "application/json" };
    const { fetch } = visitor(app);
    expect((await fetch("/oauth/register", { method: "POST", headers, body })).status).toBe(400);
  },
);

test("a token request that is too large: 413", async () => {
  const { form } = visitor(app);
  const response = await form("/oauth/token", { code: "x".repeat(20_000) });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ error: "invalid_request" });
});

test("at /token, the redirect URI and the verifier are checked as at /oauth/token", async () => {
  for (const wrong of [
    { redirect_uri: "https://evil.example/" },
    { code_verifier: "a".repeat(60) },
  ]) {
    const { visit, client, grant, basic } = await confidential();
    const headers = basic(client.client_id, client.client_secret);
    const response = await visit.form("/token", { ...grant, ...wrong }, headers);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_grant" });
  }
});

test("a token request that was cut off is not the fault of its client: it can be sent again", async () => {
  const body = new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode("grant_type=refresh_token&refresh_to"));
      stream.error(new Error("gone"));
    },
  });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await visitor(app).fetch("/oauth/token", { method: "POST", headers, body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: "invalid_request",
    error_description: expect.stringContaining("cut off"),
  });
});
