import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  appOf,
  come,
  forward,
  internet,
  ISSUER,
  key,
  KEYS,
  logged,
  METADATA,
  pagesOf,
  prepare,
  signingKey,
  tokenOf,
} from "../../worker/auth/issuer.ts";

/** How the server comes by the keys of an issuer. */
prepare();

describe("keys", () => {
  test("a new one is fetched when a token names it; one that is not there, not too often", async () => {
    const { pages, asked } = internet(pagesOf(key));
    const app = appOf();
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 200 });
    const next = await signingKey("next");
    Object.assign(pages, pagesOf(next));
    forward(limits.keySetCooldownMs + 1);
    expect(await come(await tokenOf(next), app)).toMatchObject({ status: 200 });
    expect(await come(await tokenOf(key, { sub: "late" }), app)).toMatchObject({ status: 401 });
    expect(await come(await tokenOf(await signingKey("made up")), app)).toMatchObject({
      status: 401,
    });
    expect(asked).toEqual([METADATA, KEYS, KEYS]);
  });

  test("a new one is fetched when a token names it, though the clock was set back by hours", async () => {
    const { pages } = internet(pagesOf(key));
    const app = appOf();
    const hours = 36_000_000;
    forward(hours);
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 200 });
    forward(-hours);
    const next = await signingKey("next");
    Object.assign(pages, pagesOf(next));
    expect(await come(await tokenOf(next), app)).toMatchObject({ status: 200 });
  });

  test("old ones are fetched anew; where the issuer is down they are good for a while", async () => {
    const { pages, asked } = internet(pagesOf(key));
    const app = appOf();
    await come(await tokenOf(key), app);
    pages[KEYS] = new Error("ECONNREFUSED 10.0.0.7");
    forward(limits.keySetMs + 1);
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 200 });
    expect(await come(await tokenOf(key, { sub: "b" }), app)).toMatchObject({ status: 200 });
    expect(asked).toHaveLength(3);
    forward(limits.keySetStaleMs);
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 503 });
  });

  test.each<[string, Record<string, unknown>]>([
    ["is down", { [METADATA]: new Error("ECONNREFUSED 10.0.0.7"), [KEYS]: new Error("10.0.0.7") }],
    ["has no metadata", {}],
    ["says it is another", { [METADATA]: { issuer: "https://evil.example", jwks_uri: KEYS } }],
    [
      "has its keys at plain http",
      { [METADATA]: { issuer: ISSUER, jwks_uri: "http://a.example" } },
    ],
    ["has metadata that is no JSON", { [METADATA]: new Response("<html>") }],
    ["sends on", { [METADATA]: Response.redirect("https://evil.example/") }],
    ["has no keys", { [METADATA]: { issuer: ISSUER, jwks_uri: KEYS } }],
    ["has keys without end", { ...pagesOf(), [KEYS]: { keys: [], x: "x".repeat(300_000) } }],
  ])("an issuer that %s: 503 without details, and no flood", async (_name, pages) => {
    const { asked } = internet(pages);
    const app = appOf();
    const first = await come(await tokenOf(key), app);
    expect(first).toMatchObject({ status: 503, challenge: "" });
    expect(first.message).toMatch(/^The access token cannot be verified: .* Try again later\.$/);
    expect(logged).toHaveBeenCalledTimes(1);
    const before = asked.length;
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 503 });
    expect(asked).toHaveLength(before);
    Object.assign(pages, pagesOf(key));
    forward(limits.issuerRetryMs + 1);
    expect(await come(await tokenOf(key), app)).toMatchObject({ status: 200 });
  });

  test.each([
    "https://issuer.example/.well-known/oauth-authorization-server/tenant",
    "https://issuer.example/.well-known/openid-configuration/tenant",
    "https://issuer.example/tenant/.well-known/openid-configuration",
  ])("are found by the metadata at %s", async (place) => {
    const issuer = `${ISSUER}/tenant`;
    internet({ ...pagesOf(key), [place]: { issuer, jwks_uri: KEYS } });
    const token = await tokenOf(key, { iss: issuer });
    expect(await come(token, appOf({ issuer }))).toMatchObject({ status: 200 });
  });

  test("are where the configuration says", async () => {
    const { asked } = internet(pagesOf(key));
    expect(await come(await tokenOf(key), appOf({ jwks_uri: KEYS }))).toMatchObject({
      status: 200,
    });
    expect(asked).toEqual([KEYS]);
  });
});
