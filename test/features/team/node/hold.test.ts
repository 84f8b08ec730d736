import { afterAll, beforeEach, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { serving } from "../../../node/http/serving.ts";
import { call, Member } from "./team-flow.ts";

/** What holds of a member's last check: when the provider cannot be asked, and after a deploy of other rules. */

const port = await freePort();
const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
github.organizations = { acme: { id: 7 }, other: { id: 8 } };
github.people = [
  {
    id: 2,
    login: "bob",
    name: "Bob",
    teams: {},
    organizations: { acme: { state: "active", role: "member" } },
  },
  {
    id: 1,
    login: "ada",
    name: "Ada",
    teams: {},
    organizations: { acme: { state: "active", role: "member" } },
  },
];

const signIn = (organization: string, more: object = {}) =>
  JSON.stringify({
    github: {
      client_id: github.app.clientId,
      client_secret: "GITHUB_SECRET",
      server: github.url,
      allow: { organizations: [organization] },
      ...more,
    },
  });
const limits = (memberHoldMs: number, memberCheckMs = 0) =>
  JSON.stringify({ memberCheckMs, memberHoldMs, memberMemoryMs: 0, memberRetryMs: 0 });

const variables: Record<string, string> = {
  GITHUB_SECRET: github.app.clientSecret,
  SIGN_IN: signIn("acme"),
  TEST_LIMITS: limits(0),
};
const server = await serving({ port, kv: ["OAUTH_KV"], log: () => undefined, variables });
const { url } = server;
afterAll(() => github.close());
beforeEach(async () => {
  await github.fail();
});

const bob = () => new Member(url, "GitHub", "bob");
const greet = (token: string) => call(url, token, "greet", { name: "x" });

test("a check that is too old admits nobody while the provider is down, and ends nothing", async () => {
  const member = bob();
  const { access_token, refresh_token } = await member.signIn();
  await github.fail("refused");
  const refused = await greet(access_token);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("60");
  const late = await member.refresh(refresh_token);
  expect(late).toMatchObject({ status: 503, error: "temporarily_unavailable" });
  await github.fail();
  expect((await greet(access_token)).status).toBe(200);
  expect((await member.refresh(refresh_token))["status"]).toBe(200);
});

test("a check under other rules does not count: who is not in them is out at once, and while the provider is down", async () => {
  Object.assign(variables, { TEST_LIMITS: limits(3_600_000, 3_600_000) });
  await server.restart();
  const { access_token } = await bob().signIn();
  await github.fail("unavailable");
  expect((await greet(access_token)).status).toBe(200);
  Object.assign(variables, { SIGN_IN: signIn("other") });
  await server.restart();
  expect((await greet(access_token)).status).toBe(503);
  await github.fail();
  expect((await greet(access_token)).status).toBe(401);
});

test("another title is not another rule: the check holds", async () => {
  Object.assign(variables, { SIGN_IN: signIn("acme") });
  await server.restart();
  const { access_token } = await bob().signIn();
  Object.assign(variables, { SIGN_IN: signIn("acme", { title: "Acme" }) });
  await server.restart();
  const before = github.requests.length;
  expect((await greet(access_token)).status).toBe(200);
  expect(github.requests.length).toBe(before);
});

test("a provider that was taken away lets nobody in any more", async () => {
  const member = new Member(url, "Acme", "bob");
  const { access_token } = await member.signIn();
  const other = JSON.stringify({ google: { client_id: "c", allow: "*" } });
  Object.assign(variables, { SIGN_IN: other });
  await server.restart();
  expect((await greet(access_token)).status).toBe(401);
});

test("a secret that is missing ends nobody's access, and operators are told", async () => {
  Object.assign(variables, { SIGN_IN: signIn("acme", { operators: { users: ["bob"] } }) });
  await server.restart();
  const member = bob();
  const { access_token } = await member.signIn();
  delete variables["GITHUB_SECRET"];
  await server.restart();
  expect((await greet(access_token)).status).toBe(200);
  const page = await member.browser.open(new URL("/console/members", url).href);
  expect(page.text).toContain("npx wrangler secret put GITHUB_SECRET");
  expect(
    (await new Member(url, "GitHub", "x").browser.open(await member.asked())).text,
  ).not.toContain("Continue with GitHub");
});

test.each([
  ["an operator ends their access", "ended by somebody who runs it"],
  ["they sign out", "You are signed out"],
])("while GitHub is asked about somebody, %s: that counts", async (what, why) => {
  Object.assign(variables, {
    GITHUB_SECRET: github.app.clientSecret,
    SIGN_IN: signIn("acme", { operators: { users: ["ada"] } }),
  });
  await server.restart();
  const member = bob();
  const { access_token, refresh_token } = await member.signIn();
  const ada = new Member(url, "GitHub", "ada");
  const page = await ada.open("/console/members");
  const token = /name="token" value="([^"]+)"/.exec(page.text)![1]!;
  const press = (button: string) => {
    const form = { do: button, principal: `${github.url} 2`, token };
    return ada.browser.open(page.url.href, new URLSearchParams(form));
  };
  await github.fail("hanging");
  const before = github.requests.length;
  const refreshed = member.refresh(refresh_token);
  await expect.poll(() => github.requests.length).toBeGreaterThan(before);
  const isByOperator = what.startsWith("an operator");
  if (isByOperator) await press("end");
  else await member.browser.open(new URL("/sign-out", url).href, new URLSearchParams());
  await github.fail();
  expect(await refreshed).toMatchObject({
    status: 400,
    error: "invalid_grant",
    error_description: expect.stringContaining(why),
  });
  expect((await greet(access_token)).status).toBe(401);
  if (isByOperator) await press("let-in");
});

test("a server that is killed while it asks the provider knows its members afterwards", async () => {
  Object.assign(variables, {
    GITHUB_SECRET: github.app.clientSecret,
    SIGN_IN: signIn("acme"),
    TEST_LIMITS: limits(3_600_000),
  });
  await server.restart();
  const { access_token } = await bob().signIn();
  await github.fail("hanging");
  const before = github.requests.length;
  const lost = greet(access_token).catch(() => "lost");
  await expect.poll(() => github.requests.length).toBeGreaterThan(before);
  await server.restart();
  expect(await lost).toBe("lost");
  await github.fail();
  expect((await greet(access_token)).status).toBe(200);
});
