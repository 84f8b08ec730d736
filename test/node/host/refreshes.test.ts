import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/auth/passphrase.ts";
import { browse, CALLBACK } from "../http/oauth-client.ts";
import { build, host, project, request, type Hosting } from "./hosting.ts";

/** Refresh tokens at a server that hosts itself, over HTTP. */
const PASSPHRASE = "correct horse battery";
const hash = hashPassphrase(PASSPHRASE);
let folder: string;
let server: Hosting;
const start = async (port?: number) =>
  (server = await host(folder, {
    ...(port !== undefined && { port }),
    variables: { OWNER_PASSPHRASE: await hash },
  }));
beforeAll(async () => {
  folder = await project();
  await build(folder);
  await start();
});
afterAll(async () => {
  await server?.end();
  await rm(folder, { recursive: true, force: true });
});

const post = async (path: string, body: URLSearchParams | string) => {
  const headers = typeof body === "string" ? { "content-type": "application/json" } : undefined;
  const response = await fetch(new URL(path, server.url), {
    method: "POST",
    body,
    ...(headers && { headers }),
  });
  return (await response.json()) as Record<string, string>;
};

test("five refreshes at once get the same tokens, and again after the server was killed", async () => {
  const { client_id = "" } = await post(
    "/oauth/register",
    JSON.stringify({ redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" }),
  );
  const code_verifier = "v".repeat(43);
  const asked = new URL("/authorize", server.url);
  asked.search = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: CALLBACK,
    code_challenge: createHash("sha256").update(code_verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const back = await browse(asked, { passphrase: PASSPHRASE, decision: "allow" });
  const token = (fields: Record<string, string>) =>
    post("/oauth/token", new URLSearchParams({ client_id, ...fields }));
  const code = back.searchParams.get("code")!;
  const { refresh_token = "" } = await token({
    ...{ grant_type: "authorization_code", code, code_verifier, redirect_uri: CALLBACK },
  });
  const refresh = () => token({ grant_type: "refresh_token", refresh_token });
  const all = await Promise.all(Array.from({ length: 5 }, refresh));
  const tokens = all.map((one) => [one["access_token"], one["refresh_token"]]);
  expect(new Set(tokens.map(String)).size).toBe(1);
  await server.stop("SIGKILL");
  await start(server.port);
  const again = await refresh();
  expect([again["access_token"], again["refresh_token"]]).toEqual(tokens[0]);
  const authorization = `Bearer ${again["access_token"]}`;
  expect((await request(server.url, "tools/list", {}, { authorization })).status).toBe(200);
});
