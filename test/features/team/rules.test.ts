import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { rightsOf, type Facts } from "../../../src/server/features/team/rules.ts";
import { teamSettings, type SignInSettings } from "../../../src/server/features/team/settings.ts";

/** The settings of a team's sign-in, and whom they let in. */

const read = (one: object, name = "github"): SignInSettings =>
  readSettings({ SIGN_IN: JSON.stringify({ [name]: { client_id: "c", ...one } }) }, [teamSettings])
    .SIGN_IN![name]!;

const TENANT = "72F988BF-86f1-41af-91ab-2d7cd011db47";

describe("a rule", () => {
  test.each<[what: string, allow: unknown, facts: Facts, isIn: boolean]>([
    ["that is missing lets nobody in", undefined, { users: ["ada"] }, false],
    ["that is empty lets nobody in", {}, { users: ["ada"] }, false],
    ["with an empty list lets nobody in", { users: [] }, { users: [] }, false],
    ["for everybody lets anybody in", "*", {}, true],
    ["with a login compares it without case", { users: ["ADA"] }, { users: ["ada"] }, true],
    ["with a number is for the account with that id", { users: [12] }, { users: ["id:12"] }, true],
    ["with a number is for no login", { users: [12] }, { users: ["12"] }, false],
    ["with a team is for nobody without it", { teams: ["acme/core"] }, { users: ["ada"] }, false],
    [
      "is a union of its lists",
      { users: ["bob"], organizations: ["acme"] },
      { users: ["ada"], organizations: ["acme"] },
      true,
    ],
  ])("%s", (_what, allow, facts, isIn) => {
    expect(rightsOf(read({ allow }), facts) !== undefined).toBe(isIn);
  });

  test.each<[what: string, claim: unknown, has: unknown, isIn: boolean]>([
    ["a member of a path", "realm.roles", "admin", true],
    ["a value of another type", "level", "3", false],
    ["a number", "level", 3, true],
    ["a name with dots, as an array", ["https://acme.example/roles"], "mcp", true],
    ["the same name as a text", "https://acme.example/roles", "mcp", false],
    ["what every object inherits", "constructor.name", "Object", false],
    ["a part of a text", "name", "Ad", false],
    ["the whole text", "name", "Ada", true],
    ["a claim that is missing", "nothing.at.all", "x", false],
  ])("compares %s", (_what, claim, has, isIn) => {
    const claims = {
      realm: { roles: ["user", "admin"] },
      level: 3,
      name: "Ada",
      "https://acme.example/roles": ["mcp"],
    };
    const allow = { claims: [{ claim, has }] };
    const settings = read({ issuer: "https://id.example", allow }, "oidc");
    expect(rightsOf(settings, { claims }) !== undefined).toBe(isIn);
  });

  test("of an OpenID provider compares subjects and groups with case", () => {
    const allow = { users: ["Ab"], groups: ["MCP"] };
    const settings = read({ issuer: "https://id.example", allow }, "okta");
    expect(settings.type).toBe("oidc");
    expect(rightsOf(settings, { users: ["ab"], groups: ["mcp"] })).toBeUndefined();
    expect(rightsOf(settings, { users: ["Ab"] })).toEqual({ roles: [], isOperator: false });
  });
});

describe("roles", () => {
  const settings = (more: object) =>
    read({
      allow: { organizations: ["acme"] },
      operators: { users: ["ada"] },
      ...more,
    });
  const ACME = { organizations: ["acme"] };

  test("without them: everything, and operators are named", () => {
    expect(rightsOf(settings({}), { ...ACME, users: ["bob"] })).toEqual({
      roles: [],
      isOperator: false,
    });
    expect(rightsOf(settings({}), { ...ACME, users: ["ada"] })).toMatchObject({ isOperator: true });
    expect(rightsOf(settings({}), { users: ["ada"] })).toBeUndefined();
  });

  test("add up, and let nobody in whom none fits", () => {
    const roles = {
      reader: { everybody: true, scopes: ["notes:read"] },
      writer: { teams: ["acme/core"], scopes: ["notes:*", "notes:read"], profiles: ["sales"] },
    };
    const facts = { ...ACME, teams: ["acme/core"] };
    expect(rightsOf(settings({ roles }), facts)).toEqual({
      roles: ["reader", "writer"],
      isOperator: false,
      scopes: ["notes:read", "notes:*", "profile:sales"],
    });
    const { writer } = roles;
    expect(rightsOf(settings({ roles: { writer } }), ACME)).toBeUndefined();
    expect(rightsOf(settings({ roles: { writer } }), { ...ACME, users: ["ada"] })).toEqual({
      roles: [],
      scopes: [],
      isOperator: true,
    });
  });
});

describe("a configuration is refused that", () => {
  test.each<[what: string, name: string, one: object, message: RegExp]>([
    ["has no client id", "github", { client_id: undefined }, /SIGN_IN\.github\.client_id/],
    ["names a condition that is none", "github", { allow: { orgs: ["a"] } }, /orgs/],
    ["trusts addresses of GitHub", "github", { allow: { domains: ["a.example"] } }, /no authority/],
    ["names an organization by a number", "github", { allow: { organizations: [7] } }, /quotes/],
    ["names a team by half", "github", { allow: { teams: ["core"] } }, /ORGANIZATION\/TEAM/],
    ["has claims of GitHub", "github", { allow: { claims: [] } }, /no ID tokens/],
    ["lets everybody operate", "github", { operators: "*" }, /operators/],
    ["lets everybody in by a list", "github", { allow: { organizations: ["*"] } }, /"allow": "\*"/],
    ["has groups of Google", "google", { allow: { groups: ["a"] } }, /name no groups/],
    ["has no tenant", "entra", {}, /tenant.*is missing/],
    ["has a tenant that is a name", "entra", { tenant: "acme.com" }, /Directory \(tenant\) ID/],
    ["admits any tenant", "entra", { tenant: "common" }, /Directory \(tenant\) ID/],
    [
      "trusts an address of Entra ID",
      "entra",
      { tenant: TENANT, allow: { claims: [{ claim: "email", has: "a@b.c" }] } },
      /others can change/,
    ],
    ["has no issuer", "okta", {}, /issuer.*is missing/],
    ["has an issuer over http", "okta", { issuer: "http://id.example" }, /https/],
    ["has another's setting", "github", { tenant: TENANT }, /is not for the type github/],
    ["grants a scope with a space", "github", { roles: { a: { scopes: ["a b"] } } }, /scopes/],
  ])("%s", (_what, name, one, message) => {
    expect(() => read(one, name)).toThrow(message);
  });

  test.each(["OAUTH_ISSUERS", "ENTERPRISE_ISSUERS"])(
    "has the issuer of a provider in %s",
    (name) => {
      const issuer = "https://id.example";
      const variables = {
        SIGN_IN: JSON.stringify({ okta: { client_id: "c", issuer } }),
        [name]: JSON.stringify([{ issuer, jwks_uri: `${issuer}/keys` }]),
      };
      expect(() => new Kernel(bundle, { ...env, ...variables })).toThrow(
        `${name} has ${issuer}, at which SIGN_IN.okta signs people in`,
      );
    },
  );

  test.each([
    [{ scopes: ["nothing"] }, "the scope nothing, which SCOPES does not define"],
    [{ scopes: ["operator"] }, "name operators in SIGN_IN.github.operators"],
    [{ profiles: ["nowhere"] }, "the profile nowhere, which profiles.json does not have"],
  ])("has a role that grants what there is not: %j", (role, message) => {
    const SIGN_IN = JSON.stringify({ github: { client_id: "c", roles: { a: role } } });
    expect(() => new Kernel(bundle, { ...env, SIGN_IN })).toThrow(message);
  });

  test("says that public access is intended", () => {
    const SIGN_IN = JSON.stringify({ github: { client_id: "c" } });
    expect(() => readSettings({ AUTH: "none", SIGN_IN }, [teamSettings])).toThrow(
      /AUTH is none, but SIGN_IN is set/,
    );
  });
});
