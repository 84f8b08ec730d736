import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { PersonBrowser } from "../../../node/http/account-provider.ts";
import { request } from "../../../node/http/installing.ts";
import { serving } from "../../../node/http/serving.ts";
import { call, callerOf, Member, wayTo } from "./team-flow.ts";

/** A team signs in at GitHub, over real HTTP, at a stand-in that behaves as GitHub's documents say. */

const port = await freePort();
const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
const member = (state: "active" | "pending" = "active") => ({ state, role: "member" as const });

const PEOPLE = (): typeof github.people => [
  {
    id: 1,
    login: "Ada",
    name: "Ada Lovelace",
    organizations: { acme: member() },
    teams: { "acme/core": member() },
  },
  { id: 2, login: "bob", name: "Bob", organizations: { acme: member() }, teams: {} },
  { id: 3, login: "carl", name: "Carl", organizations: {}, teams: {} },
  { id: 4, login: "dora", name: "Dora", organizations: { acme: member("pending") }, teams: {} },
  { id: 5, login: "Eve", name: "", organizations: {}, teams: {} },
];

beforeEach(async () => {
  await github.fail();
  github.rateLimit = undefined;
  github.people = PEOPLE();
  github.organizations = { acme: { id: 7 } };
  github.refusedScopes.clear();
  github.sentIssuer = github.issuer;
  github.app.kind = "oauth";
});

const SIGN_IN = {
  github: {
    client_id: github.app.clientId,
    client_secret: "GITHUB_SECRET",
    server: github.url,
    allow: { organizations: ["Acme"], users: ["eve"] },
    operators: { teams: ["ACME/core"] },
  },
};

const output: string[] = [];
const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: (text) => void output.push(text),
  variables: {
    GITHUB_SECRET: github.app.clientSecret,
    TEST_LIMITS: JSON.stringify({ memberCheckMs: 0, memberMemoryMs: 0, memberRetryMs: 300 }),
    SIGN_IN: JSON.stringify(SIGN_IN),
  },
});
afterAll(() => github.close());

const person = (login: string) => new Member(server.url, "GitHub", login);
const { url } = server;

describe("a member of the organization", () => {
  test("signs in, consents, and the app calls as this person", async () => {
    const ada = person("ada");
    const page = await ada.consent();
    expect(page.text).toContain("Ada Lovelace (Ada)");
    const tokens = await ada.tokens(await ada.agree(page));
    expect(tokens).toMatchObject({ status: 200, token_type: "bearer" });
    const known = { principal: `${github.url} 1` };
    expect(await callerOf(url, tokens["access_token"])).toMatchObject(known);
    const next = await ada.refresh(tokens["refresh_token"]);
    expect(next["status"]).toBe(200);
    expect(await callerOf(url, next["access_token"])).toMatchObject(known);
  });

  test("who has another login by now is the same person", async () => {
    const before = await person("bob").signIn();
    github.people[1]!.login = "robert";
    const after = await person("robert").signIn();
    const [one, other] = [
      await callerOf(url, before["access_token"]),
      await callerOf(url, after["access_token"]),
    ];
    expect(one["principal"]).toBe(`${github.url} 2`);
    expect(other["principal"]).toBe(one["principal"]);
  });

  test("consents for each app, and no code is made without that", async () => {
    const bob = person("bob");
    const page = await bob.consent();
    expect(page.text).toContain("An app");
    const denied = await bob.browser.submit(page, { decision: "deny" });
    expect(denied.url.searchParams.get("error")).toBe("access_denied");
    // Another app, in the browser in which the person has signed in: it asks, too.
    const other = person("bob");
    const asked = await bob.browser.open(await other.asked());
    expect(asked.text).toContain("You are signed in as");
    expect(asked.url.searchParams.get("code")).toBeNull();
  });

  test("who wants another account is asked by GitHub which one", async () => {
    const bob = person("bob");
    const choice = await bob.browser.submit(await bob.consent(), { decision: "switch" });
    const asked = () => bob.browser.visited.findLast(({ origin }) => origin === github.url)!;
    expect(asked().searchParams.has("prompt")).toBe(false);
    const there = await bob.browser.open(wayTo(choice, "GitHub"));
    expect(asked().searchParams.get("prompt")).toBe("select_account");
    const page = await bob.browser.submit(there, { login: "ada" });
    expect(page.text).toContain("Ada Lovelace");
    expect(page.url.searchParams.has("other")).toBe(false);
  });

  test("who leaves has access no more: neither calls nor refreshes", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
    github.people[1]!.organizations = {};
    const refused = await call(url, tokens["access_token"], "greet", { name: "x" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("not one of those");
    expect(await bob.refresh(tokens["refresh_token"])).toMatchObject({
      status: 400,
      error: "invalid_grant",
      error_description: expect.stringContaining("not one of those"),
    });
    const page = await bob.browser.open(new URL("/account", url).href);
    expect(page.text).toContain("Continue with GitHub");
  });

  test("whose token was revoked at GitHub signs in again", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    github.revoke("bob");
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
    expect((await bob.signIn())["status"]).toBe(200);
  });

  test("is not thrown out while GitHub is down, and nobody new gets in", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    await github.fail("unavailable");
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(200);
    const next = await bob.refresh(tokens["refresh_token"]);
    expect(next["status"]).toBe(200);
    expect((await call(url, next["access_token"], "greet", { name: "x" })).status).toBe(200);
    await github.fail();
    const page = await person("ada").browser.open(await person("ada").asked());
    expect(page.text).toContain("Continue with GitHub");
    for (const kind of ["primary", "secondary"] as const) {
      github.rateLimit = { kind, status: 403, retryAfter: 60 };
      expect((await call(url, next["access_token"], "greet", { name: "x" })).status).toBe(200);
      const refused = await person("ada").consent();
      expect(refused.status).toBe(503);
      expect(refused.text).toContain("GitHub does not answer. Try again in a minute.");
    }
  });

  test("who signs out ends what apps and other browsers were granted", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    const elsewhere = person("bob");
    await elsewhere.open("/account");
    const out = await bob.browser.open(new URL("/sign-out", url).href, new URLSearchParams());
    expect(out.text).toContain("You are signed out");
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
    expect((await bob.refresh(tokens["refresh_token"]))["error"]).toBe("invalid_grant");
    const page = await elsewhere.browser.open(new URL("/account", url).href);
    expect(page.text).toContain("Continue with GitHub");
  });
});

describe("somebody else", () => {
  test.each([
    ["carl", "not one of those that this server lets in. Ask whoever runs it"],
    ["dora", "The invitation to acme is open"],
  ])("%s is not let in, and told why", async (login, why) => {
    const page = await person(login).consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain(why);
    expect(page.text).not.toContain("Acme");
  });

  test.each([
    ["has not approved the app", { restricted: true }, "has not approved this app yet"],
    ["wants its single sign-on", { singleSignOn: true }, "https://github.com/orgs/acme/sso"],
    ["lacks the GitHub App", { lacksApp: true }, "Members: read"],
  ])("of an organization that %s is told so", async (_what, more, why) => {
    if ("lacksApp" in more) github.app.kind = "github";
    github.organizations["acme"] = { id: 7, ...more };
    const page = await person("bob").consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain(why);
  });

  test("who takes a login that is let in is somebody else", async () => {
    const eve = await person("eve").signIn();
    expect(await callerOf(url, eve["access_token"])).toMatchObject({
      principal: `${github.url} 5`,
    });
    github.people[4]!.login = "eva";
    github.people.push({ id: 6, login: "Eve", name: "Mallory", organizations: {}, teams: {} });
    const page = await person("eve").consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain("Another account was called eve before");
  });

  test("who makes an organization with the name of a renamed one is not let in", async () => {
    expect((await person("bob").signIn())["status"]).toBe(200);
    github.renameOrganization("acme", "acme-old");
    github.organizations["acme"] = { id: 8 };
    github.people.push({
      id: 9,
      login: "mallory",
      name: "M",
      organizations: { acme: member() },
      teams: {},
    });
    const page = await person("mallory").consent();
    expect(page.status).toBe(403);
    expect(page.text).toContain("is not the one that this server means");
    await expect
      .poll(() => output.join("\n"))
      .toContain("SIGN_IN.github names the organization acme");
  });
});

test("a team that any member has made anew under the name of another makes nobody an operator", async () => {
  const operates = async (login: string) =>
    (await person(login).open("/console/members")).status === 200;
  expect(await operates("ada")).toBe(true);
  const first = github.teamIds["acme/core"]!;
  // The team was renamed, or deleted.
  github.teamIds["acme/core"] = 71;
  github.people[1]!.teams = { "acme/core": member() };
  expect(await operates("bob")).toBe(false);
  await expect.poll(() => output.join("\n")).toContain("SIGN_IN.github names the team acme/core");
  github.teamIds["acme/core"] = first;
  expect(await operates("ada")).toBe(true);
});

describe("the way to GitHub and back", () => {
  test("begins and ends in one browser, once", async () => {
    const eve = person("eve");
    await eve.open("/account");
    const callback = eve.browser.visited.find(
      ({ pathname }) => pathname === "/account/callback/github",
    )!;
    const victim = await new PersonBrowser().open(callback.href);
    expect(victim.text).toContain("Sign in to edge-servlets");
    const again = await eve.browser.open(callback.href);
    expect(again.text).toContain("is not to anything that you have begun");
  });

  test("leads back with the issuer that was asked", async () => {
    github.sentIssuer = "https://evil.example";
    const page = await person("bob").consent();
    expect(page.status).toBe(503);
    expect(page.text).not.toContain("You are signed in as");
  });

  test("may be begun in several tabs", async () => {
    const bob = person("bob");
    const ways = [];
    for (const path of ["/account", "/console/live"]) {
      const page = await bob.browser.open(new URL(path, url).href);
      ways.push(await bob.browser.open(wayTo(page, "GitHub")));
    }
    for (const [nth, path] of ["/account", "/console/live"].entries()) {
      const back = await bob.browser.submit(ways[nth]!, { login: "bob" });
      expect(back.url.pathname).toBe(path);
    }
  });

  test("leads to the account of whoever has signed in last: the page of another's consent is shown again", async () => {
    const bob = person("bob");
    const page = await bob.consent();
    const eve = person("eve");
    await bob.browser.open(new URL("/sign-out", url).href, new URLSearchParams());
    const signIn = await bob.browser.open(new URL("/account", url).href);
    await bob.browser.go(
      wayTo(signIn, "GitHub"),
      { login: "eve" },
      ({ url: at }) => at.origin === url.origin,
    );
    const after = await bob.agree(page);
    expect(after.url.searchParams.get("code")).toBeNull();
    expect(after.text).toContain("<strong>Eve</strong>");
    expect((await eve.signIn())["status"]).toBe(200);
  });

  test("1,000 callbacks at once that nobody has begun harm nobody", async () => {
    const many = Array.from({ length: 1000 }, (_, nth) =>
      fetch(new URL(`/account/callback?code=x&state=s${nth}`, url)).then(({ status }) => status),
    );
    for (const status of new Set(await Promise.all(many))) expect([200, 429]).toContain(status);
    expect((await person("bob").signIn())["status"]).toBe(200);
  });
});

test("a large office signs in at once, from one address: each is who they are", async () => {
  const office = Array.from({ length: 150 }, (_, nth) => ({
    id: 1000 + nth,
    login: `u${nth}`,
    name: `U${nth}`,
    teams: {},
    organizations: { acme: member() },
  }));
  github.people = [...PEOPLE(), ...office];
  const client = await person("u0").register();
  const principals = await Promise.all(
    office.map(async ({ login }) => {
      const { access_token } = await new Member(url, "GitHub", login, client).signIn();
      return (await callerOf(url, access_token))["principal"] as string;
    }),
  );
  expect(principals).toEqual(office.map(({ id }) => `${github.url} ${id}`));
}, 60_000);

describe("an operator", () => {
  test("sees who has signed in, ends their access at once, and lets them in again", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    const ada = person("ada");
    const page = await ada.open("/console/members");
    expect(page.url.pathname).toBe("/console/members");
    expect(page.text).toContain("Bob (bob)");
    expect(page.text).toContain("/account/callback");
    expect(page.text).toContain("127.0.0.1");
    const form = (text: string, what: string) => {
      const forms = [...text.matchAll(/<form[^]*?<\/form>/g)].map(([one]) => one);
      const own = forms.find(
        (one) => one.includes(`value="${what}"`) && one.includes(`${github.url} 2"`),
      )!;
      const fields = [...own.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!,
      ]);
      return new URLSearchParams(fields);
    };
    const after = await ada.browser.open(page.url.href, form(page.text, "end"));
    expect(after.text).toContain("ended by somebody who runs it");
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
    expect((await bob.refresh(tokens["refresh_token"]))["error"]).toBe("invalid_grant");
    const refused = await bob.consent();
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("ended by somebody who runs it");
    await ada.browser.open(page.url.href, form(after.text, "let-in"));
    expect((await bob.signIn())["status"]).toBe(200);
  });

  test("is nobody who is not named", async () => {
    const bob = person("bob");
    const page = await bob.open("/console/members");
    expect(page.status).toBe(403);
    const forged = new URLSearchParams({ do: "end", principal: `${github.url} 1`, token: "x" });
    expect((await bob.browser.open(page.url.href, forged)).status).toBe(403);
    expect((await person("ada").signIn())["status"]).toBe(200);
  });

  test("lets an app operate only if it asks for that", async () => {
    const scopes = async (token: string) => {
      const response = await fetch(new URL("/operator/", url), {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      });
      return response.status;
    };
    const ada = person("ada");
    const plain = await ada.signIn();
    expect(await scopes(plain["access_token"])).toBe(403);
    const asking = await ada.tokens(
      await ada.agree(await ada.browser.open(await ada.asked({ scope: "operator" }))),
    );
    expect(await scopes(asking["access_token"])).not.toBe(403);
    const bob = person("bob");
    const back = await bob.consent({ scope: "operator" });
    expect(back.text).toContain("none of which your role");
  });
});

describe("a member who has the server forget them", () => {
  const forget = async (bob: Member) => {
    const page = await bob.browser.open(new URL("/account", url).href);
    const sure = await bob.browser.submit(page, { do: "forget-me" });
    return bob.browser.submit(sure, { do: "forget-all" });
  };

  test("is signed out everywhere and listed no more, and may come again", async () => {
    const bob = person("bob");
    const tokens = await bob.signIn();
    expect((await forget(bob)).text).toContain("You are forgotten");
    expect((await call(url, tokens["access_token"], "greet", { name: "x" })).status).toBe(401);
    expect((await person("ada").open("/console/members")).text).not.toContain("Bob (bob)");
    expect((await bob.signIn())["status"]).toBe(200);
  });
});

describe("what hangs on a member", () => {
  const ASK = { steps: [{ do: "elicit", message: "Who?" }] };
  const modern = async (token: string, name: string, args: object) =>
    (await request(
      url,
      { method: "tools/call", params: { name, arguments: args } },
      { authorization: `Bearer ${token}` },
    )) as Record<string, any>;
  const waiting = async (token: string) => {
    const result = await modern(token, "plan", ASK);
    return result["structuredContent"] as { id: string; url: string };
  };

  test("answers the questions of their calls", async () => {
    const bob = person("bob");
    const { access_token } = await bob.signIn();
    const { id, url: ask } = await waiting(access_token);
    const page = await bob.browser.open(ask);
    expect(page.text).toContain("A question for you");
    await bob.browser.submit(page, { f0: "Bob", decision: "accept" });
    const result = await modern(access_token, "get_result", { id });
    expect(result["structuredContent"]["said"]).toEqual(["Bob"]);
    const eve = await person("eve").open(new URL(ask).pathname);
    expect(eve.text).toContain("Not for you");
  });

  test("calls that wait for one who has left stop, though nobody calls", async () => {
    const bob = person("bob");
    await waiting((await bob.signIn())["access_token"]);
    const ada = person("ada");
    const page = await ada.open("/console/members");
    expect(page.text).not.toContain("not one of those");
    github.people[1]!.organizations = {};
    await expect
      .poll(async () => (await ada.browser.open(page.url.href)).text, { timeout: 5000 })
      .toContain("not one of those that this server lets in");
  });

  test("calls go on for one who has signed out, until they leave", async () => {
    const bob = person("bob");
    const { access_token } = await bob.signIn();
    const { id } = await waiting(access_token);
    await bob.browser.open(new URL("/sign-out", url).href, new URLSearchParams());
    const ada = person("ada");
    const page = await ada.open("/console/members");
    expect(page.text).not.toContain("not one of those");
    github.people[1]!.organizations = {};
    await expect
      .poll(async () => (await ada.browser.open(page.url.href)).text, { timeout: 5000 })
      .toContain("not one of those that this server lets in");
    github.people = PEOPLE();
    const again = await bob.signIn();
    const result = await modern(again["access_token"], "get_result", { id });
    expect(JSON.stringify(result)).toContain("not one of those that this server lets in");
  });

  test("calls that wait for one who has left stop, and say so", async () => {
    const bob = person("bob");
    const { access_token } = await bob.signIn();
    const { id } = await waiting(access_token);
    github.people[1]!.organizations = {};
    expect((await call(url, access_token, "greet", { name: "x" })).status).toBe(401);
    github.people = PEOPLE();
    const again = await bob.signIn();
    const result = await modern(again["access_token"], "get_result", { id });
    expect(JSON.stringify(result)).toContain("not one of those that this server lets in");
  });
});

test("neither the client secret nor a token is in the log", () => {
  const log = output.join("\n");
  expect(log).toContain("no longer has access");
  const tokens = PEOPLE().flatMap(({ login }) => github.tokensOf(login));
  expect(tokens.length).toBeGreaterThan(5);
  for (const secret of [github.app.clientSecret, ...tokens]) expect(log).not.toContain(secret);
});
