// @module-tag sign-in
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { ORIGIN, ownersApp, PASSPHRASE, visitor } from "../../worker/auth/owner.ts";
import { profiled } from "../../worker/profiles.ts";

/** Access by tokens of the server's own sign-in. */

test("a grant for a profile is good for no tool", async () => {
  const OWNER_PASSPHRASE = await hashPassphrase(PASSPHRASE);
  const guest = visitor(profiled({ ...env, OWNER_PASSPHRASE }));
  const { access_token: token } = await guest.signIn({ resource: `${ORIGIN}/mcp/support` });
  expect((await guest.call(token, "/tools")).status).toBe(401);
});

test("a token does not go over plain http, whatever PUBLIC_URL says", async () => {
  const PUBLIC_URL = "https://mcp.example.com";
  const app = await ownersApp({ PUBLIC_URL, ALLOWED_HOSTS: "lan.example" });
  const { access_token } = await visitor(app, "192.0.2.201", PUBLIC_URL).signIn();
  const plain = visitor(app, "192.0.2.200", "http://lan.example");
  const headers = { "otc-api-key": access_token };
  expect((await plain.fetch("/tools", { headers })).status).toBe(403);
});
