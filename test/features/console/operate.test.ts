/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { noSums } from "../../../src/server/kernel/observe/counted.ts";
import { bundle } from "../../bundle.gen.ts";
import { send, serverOf } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";
import {
  formWith,
  keysOf,
  PATH,
  served,
  signedIn,
  type Server,
} from "../../worker/pages/operating.ts";
import { eventually } from "../../worker/waiting.ts";

/** The page on which operators see how the server is, and change it. */

const { keyCheckMs } = limits;
beforeEach(() => configureLimits({ keyCheckMs: 0 }));
afterEach(() => configureLimits({ keyCheckMs }));

describe("the page", () => {
  test("is for operators alone, who sign in there", async () => {
    const server = await served(["boss-1"], ["caller-1"]);
    const anyone = await browser(server).fetch(PATH);
    expect(anyone.text).toContain("API key");
    expect(anyone.text).not.toContain("Servlets");
    const caller = await (await signedIn(server, "caller-1")).fetch(PATH);
    expect(caller.status).toBe(403);
    expect(caller.text).toContain("This page is for operators");
    const { text, status } = await (await signedIn(server, "boss-1")).fetch(PATH);
    expect(status).toBe(200);
    expect(text).toContain("All servlets list their entries");
    expect(text).toMatch(/ hello \S+ the bundle /);
    expect(text).toContain(`pageItems ${limits.pageItems.toLocaleString("en")} the same`);
    for (const done of ["constructor", "__proto__", "<b>", "%"])
      expect((await (await signedIn(server, "boss-1")).fetch(`${PATH}?done=${done}`)).status).toBe(
        200,
      );
    const open = createApp(new Kernel(bundle, { ...env, AUTH: "none" }));
    expect((await browser(open).fetch(PATH)).status).toBe(403);
  });

  test("shows what bindings are missing, and how to check the server from outside", async () => {
    const { text } = await (await signedIn(await served(["boss-setup"]), "boss-setup")).fetch(PATH);
    expect(text).toContain("Clients reach this server at http://localhost:8787/mcp");
    expect(text).toContain("npm run servlets -- doctor http://localhost:8787/mcp");
    expect(text).not.toContain("since bindings are missing");
    const lacking = await serverOf(
      { "boss-setup": { scopes: ["operator"] } },
      { USAGE: undefined, KEY_RECORDS: undefined, PUBLIC_URL: "https://tools.example.com" },
    );
    const page = await (await signedIn(lacking, "boss-setup")).fetch(PATH);
    expect(page.text).toContain("counters, errors and the audit log USAGE");
    expect(page.text).toContain("making and revoking API keys while the server runs KEY_RECORDS");
    expect(page.text).toContain("PUBLIC_URL is https://tools.example.com : tokens and links");
  });

  test("shows the last errors with what to do, as text", { tags: ["usage"] }, async () => {
    const server = await served(["boss-2"]);
    const evil = "<script>alert(1)</script>\u202e";
    const error = { servlet: "hello", tool: evil, outcome: "trapped", message: evil };
    const call = { caller: evil, task: evil };
    const errors = [{ ...error, ...call, count: 3, last: Date.now() }];
    await usageOf(env)!().add({ total: noSums(), named: [], errors, stored: [], waiting: [] });
    const { text, html } = await (await signedIn(server, "boss-2")).fetch(PATH);
    expect(text).toMatch(/[1-9]\d* errors? in the last 24 hours (is|are) for you to fix/);
    expect(text).toMatch(
      /Crashed, or was stopped 3 times <script>\S+ of hello, called by <script>\S+, just now/,
    );
    expect(text).toContain("<script>alert(1)</script>\\u{202e}");
    expect(text).toContain("roll it back");
    expect(text).not.toContain("Open the call");
    expect(html.replace(/<script type="module" src="[^"]+"><\/script>/, "")).not.toMatch(
      /<script|\u202e/,
    );
  });

  test("keeps few errors, however many there are", { tags: ["usage"] }, async () => {
    const usage = usageOf(env)!();
    const last = Date.now();
    const errors = Array.from({ length: 500 }, (_, nth) => ({
      servlet: "hello",
      tool: "greet",
      outcome: "trapped",
      count: 1,
      last: last - 499 + nth,
      caller: "ada",
      task: null,
      message: `error ${nth}`,
    }));
    await usage.add({ total: noSums(), named: [], errors, stored: [], waiting: [] });
    const kept = await usage.errors();
    expect(kept.length).toBe(limits.shownErrors);
    // Other tests have errors of their own.
    const messages = kept.map(({ message }) => message);
    expect(messages.find((message) => message.startsWith("error "))).toBe("error 499");
  });

  test(
    "says whether all is well, and shows what callers were told apart",
    { tags: ["usage"] },
    async () => {
      const usage = usageOf(env)!();
      await runInDurableObject(usage, (_usage, { storage }) => {
        storage.sql.exec("DELETE FROM failures");
      });
      const error = { servlet: "hello", tool: "greet", message: "", count: 1, task: null };
      const told = { ...error, outcome: "servlet_error", caller: "ada", last: Date.now() };
      const old = { ...error, outcome: "threw", caller: "old", last: Date.now() - 25 * 3_600_000 };
      const add = (errors: (typeof told)[]) =>
        usage.add({ total: noSums(), named: [], errors, stored: [], waiting: [] });
      await add([told, { ...old, last: Date.now() - 31 * 86_400_000 }]);
      const boss = await signedIn(await served(["boss-11"]), "boss-11");
      const { text } = await boss.fetch(PATH);
      expect(text).toContain("All is well. All servlets list their entries");
      expect(text).toMatch(/1 more error, which callers were told.* called by ada/);
      expect(text).not.toContain("Uncaught exception");
      await add([old]);
      const later = (await boss.fetch(PATH)).text;
      expect(later).toContain(
        "No errors for you to fix in the last 24 hours; 1 older error is listed",
      );
      expect(later).not.toContain("All is well");
      expect(later).toMatch(/Errors Uncaught exception .* called by old/);
      // Health and errors come first, and what is installed after the keys.
      const headings = [...(await boss.fetch(PATH)).html.matchAll(/<h2[^>]*>([^<]+)</g)];
      expect(headings.map(([, name]) => name)).toEqual([
        "Errors",
        "Servlets",
        "Keys",
        "Versions",
        "Configuration",
        "Limits",
        "Audit log",
      ]);
    },
  );

  test(
    "leads to a call that failed, if it is the operator's own",
    { tags: ["usage"] },
    async () => {
      const server = await served(["boss-12", "chief-12"]);
      const boss = await signedIn(server, "boss-12");
      const objects = env.PROFILES!;
      const own = "a".repeat(64);
      const now = Date.now();
      const times = { created: now, updated: now, until: now + 60_000 };
      const call = { id: own, kind: "call" as const, name: "plan", status: "failed", ...times };
      await objects.getByName("boss-12").list("boss-12", call);
      const error = { servlet: "durable", tool: "plan", outcome: "threw", count: 1, last: now };
      const errors = [
        { ...error, message: "its own", caller: "boss-12", task: own },
        { ...error, message: "deleted", caller: "boss-12", task: "b".repeat(64) },
        { ...error, message: "of another", caller: "chief-12", task: "c".repeat(64) },
      ];
      const counted = { total: noSums(), named: [], errors, stored: [], waiting: [] };
      await usageOf(env)!().add(counted);
      const { html } = await boss.fetch(PATH);
      const links = [...html.matchAll(/\/console\/live\/(\w+)"/g)].map(([, id]) => id);
      expect(links).toEqual([own]);
      expect((await (await signedIn(server, "chief-12")).fetch(PATH)).html).not.toContain(own);
    },
  );
});

describe("a key", () => {
  test("that is revoked is refused everywhere, and valid again once it is restored", async () => {
    const server = await served(["boss-3"], ["lost-3"]);
    const call = async () => (await send(server, "lost-3", "tools/list")).status;
    const thief = await signedIn(server, "lost-3");
    expect([await call(), (await thief.fetch("/account")).status]).toEqual([200, 200]);
    const boss = await signedIn(server, "boss-3");
    const { html } = await boss.fetch(PATH);
    const asked = await boss.send(PATH, formWith(html, "Revoke lost-3"));
    expect(asked.text).toContain("Calls that were made with it continue");
    const revoked = await boss.send(PATH, formWith(asked.html, "Revoke lost-3"));
    expect(revoked.text).toContain("The key is revoked");
    expect(revoked.text).toContain("Revoked by boss-3");
    expect(asked.text).toContain("npm run keys -- revoke lost-3");
    await eventually(async () => expect(await call()).toBe(401));
    expect((await thief.fetch("/account")).text).not.toContain("You are signed in as");
    const again = await thief.send("/account", { credential: "lost-3" });
    expect(again.text).toContain("The API key lost-3 was revoked");
    const sure = await boss.send(PATH, formWith(revoked.html, "Restore lost-3"));
    expect(sure.text).toContain("may call: all but operator");
    const restored = await boss.send(PATH, formWith(sure.html, "Restore lost-3"));
    expect(restored.text).toContain("The key is valid again");
    await eventually(async () => expect(await call()).toBe(200));
  });

  test("is shown with the time of its last use", async () => {
    const server = await served(["boss-4"], ["used-4", "unused-4"]);
    await send(server, "used-4", "tools/list");
    await send(server, "used-4", "tools/list");
    const boss = await signedIn(server, "boss-4");
    await eventually(async () => {
      const { text } = await boss.fetch(PATH);
      expect(text).toMatch(/unused-4 all but operator never never/);
      expect(text).toMatch(/ used-4 all but operator never just now /);
    });
  });

  test("of one's own is revoked once that was said", async () => {
    const server = await served(["boss-5"]);
    const boss = await signedIn(server, "boss-5");
    const asked = await boss.send(PATH, formWith((await boss.fetch(PATH)).html, "Revoke boss-5"));
    expect(asked.text).toContain("You are signed in with this key");
    await boss.send(PATH, formWith(asked.html, "Revoke boss-5"));
    await eventually(async () =>
      expect((await boss.fetch(PATH)).text).not.toContain("All servlets list their entries"),
    );
  });
});

test(
  "a key is revoked, too, where counters and the list of acts do not answer",
  { tags: ["usage"] },
  async () => {
    const gone = async () => {
      throw new Error("the object is gone");
    };
    const usage = { addAct: gone, acts: gone, add: gone, errors: gone, report: gone };
    const stub = { ...usage, storedFor: gone, waitingOf: gone };
    const USAGE = { getByName: () => stub, get: () => stub, idFromName: () => "" };
    const API_KEYS = await keysOf(["boss-13"], ["lost-13"]);
    const server = createApp(
      new Kernel(bundle, {
        ...env,
        API_KEYS,
        USAGE: USAGE as unknown as typeof env.USAGE,
        LOADER: env.TEST_LOADER,
      }),
    );
    const boss = await signedIn(server, "boss-13");
    const page = await boss.fetch(PATH);
    expect(page.text).toContain("Errors are not known");
    const figures = await boss.fetch("/console/usage");
    expect(figures.status).toBe(503);
    expect(figures.text).toContain("The counters do not answer");
    const asked = await boss.send(PATH, formWith(page.html, "Revoke lost-13"));
    const revoked = await boss.send(PATH, formWith(asked.html, "Revoke lost-13"));
    expect(revoked.text).toContain("The key is revoked");
    expect((await boss.fetch("/account")).text).toContain("You are signed in as boss-13");
  },
);

test("people sign out, too, where it is not known which keys are revoked", async () => {
  const get = () => {
    throw new Error("the object is gone");
  };
  const records = { getByName: get, get, idFromName: get };
  const KEY_RECORDS = records as unknown as NonNullable<typeof env.KEY_RECORDS>;
  const own = { ...env, API_KEYS: await keysOf([], ["ada-14"]) };
  const server = createApp(new Kernel(bundle, own));
  const without = createApp(new Kernel(bundle, { ...own, KEY_RECORDS }));
  const at = { server };
  const ada = browser({ fetch: (raw: Request) => at.server.fetch(raw) } as Server);
  await ada.send("/account", { credential: "ada-14" });
  at.server = without;
  expect((await ada.fetch("/account")).status).toBe(503);
  expect((await ada.send("/sign-out", {})).text).toContain("You are signed out");
  at.server = server;
  expect((await ada.fetch("/account")).text).not.toContain("You are signed in");
});

describe("a key that is made here", () => {
  const making = (html: string, of: Record<string, string>) => ({
    ...formWith(html, "Make the key"),
    ...of,
  });
  const secretIn = (html: string) => /esk_[\w-]{43}/.exec(html)?.[0] ?? "";
  const status = async (server: Server, key: string) =>
    (await send(server, key, "tools/list")).status;

  test(
    "is shown once, works within its scopes, signs people in, and is removed",
    { tags: ["usage"] },
    async () => {
      const server = await served(["boss-9"]);
      const boss = await signedIn(server, "boss-9");
      const form = making((await boss.fetch(PATH)).html, { name: "made-9", scopes: "hello:*" });
      const made = await boss.send(PATH, form);
      const secret = secretIn(made.html);
      expect(made.text).toContain(`--header "Authorization: Bearer ${secret}"`);
      expect(made.text).not.toContain("YOUR-KEY");
      expect(made.html).toMatch(/id="phone"[^>]* data-url="http:[^"]*\/mcp"/);
      await eventually(async () => expect(await status(server, secret)).toBe(200));
      expect((await signedIn(server, secret)).fetch).toBeDefined();
      const page = await boss.fetch(PATH);
      expect(page.html).not.toContain(secret);
      expect(page.text).toMatch(/made-9 made by boss-9, [^]* hello:\*/);
      const { text } = await (await signedIn(server, secret)).fetch("/account");
      expect(text).toContain("made-9");
      const own = await boss.send(PATH, formWith(page.html, "Revoke boss-9"));
      expect(own.text).toContain("Keys that boss-9 made stay valid: made-9.");
      const asked = await boss.send(PATH, formWith(page.html, "Revoke made-9"));
      expect(asked.text).not.toContain("stay valid");
      const revoked = await boss.send(PATH, formWith(asked.html, "Revoke made-9"));
      await eventually(async () => expect(await status(server, secret)).toBe(401));
      const other = await boss.send(PATH, formWith(revoked.html, "Revoke boss-9"));
      expect(other.text).not.toContain("stay valid");
      const sure = await boss.send(PATH, formWith(revoked.html, "Remove made-9"));
      expect(sure.text).toContain("a new key of this name would have it");
      const removed = await boss.send(PATH, formWith(sure.html, "Remove made-9"));
      expect(removed.text).not.toMatch(/made-9 made by/);
      expect(await status(server, secret)).toBe(401);
      expect((await boss.fetch(PATH)).text).toMatch(
        /Removed the key made-9\.[^]*Revoked the key made-9\.[^]*Made the key made-9, which may call hello:\*/,
      );
    },
  );

  test("stays valid without the key that made it, as is said when this is revoked", async () => {
    const server = await served(["boss-15"]);
    const boss = await signedIn(server, "boss-15");
    const form = making((await boss.fetch(PATH)).html, { name: "made-15" });
    const made = await boss.send(PATH, form);
    const twice = await boss.send(PATH, form);
    expect(twice.text).toContain("a key made-15 already");
    expect(secretIn(twice.html)).toBe("");
    const asked = await boss.send(PATH, formWith((await boss.fetch(PATH)).html, "Revoke boss-15"));
    expect(asked.text).toContain("stay valid: made-15.");
    await boss.send(PATH, formWith(asked.html, "Revoke boss-15"));
    await eventually(async () => expect(await status(server, "boss-15")).toBe(401));
    expect(await status(server, secretIn(made.html))).toBe(200);
  });

  test("comes with a warning of scopes that match nothing", async () => {
    const server = await served(["boss-17"]);
    const boss = await signedIn(server, "boss-17");
    const { html } = await boss.fetch(PATH);
    const make = async (name: string, scopes: string) =>
      (await boss.send(PATH, making(html, { name, scopes }))).text;
    const fitting =
      "operator hello:greet hello:* *:greet http-status:http-status://404 profile:any";
    expect(await make("made-17a", fitting)).not.toContain("fits");
    expect(await make("made-17b", "hello:* helo:* hello:gret")).toContain(
      "Nothing that this server offers now matches helo:*, hello:gret. Check the names for misspellings.",
    );
  });

  test("lasts no longer than the key that has made it", async () => {
    const server = await served(["boss-16"]);
    const boss = await signedIn(server, "boss-16");
    const form = { name: "brief-16", scopes: "operator hello:*", days: "3" };
    const brief = await boss.send(PATH, making((await boss.fetch(PATH)).html, form));
    const secret = secretIn(brief.html);
    await eventually(async () => expect(await status(server, secret)).toBe(200));
    const own = await signedIn(server, secret);
    const { html } = await own.fetch(PATH);
    const make = async (days: string) =>
      own.send(PATH, making(html, { name: `by-brief-${days}`, scopes: "hello:*", days }));
    for (const days of ["", "4"])
      expect((await make(days)).text).toMatch(/Your own key expires in 3 days, [^]* fewer days/);
    expect(secretIn((await make("2")).html)).not.toBe("");
  });

  test.each([
    [{ name: "a b" }, "name", "letters, digits"],
    [{ name: "owner" }, "name", "letters, digits"],
    [{ name: "boss-10" }, "name", "a key boss-10 already"],
    [{ name: "x", scopes: "nowhere" }, "scopes", "nowhere is no scope"],
    [{ name: "x", scopes: "a:b,".repeat(600) }, "scopes", "at most 2000 characters"],
    [{ name: "x", days: "0" }, "days", "from 1 to 3660"],
    [{ name: "x", days: "0.01" }, "days", "from 1 to 3660"],
    [{ name: "x", days: "many" }, "days", "from 1 to 3660"],
  ])("is not made of %j, which stays in the form with the reason", async (of, field, why) => {
    const server = await served(["boss-10"]);
    const boss = await signedIn(server, "boss-10");
    const said = await boss.send(PATH, making((await boss.fetch(PATH)).html, of));
    expect(said.response.status).toBe(why.includes("already") ? 409 : 400);
    expect(said.text).toContain(why);
    expect(secretIn(said.html)).toBe("");
    expect(formWith(said.html, "Make the key")).toMatchObject(of);
    const [wrong, ...others] = said.html.match(/<input[^>]*aria-invalid[^>]*>/g) ?? [];
    expect(wrong).toContain(`name="${field}"`);
    expect(others).toEqual([]);
  });
});

test.each([
  ["", "grant *:*"],
  ["hello:* *:greet", "grant *:greet"],
  ["chart:*", "grant chart:*"],
  ["chart:draw_* hello:greet operator", undefined],
])("a key with the scopes %j, which its maker's own may not have: %s", async (scopes, why) => {
  const server = await served(["narrow"]);
  const narrow = await signedIn(server, "narrow");
  const name = `by-narrow-${scopes.length}`;
  const form = { ...formWith((await narrow.fetch(PATH)).html, "Make the key"), name, scopes };
  const { text } = await narrow.send(PATH, form);
  expect(text).toContain(why ?? "is not kept");
});

test.each([
  ["wide-17", "grant *:*"],
  ["narrow-17", undefined],
])(
  "a revoked key that may do more than its operator's own is not restored by it: %s",
  { tags: ["usage"] },
  async (name, why) => {
    const server = await served(["narrow", "boss-17", "narrow-17"], ["wide-17"]);
    const boss = await signedIn(server, "boss-17");
    const asked = await boss.send(PATH, formWith((await boss.fetch(PATH)).html, `Revoke ${name}`));
    await boss.send(PATH, formWith(asked.html, `Revoke ${name}`));
    await eventually(async () => expect((await send(server, name, "tools/list")).status).toBe(401));
    const narrow = await signedIn(server, "narrow");
    const form = formWith((await narrow.fetch(PATH)).html, `Restore ${name}`);
    const said = await narrow.send(PATH, form);
    const done = await narrow.send(PATH, { ...form, do: "restore" });
    expect([said.text, done.text].map((text) => text.includes(why ?? "does not"))).toEqual([
      why !== undefined,
      why !== undefined,
    ]);
    const status = async () => (await send(server, name, "tools/list")).status;
    await eventually(async () => expect(await status()).toBe(why === undefined ? 200 : 401));
  },
);

test(
  "what operators did is noted for a while, and no more than there is room for",
  { tags: ["usage"] },
  async () => {
    const usage = env.USAGE!.getByName("acts");
    const act = { by: "b".repeat(1000), how: "page" as const, what: "\u202e".repeat(1000) };
    for (let nth = 0; nth < 1010; nth++) await usage.addAct({ ...act, what: `${nth}${act.what}` });
    const acts = await usage.acts();
    expect(acts).toHaveLength(1000);
    expect(acts[0]!.what).toMatch(/^1009\\u\{202e\}/);
    expect(acts[0]!.what.length + acts[0]!.by.length).toBeLessThan(700);
    await runInDurableObject(usage, (_usage, { storage }) => {
      storage.sql.exec("UPDATE acts SET at = at - ?", 91 * 86_400_000);
    });
    await usage.addAct({ ...act, what: "new" });
    expect((await usage.acts()).map(({ what }) => what)).toEqual(["new"]);
  },
);

describe("forms", () => {
  test("of other pages, sites and persons do nothing", async () => {
    const server = await served(["boss-6", "chief-6"], ["caller-6"]);
    const boss = await signedIn(server, "boss-6");
    const form = formWith((await boss.fetch(PATH)).html, "Revoke caller-6");
    const revoke = { ...form, do: "revoke" };
    expect((await boss.send(PATH, { ...revoke, token: "x" })).status).toBe(403);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await boss.send(PATH, revoke, foreign)).status).toBe(403);
    const chief = await signedIn(server, "chief-6");
    expect((await chief.send(PATH, revoke)).status).toBe(403);
    const caller = await signedIn(server, "caller-6");
    expect((await caller.send(PATH, revoke)).status).toBe(403);
    expect((await boss.send(PATH, { ...form, do: "anything" })).status).toBe(400);
    const asked = await boss.send(PATH, { ...form, do: "ask-revoke", name: "another" });
    expect(asked.text).toContain("Revoke the key caller-6?");
    const made = await boss.send(PATH, { ...revoke, key: "0".repeat(64) });
    expect(made.text).toContain("no longer there");
    expect((await send(server, "caller-6", "tools/list")).status).toBe(200);
  });
});
