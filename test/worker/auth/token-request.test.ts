import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, ownersApp, visitor, type App } from "./owner.ts";

/** What a client with a secret sends to the token endpoint. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

/** Registers with a secret, and is let in; gives what is needed to fetch tokens. */
async function letIn() {
  const { fetch, authorizePath, agree, verifier } = visitor(app);
  const registered = await fetch("/oauth/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Python",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "client_secret_basic",
    }),
  });
  const { client_id, client_secret } = (await registered.json()) as Record<string, string>;
  const back = await agree(await authorizePath(client_id!));
  const code = new URL(back.headers.get("location")!).searchParams.get("code")!;
  const grant = { grant_type: "authorization_code", code, code_verifier: verifier };
  const fields = { ...grant, redirect_uri: CALLBACK };
  const tokens = async (id: string, secret: string, more: Record<string, string>) => {
    const authorization = `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`;
    const body = new URLSearchParams({ ...fields, ...more });
    const response = await fetch("/oauth/token", {
      method: "POST",
      headers: { authorization },
      body,
    });
    return { status: response.status, ...((await response.json()) as Record<string, any>) };
  };
  return { id: client_id!, secret: client_secret!, tokens };
}

describe("a client that shows its secret in a header", () => {
  test("may name itself in the body, too", async () => {
    const { id, secret, tokens } = await letIn();
    expect(await tokens(id, secret, { client_id: id })).toMatchObject({ status: 200 });
  });

  test("need not", async () => {
    const { id, secret, tokens } = await letIn();
    expect(await tokens(id, secret, {})).toMatchObject({ status: 200 });
  });

  test("under another name is refused", async () => {
    const { id, secret, tokens } = await letIn();
    const other = await letIn();
    expect(await tokens(id, secret, { client_id: other.id })).toMatchObject({
      status: 400,
      error: "invalid_request",
    });
    expect(await other.tokens(id, secret, { client_id: other.id })).toMatchObject({ status: 400 });
  });

  test("with a wrong secret is refused", async () => {
    const { id, tokens } = await letIn();
    expect(await tokens(id, "wrong", { client_id: id })).toMatchObject({
      status: 401,
      error: "invalid_client",
    });
  });

  test("and once more in the body is refused", async () => {
    const { id, secret, tokens } = await letIn();
    const both = { client_id: id, client_secret: secret };
    expect(await tokens(id, secret, both)).toMatchObject({ status: 400, error: "invalid_request" });
  });

  test("with another's code is refused", async () => {
    const { id, secret } = await letIn();
    const other = await letIn();
    expect(await other.tokens(id, secret, { client_id: id })).toMatchObject({
      status: 400,
      error: "invalid_grant",
    });
  });
});
