import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { serving } from "../../../node/http/serving.ts";
import { call, Member } from "./team-flow.ts";

/** Answers that are not GitHub's: of a proxy before it, or of a server that is broken. They say nothing about anybody. */

const port = await freePort();
const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
github.organizations = { acme: { id: 7 } };
github.people = [
  {
    id: 2,
    login: "bob",
    name: "Bob",
    teams: {},
    organizations: { acme: { state: "active", role: "member" } },
  },
];
beforeEach(() => github.instead.clear());

const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: () => undefined,
  variables: {
    GITHUB_SECRET: github.app.clientSecret,
    TEST_LIMITS: JSON.stringify({ memberCheckMs: 0, memberMemoryMs: 0, memberRetryMs: 0 }),
    SIGN_IN: JSON.stringify({
      github: {
        client_id: github.app.clientId,
        client_secret: "GITHUB_SECRET",
        server: github.url,
        allow: { organizations: ["acme"] },
      },
    }),
  },
});
afterAll(() => github.close());
const bob = () => new Member(server.url, "GitHub", "bob");

// Before anything is known of the organization.
test("an answer without the organization's id lets nobody in, and is not remembered as its id", async () => {
  github.instead.set("/user/memberships", { status: 200, body: '{"state":"active"}' });
  expect((await bob().consent()).status).toBe(503);
  github.instead.clear();
  expect((await bob().signIn())["status"]).toBe(200);
});

describe.each(["/user", "/user/memberships"])("at %s", (path) => {
  test.each([
    [200, "<html>Checking your browser"],
    [200, "[]"],
    [200, "{}"],
    [200, " ".repeat(10_000_000)],
    [302, ""],
    [403, "<html>Blocked"],
    [404, "<html>No such site"],
    [418, "{}"],
  ])("answer %# with status %i throws nobody out", async (status, body) => {
    const { access_token } = await bob().signIn();
    github.instead.set(path, { status, body });
    expect((await call(server.url, access_token, "greet", { name: "x" })).status).toBe(200);
    expect((await bob().consent()).status).toBe(503);
  });
});
