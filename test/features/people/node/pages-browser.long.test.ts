import { hash } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { called } from "../../../node/http/called.ts";
import { CAPABILITIES, ELICIT, followed, planned } from "../../../node/http/live-calls.ts";
import {
  DRESSES,
  flaws,
  opened,
  PICTURES,
  realBrowser,
  smallTargets,
  tried,
} from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** All pages in a real browser, in each dress: a picture of each, to look at, its text, to read, and what holds for every page. */

const { browser, why } = await realBrowser();

const common = {
  SERVER_TITLE: "Weather tools",
  TEST_SERVLETS: "chart,durable,hello,http-status",
  TEST_LIMITS: JSON.stringify({ usageMs: 100 }),
};
const open = await serving({ assets: ".bundle/assets", variables: common });
const keyed = await serving({
  assets: ".bundle/assets",
  variables: {
    ...common,
    SERVER_COLOR: "#ffd700",
    SERVER_DESCRIPTION: "Forecasts, warnings and records of 40 stations.",
    API_KEYS: JSON.stringify({
      ada: hash("sha256", "ada"),
      op: { hash: hash("sha256", "op"), scopes: ["operator"] },
    }),
  },
});

/** A call of Ada's, which waits for her. */
let id: string;
beforeAll(async () => {
  id = await planned(keyed.url, "ada", ELICIT);
  // Calls that end: one well, one with wrong arguments, one with an error of its servlet.
  for (const [name, args] of [
    ["greet", { name: "Ada" }],
    ["greet", { name: 7 }],
    ["lookup_status", { code: 299 }],
  ] as const)
    await called(keyed.url, "ada", { name, args, capabilities: CAPABILITIES });
});

/** Where each page is, by its name in the pictures, and who has signed in there. */
const PLACES: Record<string, { at: typeof open; path: string; as?: string; click?: string }> = {
  home: { at: open, path: "/" },
  connect: { at: open, path: "/", click: "Connect" },
  "connect-keyed": { at: keyed, path: "/", click: "Connect" },
  "home-unknown": { at: keyed, path: "/" },
  "home-ada": { at: keyed, path: "/", as: "ada" },
  entry: { at: open, path: "/?tool=draw_chart" },
  "entry-run": { at: open, path: "/?tool=list_statuses", click: "Run" },
  "entry-tables": {
    at: open,
    path: "/?tool=lookup_status",
    click: "Arguments and results as tables",
  },
  "entry-gone": { at: open, path: "/?tool=nothing" },
  "sign-in": { at: keyed, path: "/sign-in?back=/console/live" },
  "sign-in-question": { at: keyed, path: "/ask/nothing" },
  question: { at: keyed, path: "/ask/ID", as: "ada" },
  live: { at: keyed, path: "/console/live", as: "ada" },
  call: { at: keyed, path: "/console/live/ID", as: "ada" },
  calls: { at: keyed, path: "/console/calls", as: "ada" },
  "calls-all": { at: keyed, path: "/console/calls", as: "op" },
  usage: { at: keyed, path: "/console/usage", as: "op" },
  operate: { at: keyed, path: "/console/operate", as: "op" },
  account: { at: keyed, path: "/account", as: "ada" },
  "not-found": { at: open, path: "/nothing" },
  "not-your-page": { at: open, path: "/ask/nothing" },
};

/** Signs in as somebody, once; the windows of all tests have the cookie. */
async function signedIn(as: string): Promise<BrowserContextOptions["storageState"]> {
  const context = await browser!.newContext();
  const page = await context.newPage();
  await page.goto(new URL("/sign-in", keyed.url).href);
  await page.getByLabel("API key").fill(as);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

const sessions = new Map<string, ReturnType<typeof signedIn>>();

/** A script that records in `shifts` what moves in a page without its user. */
const SHIFTS = `
  self.shifts = [];
  new PerformanceObserver((list) => shifts.push(
    ...list.getEntries().filter((one) => !one.hadRecentInput)
      .flatMap(({ sources }) => sources.map(({ node }) => node?.outerHTML.slice(0, 200)))))
    .observe({ type: "layout-shift", buffered: true });`;

/** The page in such a window; its layout shifts are counted from the beginning. */
async function pageAt(name: string, options: BrowserContextOptions): Promise<Page> {
  const { at, path, as, click } = PLACES[name]!;
  const storageState = as && (await sessions.getOrInsertComputed(as, () => signedIn(as)));
  const page = await opened(browser!, "about:blank", {
    ...options,
    ...(storageState && { storageState }),
  });
  await page.addInitScript(SHIFTS);
  await page.goto(new URL(path.replace("ID", id), at.url).href);
  await page.waitForLoadState("networkidle");
  if (click !== undefined) await page.getByText(click, { exact: true }).click();
  return page;
}

/** All that a page says, to read, also what it shows when it is asked to. */
async function wordsOf(page: Page): Promise<string> {
  await page.evaluate(
    `for (const one of document.querySelectorAll("details")) Object.assign(one, { name: "", open: true })`,
  );
  return page.locator("body").innerText();
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test.each(Object.keys(PLACES))(
    "%s has one heading, no barrier, no overflow, no shift, and nothing that the browser complains about",
    async (name) => {
      for (const [first, ...others] of [["phone"], ["light", "dark"]]) {
        const page = await pageAt(name, DRESSES[first!]!);
        expect(await page.locator("h1").count()).toBe(1);
        expect(await page.evaluate("shifts")).toEqual([]);
        expect(first === "phone" ? await smallTargets(page) : []).toEqual([]);
        expect(await flaws(page, `page-${name}`, [first!, ...others])).toEqual([]);
        if (first !== "phone") await writeFile(`${PICTURES}/page-${name}.txt`, await wordsOf(page));
      }
    },
  );

  test.each(["<form", "</main>"])(
    "a page is shown only when all of it has arrived: cut at %s",
    async (cut) => {
      const rest = Promise.withResolvers<void>();
      onTestFinished(() => rest.resolve());
      const answer = async ({ url, headers }: IncomingMessage, response: ServerResponse) => {
        const whole = await fetch(new URL(url!, keyed.url), {
          headers: { cookie: headers.cookie ?? "" },
        });
        response.setHeader("content-type", whole.headers.get("content-type")!);
        const text = await whole.text();
        const at = url === "/console/live" ? text.indexOf(cut) : text.length;
        response.write(text.slice(0, at));
        if (at < text.length) await rest.promise;
        response.end(text.slice(at));
      };
      const proxy = createServer((request, response) => {
        answer(request, response).catch(() => response.destroy());
      }).listen(0, "127.0.0.1");
      onTestFinished(() => void proxy.close());
      await once(proxy, "listening");
      const { port } = proxy.address() as AddressInfo;
      const page = await opened(browser!, "about:blank", { storageState: await signedIn("ada") });
      await page.addInitScript(SHIFTS);
      await page.goto(`http://127.0.0.1:${port}/console/live`, { waitUntil: "commit" });
      await page.getByText("Account").waitFor({ state: "attached" });
      // A page that waits has no frames, so those of another page are counted.
      const other = await page.context().newPage();
      const frames = `(async () => {
        for (let count = 0; count < 3; count++) await new Promise(requestAnimationFrame);
      })()`;
      await other.evaluate(frames);
      expect(await page.evaluate(`performance.getEntriesByType("paint").length`)).toBe(0);
      rest.resolve();
      await page.waitForLoadState("load");
      await page.evaluate(frames);
      expect(await page.evaluate("shifts")).toEqual([]);
    },
  );

  test("from home, Cursor is two clicks away", async () => {
    const page = await pageAt("home", {});
    await page.getByText("Connect", { exact: true }).click();
    const link = page.getByRole("link", { name: "Add to Cursor" });
    await link.click({ trial: true });
    expect(await link.getAttribute("href")).toMatch(/^cursor:/);
    expect(await page.getByRole("link", { name: "Add to Claude" }).count()).toBe(0);
    const names = await page
      .locator("[data-client]")
      .evaluateAll((all: any[]) => all.map(({ dataset }) => dataset["client"]));
    expect(names.slice(0, 3)).toEqual(["Claude Code", "Cursor", "VS Code"]);
    expect(names.slice(-2)).toEqual(["Claude", "ChatGPT"]);
  });

  test("from home, the question that waits is two clicks away", async () => {
    const page = await pageAt("home-ada", DRESSES["phone"]!);
    await page.getByText("1 question waits for you.").waitFor();
    await page.locator(".notice").getByRole("link", { name: "Answer" }).click();
    await followed(page);
    await page.locator("#live").getByRole("link", { name: "Answer" }).click();
    await page.getByRole("dialog", { name: "A question for you" }).waitFor();
    expect(await flaws(page, "answer-here")).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("who has signed in signs out by one click, on any page", async () => {
    const page = await pageAt("live", { javaScriptEnabled: false });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
    await page.goto(new URL("/console/live", keyed.url).href);
    expect(await page.textContent("h1")).toBe("Sign in to Weather tools");
  });

  test("the page says that the network is gone, and when it is back", async () => {
    const page = await pageAt("home", {});
    const place = await tried(page, "greet");
    await place.getByLabel("name").fill("Ada");
    await page.context().setOffline(true);
    await page.getByText("You are offline").waitFor();
    await place.getByRole("button", { name: "Run" }).click();
    await place.getByText("The server could not be reached").waitFor();
    await page.context().setOffline(false);
    await page.getByText("You are offline").waitFor({ state: "detached" });
    await place.getByRole("button", { name: "Run" }).click();
    await place.getByText("Hello, Ada!").first().waitFor();
    expect(await place.getByText("could not be reached").count()).toBe(0);
  });
});
