import { hash } from "node:crypto";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../../src/server/kernel/auth/passphrase.ts";
import { gitHub } from "../../../node/http/github.ts";
import { openIdProvider } from "../../../node/http/openid.ts";
import {
  complaints,
  flaws,
  opened,
  realBrowser,
  smallTargets,
} from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";
import { freePort } from "../../../node/workerd.ts";
import { callerOf, Member } from "./team-flow.ts";

/** A team's sign-in in a real browser: the pages for apps, of the console, and for operators. */

const { browser, why } = await realBrowser();

const port = await freePort();
const CALLBACK = `http://127.0.0.1:${port}/account/callback`;
const github = await gitHub(CALLBACK);
const keycloak = await openIdProvider("keycloak", `${CALLBACK}/keycloak`);
// Nobody asks it before it is down, so its metadata is not known.
const okta = await openIdProvider("okta", `${CALLBACK}/okta`);

const PASSPHRASE = "correct horse battery";
const OWN_NAME = "The single sign-on of Acme Corporation Europe, Middle East and Africa";
/** As long as GitHub lets a name be, with a word that fits no line. */
const LONG_NAME = `Ada ${"Wolfeschlegelsteinhausenbergerdorff".repeat(4)} ${"of Hamburg ".repeat(10)}`;

const member = (state: "active" | "pending" = "active") => ({ acme: { state } });
const PEOPLE = (): typeof github.people => [
  { id: 1, login: "ada", name: LONG_NAME, organizations: member() },
  { id: 2, login: "bob", name: "Bob Example", organizations: member() },
  { id: 3, login: "carl", name: "Carl", organizations: {} },
  { id: 4, login: "dora", name: "Dora", organizations: member("pending") },
];

beforeEach(async () => {
  await okta.fail();
  github.people = PEOPLE();
  github.organizations = { acme: { id: 7 } };
  github.rateLimit = undefined;
  keycloak.accounts.set("kim", { sub: "k1", name: "Kim", groups: ["/acme"] });
});

const variables = {
  GITHUB_SECRET: github.app.clientSecret,
  KEYCLOAK_SECRET: keycloak.client.clientSecret,
  OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE),
};
const openId = ({ issuer, client }: typeof keycloak) => ({
  issuer,
  client_id: client.clientId,
  client_secret: "KEYCLOAK_SECRET",
  auth: "post",
  allow: { groups: ["/acme"] },
});
const atGitHub = {
  client_id: github.app.clientId,
  client_secret: "GITHUB_SECRET",
  server: github.url,
  allow: { organizations: ["acme"] },
};

/** Several providers, and a passphrase. */
const team = await serving({
  port,
  kv: ["OAUTH_KV"],
  assets: ".bundle/assets",
  variables: {
    ...variables,
    SERVER_TITLE: "Weather tools",
    API_KEYS: JSON.stringify({ robot: hash("sha256", "a key") }),
    TEST_LIMITS: JSON.stringify({ memberMemoryMs: 0, shownMembers: 8 }),
    SIGN_IN: JSON.stringify({
      github: { ...atGitHub, operators: { users: [1] } },
      keycloak: openId(keycloak),
      okta: { ...openId(okta), title: OWN_NAME },
    }),
  },
});
/** One provider that lets nobody in, one without its secret, and nobody who has signed in. */
const empty = await serving({
  kv: ["OAUTH_KV"],
  assets: ".bundle/assets",
  variables: {
    ...variables,
    SIGN_IN: JSON.stringify({
      github: { ...atGitHub, allow: {} },
      okta: { ...openId(okta), client_secret: "OKTA_SECRET" },
    }),
  },
});
/** One provider, and no passphrase. */
const single = await serving({
  kv: ["OAUTH_KV"],
  assets: ".bundle/assets",
  variables: {
    GITHUB_SECRET: variables.GITHUB_SECRET,
    SIGN_IN: JSON.stringify({ github: atGitHub }),
  },
});

afterAll(async () => {
  await Promise.all([github.close(), keycloak.close(), okta.close()]);
});

const NO_SCRIPT: BrowserContextOptions = { javaScriptEnabled: false };
const at = (path: string, { url } = team) => new URL(path, url).href;
const heading = (page: Page) => page.locator("h1").innerText();
const click = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

/** What the browser has complained about, such as a policy; pages of providers name resources that are not there. */
const complained = (page: Page) =>
  complaints.get(page)!.filter((one) => !one.startsWith("Failed to load resource"));

/** What is wrong with a page: `flaws`, and on a phone controls that are too small. */
async function faults(page: Page, name: string): Promise<string[]> {
  const found = await flaws(page, name, ["light", "dark", "phone"]);
  return [...found, ...(await smallTargets(page))];
}

/** Signs in at GitHub, from a page of the server. */
async function throughGitHub(
  page: Page,
  login: string,
  by = "Continue with GitHub",
): Promise<void> {
  await follow(page, by);
  await page.getByLabel("Login").fill(login);
  await page.getByRole("button", { name: "Authorize" }).click();
}

/** A page of the server, in a window in which this person has signed in at GitHub to see it. */
async function signedIn(login: string, path: string, options: BrowserContextOptions = {}) {
  const page = await opened(browser!, at(path), options);
  await throughGitHub(page, login);
  return page;
}

/** A person with an app, at the page to which the app has sent them. */
async function asked(options: BrowserContextOptions = {}, more: Record<string, string> = {}) {
  const person = new Member(team.url, "GitHub", "");
  const page = await opened(browser!, await person.asked(more), options);
  return { person, page };
}

/** Who calls with the tokens for the code that the app has got. */
async function callerAt(page: Page, person: Member): Promise<unknown> {
  await page.getByText("Back", { exact: true }).waitFor();
  const shown = { url: new URL(page.url()), status: 200, text: "" };
  const tokens = await person.tokens(shown);
  return (await callerOf(team.url, tokens["access_token"] as string))["principal"];
}

const errorAt = async (page: Page) => {
  await page.getByText("Back", { exact: true }).waitFor();
  return new URL(page.url()).searchParams.get("error");
};

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("the list of members says how it fills, and which providers let nobody in", async () => {
    const page = await opened(browser!, at("/console/members", empty));
    expect(await faults(page, "team-sign-in-operators")).toEqual([]);
    await page.getByLabel("Passphrase").fill(PASSPHRASE);
    await click(page, "Continue");
    await page.getByText("Nobody has signed in yet").waitFor();
    await page.getByText("GitHub lets nobody in").waitFor();
    await page.getByText("OKTA_SECRET").waitFor();
    await page.locator("summary", { hasText: "Providers" }).click();
    expect(await faults(page, "team-members-none")).toEqual([]);
  });

  test("the page of an app's request offers each provider, and leads there, back, and to the app with a code", async () => {
    const { person, page } = await asked();
    expect(await heading(page)).toBe("Let An app use Weather tools?");
    for (const title of ["GitHub", "Keycloak", OWN_NAME])
      expect(await page.getByRole("link", { name: `Continue with ${title}` }).count()).toBe(1);
    expect(await faults(page, "team-choice")).toEqual([]);
    await throughGitHub(page, "ada");
    await page.getByText("You are signed in as").waitFor();
    expect(await page.locator("main").textContent()).toContain("Wolfeschlegel");
    expect(await faults(page, "team-consent")).toEqual([]);
    await click(page, "Allow");
    expect(await callerAt(page, person)).toBe(`${github.url} 1`);
    expect(complained(page)).toEqual([]);
  });

  test("an app that asks to operate says so on the page of consent", async () => {
    const { page } = await asked({}, { scope: "operator hello:*" });
    await throughGitHub(page, "ada");
    await page
      .getByText("It may install and uninstall")
      .or(page.getByText("may install"))
      .waitFor();
    expect(await faults(page, "team-consent-operator")).toEqual([]);
  });

  test("all of it works without script: consent, denial, another account, and the passphrase", async () => {
    const { person, page } = await asked(NO_SCRIPT);
    const address = page.url();
    await throughGitHub(page, "bob");
    await click(page, "Deny");
    expect(await errorAt(page)).toBe("access_denied");
    await page.goto(address);
    expect(await page.locator("main").textContent()).toContain("Bob Example (bob)");
    await click(page, "Use another account");
    await follow(page, "Continue with Keycloak");
    await page.locator("[name=login]").fill("kim");
    await page.locator("[name=password]").fill("any");
    await page.locator("[type=submit]").click();
    await page.locator("[type=submit]").click();
    await page.getByText("You are signed in as Kim").waitFor();
    await click(page, "Allow");
    expect(await callerAt(page, person)).toBe(`${keycloak.issuer} k1`);
    expect(complained(page)).toEqual([]);

    const owner = await asked(NO_SCRIPT);
    await follow(owner.page, "Use the passphrase of this server");
    await owner.page.getByLabel("Passphrase").fill(PASSPHRASE);
    await click(owner.page, "Allow");
    expect(await callerAt(owner.page, owner.person)).toBe("owner");
    expect(complained(owner.page)).toEqual([]);
  });

  test("the page of consent may be reloaded, left and come back to", async () => {
    const { person, page } = await asked();
    await throughGitHub(page, "bob");
    await page.getByText("You are signed in as").waitFor();
    await page.reload();
    await click(page, "Allow");
    expect(await callerAt(page, person)).toBe(`${github.url} 2`);
    await page.goBack();
    await page.getByText("You are signed in as").waitFor();
    await click(page, "Deny");
    expect(await errorAt(page)).toBe("access_denied");
    await page.goBack();
    await click(page, "Use another account");
    await page.getByText("Sign in first").waitFor();
    await page.goBack();
    // It is the page of a sign-in that is over, or the one to sign in: neither grants anything.
    const allow = page.getByRole("button", { name: "Allow" });
    if ((await allow.count()) > 0) await allow.click();
    await page.getByText("Sign in first").waitFor();
    expect(new URL(page.url()).origin).toBe(team.url.origin);
    expect(complained(page)).toEqual([]);
  });

  test("two tabs ask for two apps, and do not disturb each other", async () => {
    const { person, page } = await asked();
    const other = new Member(team.url, "GitHub", "");
    const tab = await page.context().newPage();
    await tab.goto(await other.asked());
    await follow(page, "Continue with GitHub");
    await throughGitHub(tab, "bob");
    await tab.getByText("You are signed in as").waitFor();
    await page.getByLabel("Login").fill("bob");
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByText("You are signed in as").waitFor();
    await click(page, "Allow");
    expect(await callerAt(page, person)).toBe(`${github.url} 2`);
    // The person has signed in anew since this page was made, but is the same.
    await click(tab, "Allow");
    expect(await callerAt(tab, other)).toBe(`${github.url} 2`);
    expect(complained(page)).toEqual([]);
  });

  test("who has signed out in another tab grants nothing, and is asked to sign in", async () => {
    const { page } = await asked();
    await throughGitHub(page, "bob");
    await page.getByText("You are signed in as").waitFor();
    const tab = await page.context().newPage();
    await tab.goto(at("/account"));
    await click(tab, "Sign out");
    await tab.getByText("You are signed out").waitFor();
    await click(page, "Allow");
    await page.getByText("Sign in first").waitFor();
    expect(new URL(page.url()).origin).toBe(team.url.origin);
    await throughGitHub(page, "bob");
    await page.getByText("You are signed in as").waitFor();
  });

  const REFUSALS: [what: string, login: string, organization: object, why: string][] = [
    ["in no group", "carl", {}, "not one of those that this server lets in"],
    ["with an open invitation", "dora", {}, "The invitation to acme is open"],
    ["without single sign-on", "bob", { singleSignOn: true }, "single sign-on first"],
    ["of an app without approval", "bob", { restricted: true }, "has not approved this app yet"],
  ];
  test.each(REFUSALS)(
    "a person %s is told why, and how to go on",
    async (what, login, more, reason) => {
      github.organizations = { acme: { id: 7, ...more } };
      const { person, page } = await asked();
      await throughGitHub(page, login);
      expect(await heading(page)).toBe("You were not signed in");
      expect(await page.locator("main").textContent()).toContain(`(${login}) is not one of those`);
      expect(await page.locator("main").textContent()).toContain(reason);
      const links = await page.locator("main p:not(.acts) a").all();
      expect(links.length).toBe("singleSignOn" in more ? 1 : 0);
      for (const link of links) {
        expect(await link.getAttribute("href")).toMatch(
          /^https:\/\/github\.com\/orgs\/acme\/sso\?/,
        );
        await link.click({ trial: true });
      }
      expect(await faults(page, `team-refused-${what.replaceAll(" ", "-")}`)).toEqual([]);
      // Once that is settled, the same way leads on, also after a reload of the refusal.
      github.organizations = { acme: { id: 7 } };
      github.people[login === "carl" ? 2 : 3]!.organizations = member();
      await page.reload();
      await follow(page, "Try again");
      await page.getByLabel("Login").fill(login);
      await page.getByRole("button", { name: "Authorize" }).click();
      await click(page, "Allow");
      expect(await callerAt(page, person)).toContain(github.url);
      expect(complained(page)).toEqual([]);
    },
  );

  test("who may no longer enter when they consent is told why, and the app gets no code", async () => {
    const { page } = await asked(NO_SCRIPT);
    await throughGitHub(page, "bob");
    github.organizations = { acme: { id: 7, singleSignOn: true } };
    await click(page, "Allow");
    expect(await heading(page)).toBe("You were not signed in");
    await page.locator('main a[href^="https://github.com/orgs/acme/sso"]').click({ trial: true });
    expect(new URL(page.url()).origin).toBe(team.url.origin);
    expect(complained(page)).toEqual([]);
  });

  test("who may not operate is told so by the page of an app that asks for that alone", async () => {
    const { page } = await asked({}, { scope: "operator" });
    await throughGitHub(page, "bob");
    expect(await page.locator("main").textContent()).toContain("none of which your role");
    expect(await faults(page, "team-refused-scope")).toEqual([]);
    await page.getByRole("link", { name: /^Back to / }).click();
    expect(await errorAt(page)).toBe("access_denied");
  });

  test("who is refused signs in with another account, for the same app or page", async () => {
    const { person, page } = await asked(NO_SCRIPT);
    await throughGitHub(page, "carl");
    await throughGitHub(page, "bob", "Sign in with another account");
    expect(await heading(page)).toBe("Let An app use Weather tools?");
    await click(page, "Allow");
    expect(await callerAt(page, person)).toBe(`${github.url} 2`);

    const live = await signedIn("carl", "/console/live", NO_SCRIPT);
    await follow(live, "Sign in another way");
    expect(await heading(live)).toBe("Sign in to Weather tools");
    await throughGitHub(live, "bob");
    expect(await heading(live)).toBe("Live");
    expect(new URL(live.url()).pathname).toBe("/console/live");
  });

  test("a provider that does not answer, or at which somebody cancels, is no dead end", async () => {
    const { page } = await asked();
    github.rateLimit = { kind: "primary", status: 403, retryAfter: 60 };
    await throughGitHub(page, "bob");
    expect(await page.locator("main").textContent()).toContain("GitHub does not answer");
    expect(await faults(page, "team-down-after")).toEqual([]);
    github.rateLimit = undefined;
    await follow(page, "Try again");
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await page.locator("main").textContent()).toContain("You did not sign in at GitHub");
    expect(await page.locator("main .primary").allTextContents()).toEqual(["Try again"]);
    expect(await faults(page, "team-cancelled")).toEqual([]);
    await follow(page, "Try again");
    await page.getByLabel("Login").fill("bob");
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByText("You are signed in as").waitFor();

    const { page: other } = await asked();
    await okta.fail("refused");
    await follow(other, `Continue with ${OWN_NAME}`);
    expect(await other.locator("main").textContent()).toContain("cannot be reached");
    expect(await faults(other, "team-down-before")).toEqual([]);
    await okta.fail();
    await follow(other, "Try again");
    await other.locator("[name=login]").waitFor();
  });

  test("people sign in to the console, come back to where they were, and sign out", async () => {
    const page = await opened(browser!, at("/sign-in?back=/console/live"));
    expect(await faults(page, "team-sign-in")).toEqual([]);
    await throughGitHub(page, "ada");
    expect(await heading(page)).toBe("Live");
    expect(new URL(page.url()).pathname).toBe("/console/live");
    expect(await faults(page, "team-live")).toEqual([]);
    await follow(page, "Account");
    expect(await faults(page, "team-account")).toEqual([]);
    await click(page, "Sign out");
    await page.getByText("So are your other browsers").waitFor();
    expect(await faults(page, "team-signed-out")).toEqual([]);
    await follow(page, "Sign in again");
    expect(await heading(page)).toBe("Sign in to Weather tools");
    expect(complained(page)).toEqual([]);
  });

  test("a single provider is the primary way, and the only one", async () => {
    const page = await opened(browser!, at("/sign-in?back=/console/live", single));
    expect(await page.locator("main .primary").allTextContents()).toEqual(["Continue with GitHub"]);
    expect(await page.locator("main input").count()).toBe(0);
    expect(await faults(page, "team-sign-in-single")).toEqual([]);
  });

  test("who is no operator is told that the list of members is for those", async () => {
    const page = await signedIn("bob", "/console/members");
    expect(await heading(page)).toBe("This page is for operators");
    expect(await faults(page, "team-members-refused")).toEqual([]);
  });

  test("an operator sees the members, ends the access of one and lets them in again", async () => {
    const bob = await signedIn("bob", "/console/live");
    const page = await signedIn("ada", "/console/members");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    expect(await row("Bob Example").getByRole("button").count()).toBe(1);
    // Nobody locks themselves out.
    expect(await row("Wolfeschlegel").getByRole("button").count()).toBe(0);
    expect(await faults(page, "team-members-few")).toEqual([]);
    await row("Bob Example").getByRole("button", { name: "End access" }).click();
    await row("Bob Example").getByText("ended", { exact: true }).waitFor();
    await bob.reload();
    expect(await heading(bob)).toBe("Sign in to Weather tools");
    await throughGitHub(bob, "bob");
    expect(await bob.locator("main").textContent()).toContain("ended by somebody who runs it");
    expect(await faults(bob, "team-refused-ended")).toEqual([]);
    await row("Bob Example").getByRole("button", { name: "Let in again" }).click();
    await row("Bob Example").getByText("signed out", { exact: true }).waitFor();
    await follow(bob, "Try again");
    await bob.getByLabel("Login").fill("bob");
    await bob.getByRole("button", { name: "Authorize" }).click();
    expect(await heading(bob)).toBe("Live");
    expect(complained(bob)).toEqual([]);
    expect(complained(page)).toEqual([]);
  });

  test("many members are shown on several pages, with all that can be said of them", async () => {
    const names = Array.from({ length: 12 }, (_, nth) => `Member ${nth}`);
    github.people.push(
      ...names.map((name, nth) => ({
        id: 100 + nth,
        login: `m${nth}`,
        name: nth === 5 ? LONG_NAME : name,
        organizations: member(),
      })),
    );
    for (const [nth] of names.entries()) {
      const one = new Member(team.url, "GitHub", `m${nth}`);
      await one.open("/account");
      const out = new URL("/sign-out", team.url).href;
      if (nth % 3 === 0) await one.browser.open(out, new URLSearchParams());
    }
    const page = await signedIn("ada", "/console/members");
    const rows = page.locator("tbody tr").filter({ has: page.locator(".member") });
    expect(await rows.count()).toBe(8);
    await rows
      .filter({ hasNotText: "ada" })
      .getByRole("button", { name: "End access" })
      .first()
      .click();
    await page.getByText("ended", { exact: true }).waitFor();
    const first = await rows.allTextContents();
    await follow(page, "More");
    const more = await rows.allTextContents();
    expect(more.length).toBeGreaterThan(3);
    expect(more.filter((one) => first.includes(one))).toEqual([]);
    await rows.getByRole("button", { name: "End access" }).first().click();
    await rows.getByText("ended", { exact: true }).waitFor();
    // The same part of the list is shown again.
    expect(await rows.count()).toBe(more.length);
    await page.goto(at("/console/members"));
    await page.locator("tbody summary").first().click();
    expect(await faults(page, "team-members-many")).toEqual([]);
    expect(complained(page)).toEqual([]);
  });
});
