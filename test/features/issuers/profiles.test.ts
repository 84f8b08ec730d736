import { describe, expect, test } from "vitest";
import { at, current, profiled } from "../../worker/profiles.ts";
import {
  come,
  internet,
  ISSUER,
  key,
  pagesOf,
  prepare,
  RESOURCE,
  tokenOf,
} from "../../worker/auth/issuer.ts";

/** Tokens of other servers for a profile. */
prepare();

describe("a token of another server", () => {
  const tokenFor = (aud: string | string[], scope = "read") => tokenOf(key, { aud, scope });
  const issued = (issuer: object = {}, more: object = {}) =>
    profiled({ OAUTH_ISSUERS: JSON.stringify([{ issuer: ISSUER, ...issuer }]), ...more });

  test("for a profile is good there alone", async () => {
    internet(pagesOf(key));
    const server = issued();
    const token = await tokenFor(`${RESOURCE}/support`);
    expect(await come(token, at("support", server))).toMatchObject({
      status: 200,
      principal: `${ISSUER} ada`,
    });
    for (const one of [server, at("plans", server)])
      expect(await come(token, one)).toMatchObject({ status: 401 });
    // What was remembered at one endpoint counts at no other.
    expect(await come(token, at("support", server))).toMatchObject({ status: 200 });
    const { challenge } = await come(token, at("plans", server));
    expect(challenge).toContain("/.well-known/oauth-protected-resource/mcp/plans");
  });

  test("for the whole server needs the scope of the profile, where scopes count", async () => {
    internet(pagesOf(key));
    const whole = await tokenFor(RESOURCE);
    expect(await come(whole, at("support", issued()))).toMatchObject({ status: 200 });
    const scoped = issued({}, { SCOPES: JSON.stringify({ probing: ["probe:*"] }) });
    expect(await come(whole, at("support", scoped))).toMatchObject({ status: 403 });
    const granted = await tokenFor(RESOURCE, "profile:support");
    expect(await come(granted, at("support", scoped))).toMatchObject({ status: 200 });
    expect(await come(granted, scoped)).toMatchObject({ status: 403 });
    const probing = await tokenFor(`${RESOURCE}/support`, "probing");
    expect(await come(probing, at("support", scoped))).toMatchObject({ status: 200 });
    expect(await come(probing, scoped)).toMatchObject({ status: 401 });
  });

  test("with an audience of its own is for the whole server", async () => {
    internet(pagesOf(key));
    const server = issued({ audience: "api://us" });
    expect(await come(await tokenFor("api://us"), at("support", server))).toMatchObject({
      status: 200,
    });
    const other = await tokenFor(`${RESOURCE}/support`);
    expect(await come(other, at("support", server))).toMatchObject({ status: 401 });
  });
});

test("the metadata of a profile name its URL, and the scope where scopes count", async () => {
  const path = "/.well-known/oauth-protected-resource/mcp/support";
  const read = async (more: object) => {
    const issuers = JSON.stringify([{ issuer: ISSUER, required_scopes: ["tools"] }]);
    const server = profiled({ OAUTH_ISSUERS: issuers, ...more });
    return (await server.fetch(new Request(`http://localhost:8787${path}`))).json();
  };
  expect(await read({})).toMatchObject({
    resource: `${RESOURCE}/support`,
    resource_name: "Support",
    scopes_supported: ["tools"],
  });
  expect(await read({ SCOPES: "{}" })).toMatchObject({
    scopes_supported: ["profile:support", "tools"],
  });
});

const OAUTH_ISSUERS = JSON.stringify([{ issuer: ISSUER }]);
const SCOPES = JSON.stringify({ probing: ["probe:*"] });

describe("later, a caller with a token of an issuer", () => {
  const name = `${ISSUER} ada`;

  test("keeps what its token granted, while the issuer is trusted", async () => {
    expect(await current({ OAUTH_ISSUERS })({ name })).toEqual({ name });
    const scoped = { name, scopes: ["probing"] };
    expect(await current({ OAUTH_ISSUERS, SCOPES })(scoped)).toEqual(scoped);
    const other = JSON.stringify([{ issuer: "https://other.example" }]);
    const refused = { code: "unauthorized" };
    await expect(current({ OAUTH_ISSUERS: other })({ name })).rejects.toMatchObject(refused);
  });

  test("has nothing once scopes count, if it came before", async () => {
    const now = current({ OAUTH_ISSUERS, SCOPES });
    expect(await now({ name })).toEqual({ name, scopes: [] });
  });
});
