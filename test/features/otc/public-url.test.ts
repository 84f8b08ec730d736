import { SignJWT } from "jose";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { beginSelfHosted, refusalWithoutPublicUrl } from "../../worker/auth/self-hosted.ts";

/** Whom tokens are for. */

const OTC_JWT_SECRET = "0123456789abcdef0123456789abcdef";

test("PUBLIC_URL is the default audience", async () => {
  const PUBLIC_URL = "https://mcp.example.com";
  const server = createApp(new Kernel(bundle, { PUBLIC_URL, OTC_JWT_SECRET }));
  const asked = async (aud: string) => {
    const jwt = await new SignJWT({})
      .setProtectedHeader({ alg: "HS256" })
      .setAudience(aud)
      .setExpirationTime("1m")
      .sign(new TextEncoder().encode(OTC_JWT_SECRET));
    const headers = { authorization: `Bearer ${jwt}` };
    return (await server.fetch(new Request("http://localhost:8787/tools", { headers }))).status;
  };
  expect(await asked("http://localhost:8787")).toBe(401);
  expect(await asked(PUBLIC_URL)).toBe(200);
});

test("a self-hosted server needs to know whom tokens are for", () => {
  expect(refusalWithoutPublicUrl({ OTC_JWT_SECRET })).toMatch(
    /OTC_JWT_SECRET.*without OTC_JWT_AUDIENCE.*Set PUBLIC_URL/,
  );
  expect(refusalWithoutPublicUrl({ OTC_JWT_SECRET, OTC_JWT_AUDIENCE: " , " })).toMatch(
    /OTC_JWT_AUDIENCE.*Set PUBLIC_URL/,
  );
  expect(() => beginSelfHosted({ OTC_JWT_SECRET, OTC_JWT_AUDIENCE: "us" })).not.toThrow();
});

test("an issuer's audience is not that of Open Tool Calling", { tags: ["issuers"] }, () => {
  const OAUTH_ISSUERS = JSON.stringify([{ issuer: "https://a.example", audience: "us" }]);
  expect(refusalWithoutPublicUrl({ OTC_JWT_SECRET, OAUTH_ISSUERS })).toMatch(
    /OTC_JWT_SECRET.*Set PUBLIC_URL/,
  );
});
