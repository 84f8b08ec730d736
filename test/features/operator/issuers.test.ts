// @module-tag issuers
import { expect, test } from "vitest";
import { appOf, internet, key, pagesOf, prepare, tokenOf } from "../../worker/auth/issuer.ts";

/** Tokens of an issuer, at the door of the whole app. */
prepare();

test("nobody operates the server by another's token, whatever its scopes are", async () => {
  internet(pagesOf(key));
  const app = appOf({}, { SCOPES: JSON.stringify({ all: ["*:*"] }) });
  const authorization = `Bearer ${await tokenOf(key, { scope: "all operator" })}`;
  const url = "http://localhost:8787/operator/state/counting";
  const response = await app.fetch(new Request(url, { headers: { authorization } }));
  expect(response.status).toBe(403);
});
