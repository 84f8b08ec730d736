import { readFile } from "node:fs/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { SignInSettings } from "../../../../src/server/features/team/settings.ts";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { openIdProvider, type Claims } from "../../../node/http/openid.ts";
import { serving } from "../../../node/http/serving.ts";
import { callerOf, Member } from "./team-flow.ts";

/** The tables of docs/sign-in.md, as somebody would copy them: people sign in by each, at the stand-in of its provider. */

const page = await readFile("docs/sign-in.md", "utf8");
const tables = Object.fromEntries(
  [...page.matchAll(/```json (\w+)\n([^]*?)```/g)].map(([, name, text]) => [
    name!,
    (JSON.parse(text!) as Record<string, SignInSettings>)[name!]!,
  ]),
);

/** Who is let in by each table, and who is not. */
const PEOPLE: Record<string, [title: string, isIn: Claims, isOut: Claims]> = {
  google: ["Google", { hd: "example.com" }, { hd: "example.org" }],
  entra: [
    "Microsoft",
    { groups: ["aaaaaaaa-0000-4000-8000-000000000001"] },
    { groups: ["aaaaaaaa-0000-4000-8000-000000000002"] },
  ],
  okta: ["Okta", { groups: ["mcp-users"] }, { groups: ["others"] }],
  auth0: ["Auth0", { "https://acme.example/roles": ["mcp"] }, { "https://acme.example/roles": [] }],
  keycloak: ["Keycloak", { realm_access: { roles: ["mcp-user"] } }, {}],
};

const port = await freePort();
const callback = `http://127.0.0.1:${port}/account/callback`;
const github = await gitHub(callback);
const providers = new Map(
  await Promise.all(
    Object.keys(PEOPLE).map(
      async (kind) =>
        [kind, await openIdProvider(kind as "google", `${callback}/${kind}`)] as const,
    ),
  ),
);
const variables: Record<string, string> = { GITHUB_SECRET: github.app.clientSecret };
const SIGN_IN: Record<string, object> = {
  github: { ...tables["github"], client_id: github.app.clientId, server: github.url },
};
for (const [name, provider] of providers) {
  const table = tables[name]!;
  variables[table.client_secret!] = provider.client.clientSecret;
  const { origin } = new URL(provider.issuer);
  const place = name === "entra" ? { server: origin } : { issuer: provider.issuer };
  SIGN_IN[name] = { ...table, ...place, auth: "post", client_id: provider.client.clientId };
}
const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: () => undefined,
  variables: { ...variables, SIGN_IN: JSON.stringify(SIGN_IN) },
});
afterAll(async () => {
  for (const one of [github, ...providers.values()]) await one.close();
});

test("every provider is documented by a table", () => {
  expect(Object.keys(tables).toSorted()).toEqual(["github", ...Object.keys(PEOPLE)].toSorted());
});

describe.each(Object.entries(PEOPLE))("%s", (name, [title, isIn, isOut]) => {
  const tid = "72f988bf-86f1-41af-91ab-2d7cd011db47";
  const claims = (nth: number, more: Claims) => ({
    sub: `s${nth}`,
    tid,
    oid: `bbbbbbbb-0000-4000-8000-00000000000${nth}`,
    ...more,
  });

  test("lets in whom its table names, and nobody else", async () => {
    const provider = providers.get(name)!;
    provider.accounts.set("ada", claims(1, isIn));
    provider.accounts.set("eve", claims(2, isOut));
    const tokens = await new Member(server.url, title, "ada").signIn();
    expect((await callerOf(server.url, tokens["access_token"]))["principal"]).toMatch(
      name === "entra" ? /bbbbbbbb-0000-4000-8000-000000000001$/ : / s1$/,
    );
    expect((await new Member(server.url, title, "eve").consent()).status).toBe(403);
  });
});

test("github lets in whom its table names, with their roles, and nobody else", async () => {
  const state = "active" as const;
  const acme = { acme: { state, role: "member" as const } };
  github.organizations = { acme: { id: 7 }, partner: { id: 8 } };
  github.people = [
    { id: 1, login: "Ada", name: "Ada", organizations: acme, teams: {} },
    { id: 2, login: "Octocat", name: "O", organizations: {}, teams: {} },
    { id: 583231, login: "anybody", name: "A", organizations: {}, teams: {} },
    { id: 4, login: "eve", name: "E", organizations: {}, teams: {} },
  ];
  for (const login of ["ada", "octocat", "anybody"]) {
    const member = new Member(server.url, "GitHub", login);
    const consent = await member.consent();
    expect(consent.status).toBe(200);
    expect((await member.tokens(await member.agree(consent)))["status"]).toBe(200);
  }
  expect((await new Member(server.url, "GitHub", "eve").consent()).status).toBe(403);
});
