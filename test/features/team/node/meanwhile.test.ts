import { afterAll, beforeEach, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { request } from "../../../node/http/installing.ts";
import { serving } from "../../../node/http/serving.ts";
import { closed, listening } from "../../../node/http/stand-in.ts";
import { call, Member } from "./team-flow.ts";

/** What happens while a member is checked, and what a servlet gets of the sign-in. */

const port = await freePort();
const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
const AT = github.url.replace("127.0.0.1", "localhost");
github.sentIssuer = `${AT}/login/oauth`;
github.people = [{ id: 2, login: "bob", name: "Bob", organizations: {}, teams: {} }];
beforeEach(() => {
  github.before = () => undefined;
});

const client = { client_id: github.app.clientId, client_secret: "GITHUB_SECRET" };
const variables: Record<string, string> = {
  GITHUB_SECRET: github.app.clientSecret,
  // So that each refresh is a check.
  TEST_LIMITS: JSON.stringify({ memberMemoryMs: 0 }),
  SIGN_IN: JSON.stringify({
    // Named as an account that a guest of the tests uses at 127.0.0.1.
    hostile: {
      ...client,
      type: "github",
      title: "Elsewhere",
      server: AT,
      account: true,
      allow: "*",
    },
  }),
};
const server = await serving({ port, kv: ["OAUTH_KV"], log: () => undefined, variables });
const { url } = server;
afterAll(() => github.close());
const bob = () => new Member(url, "Elsewhere", "bob");

/** Begins a check that goes on when `go` is called: each refresh is one. */
async function checking(of: Member, refreshToken: string) {
  const [asked, let_] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  github.before = async (path) => {
    if (path !== "/user") return;
    github.before = () => undefined;
    asked.resolve();
    await let_.promise;
  };
  const done = of.refresh(refreshToken);
  await asked.promise;
  return { done, go: () => let_.resolve() };
}

test("a check of an earlier sign-in says nothing of one that was made meanwhile", async () => {
  const before = bob();
  const { access_token, refresh_token } = await before.signIn();
  const { done, go } = await checking(before, refresh_token);
  // GitHub ends the oldest of a person's many tokens.
  github.revoke("bob");
  const after = bob();
  expect((await after.open("/account")).text).toContain("Bob (bob)");
  go();
  expect((await done)["status"]).toBe(200);
  expect((await call(url, access_token, "greet", { name: "x" })).status).toBe(200);
});

test("a servlet that names another host than the provider's gets no token of the sign-in: the person is asked", async () => {
  const [evilPort, seen] = [await freePort(), [] as unknown[]];
  const evil = await listening(({ headers }, response) => {
    seen.push(headers.authorization);
    response.end();
  }, evilPort);
  const { access_token } = await bob().signIn();
  const step = { do: "http", url: `http://127.0.0.1:${evilPort}/`, account: "hostile" };
  const params = { name: "plan", arguments: { steps: [step] } };
  const headers = { authorization: `Bearer ${access_token}` };
  const result = await request(url, { method: "tools/call", params }, headers);
  await closed(evil);
  expect(seen).toEqual([]);
  expect(JSON.stringify(result)).toContain("The account hostile is needed");
});

test("a host that refuses the token of a sign-in does not have its provider asked over and over", async () => {
  await server.stop();
  variables["SIGN_IN"] = variables["SIGN_IN"]!.replaceAll(AT, github.url);
  github.sentIssuer = github.issuer;
  await server.start();
  const { access_token } = await bob().signIn();
  const before = github.requests.length;
  const step = { do: "http", url: `${github.url}/refuses`, account: "hostile" };
  github.instead.set("/refuses", { status: 401, body: "" });
  const params = { name: "plan", arguments: { steps: [step, step, step] } };
  const headers = { authorization: `Bearer ${access_token}` };
  const result = await request(url, { method: "tools/call", params }, headers);
  expect(JSON.stringify(result)).toContain("[401,");
  const paths = github.requests.slice(before).map(({ path }) => path);
  expect(paths.filter((path) => path !== "/refuses")).toEqual([]);
});
