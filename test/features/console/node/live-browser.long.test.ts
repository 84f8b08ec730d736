import { hash } from "node:crypto";
import type { BrowserContextOptions } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  ELICIT,
  HOUR,
  listOf as listAt,
  planned as plannedAt,
} from "../../../node/http/live-calls.ts";
import { flaws, realBrowser, tried } from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** The list of a person's calls in a real browser, as they change; and the page of a call. */

const { browser, why } = await realBrowser();

const NAMES = [
  "ada",
  "bob",
  "eve",
  "dana",
  "flo",
  "kim",
  "ola",
  "tia",
  "una",
  "ivy",
  "joe",
  "many",
];
const server = await serving({
  assets: ".bundle/assets",
  variables: {
    API_KEYS: JSON.stringify(Object.fromEntries(NAMES.map((one) => [one, hash("sha256", one)]))),
  },
});

const small = await serving({
  assets: ".bundle/assets",
  variables: {
    API_KEYS: JSON.stringify({ ada: hash("sha256", "ada") }),
    TEST_LIMITS: JSON.stringify({ consoleStreams: 1 }),
  },
});

const NAP = { do: "sleep", ms: 1200 };

const planned = (name: string, ...steps: object[]) => plannedAt(server.url, name, ...steps);
const listOf = (name: string, options: BrowserContextOptions = {}, at = server) =>
  listAt(browser!, at.url, name, options);

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("the pages have no barrier, no overflow, and nothing that the browser complains about", async () => {
    const post = { do: "http", method: "POST", url: new URL("/nothing", server.url).href };
    const told = { do: "progress", message: "half of the pages are read" };
    const id = await planned("dana", { do: "config" }, NAP, post, ELICIT, NAP, ELICIT);
    await planned("dana", told, { ...HOUR, message: "x".repeat(400) });
    await planned("dana", { do: "fail", message: "the station 4711 does not answer" });
    await planned("dana", NAP);
    const { page, group } = await listOf("dana");
    await group("waiting").getByRole("link", { name: "Answer" }).click();
    await page.getByRole("textbox").fill("Ada");
    await Promise.all([
      page.waitForResponse((one) => one.request().method() === "POST"),
      page.getByRole("button", { name: "Send this answer" }).click(),
    ]);
    await page.goto(new URL("/console/live", server.url).href);
    await expect.poll(() => group("waiting").count()).toBe(1);
    await expect.poll(() => group("ended").count()).toBe(2);
    expect(await flaws(page, "live")).toEqual([]);
    await page.getByRole("link", { name: "plan_always", exact: true }).first().click();
    await page.getByText("Timeline").waitFor();
    await page.goto(new URL(`/console/live/${id}`, server.url).href);
    expect(await flaws(page, "call-waiting")).toEqual([]);
    await page.getByText("Replay, fork, cancel").click();
    await page.getByLabel("Start from").selectOption("3");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText('It would ask you "Who is it for?"').waitFor();
    expect(await flaws(page, "call")).toEqual([]);
    await page.getByRole("link", { name: "All calls" }).click();
    await group("ended").filter({ hasText: "4711" }).getByRole("link").first().click();
    await page.getByText("The tool could not do it").waitFor();
    expect(await flaws(page, "call-failed")).toEqual([]);
  });

  test("a call moves as it begins, waits, is answered and ends, without a reload; and only its person sees it", async () => {
    const [ada, bob] = [await listOf("ada"), await listOf("bob")];
    await planned("ada", ELICIT);
    await ada.group("waiting").first().waitFor();
    const news = ada.page.locator("#news");
    await expect.poll(() => news.textContent()).toBe("plan_always needs an answer.");
    expect(await ada.group("waiting").first().textContent()).toContain("Who is it for?");
    await ada.page.evaluate("window.isSame = true");
    const form = await ada.page.context().newPage();
    const href = await ada.page.getByRole("link", { name: "Answer" }).getAttribute("href");
    await form.goto(new URL(href!, server.url).href);
    await form.getByRole("textbox").fill("Ada");
    await form.getByRole("button", { name: /accept|send|submit/i }).click();
    await form.getByText("Thank you").waitFor();
    await ada.group("ended").first().waitFor();
    expect(await ada.group("waiting").count()).toBe(0);
    expect(await ada.page.evaluate("window.isSame")).toBe(true);
    expect(await bob.page.locator("#live li").count()).toBe(0);
  });

  test("a question and the next one can be answered in the list", async () => {
    await planned("ivy", ELICIT, { ...ELICIT, message: "And by whom?" });
    const { page, group } = await listOf("ivy");
    await page.evaluate("window.isSame = true");
    await group("waiting").getByRole("link", { name: "Answer" }).click();
    const dialog = page.getByRole("dialog", { name: "A question for you" });
    await dialog.getByText("Who is it for?", { exact: true }).waitFor();
    await dialog.getByRole("textbox").fill("Ada");
    await dialog.getByRole("button", { name: "Send this answer" }).click();
    await dialog.getByText("And by whom?", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await group("waiting").getByRole("link", { name: "Answer" }).click();
    await dialog.getByRole("button", { name: "Decline" }).click();
    await dialog.waitFor({ state: "detached" });
    await group("ended").first().waitFor();
    expect(await page.evaluate("window.isSame")).toBe(true);
  });

  test("an empty list says so once, and links to a tool to try", async () => {
    const { page, group } = await listOf("joe");
    await page.getByText("Nothing waits or runs").waitFor();
    expect(await page.locator("#live section:visible").count()).toBe(0);
    expect(await page.getByRole("link", { name: "Try a tool" }).getAttribute("href")).toBe("/");
    expect(await flaws(page, "live-empty")).toEqual([]);
    await planned("joe", HOUR);
    await group("working").first().waitFor();
    expect(await page.getByText("Nothing waits or runs").isVisible()).toBe(false);
    await page.getByRole("searchbox").fill("quagga");
    await page.getByText("No call matches the filter.").waitFor();
  });

  test("the list is filtered by words and state, and walked through by keys", async () => {
    await planned("flo", { ...ELICIT, message: "May the zebra go?" });
    await planned("flo", HOUR);
    await planned("flo", { do: "fail", message: "the quagga is gone" });
    const { page, group } = await listOf("flo");
    await expect.poll(() => group("ended").count()).toBe(1);
    const seen = () => page.locator("#live li:visible").count();
    expect(await seen()).toBe(3);
    await page.getByRole("searchbox").fill("zebra needs");
    await expect.poll(seen).toBe(1);
    expect(await page.locator("[data-count]").allTextContents()).toEqual(["1", "0", "0", "0"]);
    // What comes later is filtered, too.
    await planned("flo", { ...ELICIT, message: "May the ass go?" });
    await expect.poll(() => page.locator("#live li").count()).toBe(4);
    expect(await seen()).toBe(1);
    await page.keyboard.press("Escape");
    await expect.poll(seen).toBe(4);
    await page.getByLabel("State").selectOption("Failed");
    await expect.poll(seen).toBe(1);
    await page.getByText("the quagga is gone").waitFor();
    await page.getByLabel("State").selectOption("All states");
    await expect.poll(seen).toBe(4);
    await page.getByRole("searchbox").focus();
    const focused = () =>
      page.evaluate(
        "document.activeElement.closest('li')?.textContent ?? document.activeElement.name",
      );
    for (const words of ["ass", "zebra", "plan_always", "quagga"]) {
      await page.keyboard.press("ArrowDown");
      expect(await focused()).toContain(words);
    }
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    expect(await focused()).toBe("text");
    for (const _ of [1, 2]) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByText("May the zebra go?").first().waitFor();
  });

  test("a question of a tool that is tried in another tab waits here, too, until it is answered", async () => {
    const { page, group } = await listOf("tia");
    const other = await page.context().newPage();
    await other.goto(new URL("/", server.url).href);
    const place = await tried(other, "plan");
    const evil = { ...ELICIT, message: "Deploy\u202e?" };
    await place.getByLabel("steps").fill(JSON.stringify([evil]));
    await place.getByRole("button", { name: "Run" }).click();
    await place.getByRole("button", { name: "Decline" }).waitFor();
    await expect.poll(() => group("waiting").count()).toBe(1);
    expect(await group("waiting").textContent()).toContain("In another tab");
    expect(await group("waiting").textContent()).toContain("Deploy\\u{202e}?");
    expect(await page.locator("[data-count]").first().textContent()).toBe("1");
    await page.reload();
    await expect.poll(() => group("waiting").count()).toBe(1);
    await place.getByRole("button", { name: "Decline" }).click();
    await expect.poll(() => group("waiting").count()).toBe(0);
  });

  test("the page of a call says when it has changed, and changes nothing by itself", async () => {
    const id = await planned("una", ELICIT);
    const { page } = await listOf("una");
    await page.goto(new URL(`/console/live/${id}`, server.url).href);
    const form = await page.context().newPage();
    await form.goto(new URL(`/ask/${id}`, server.url).href);
    await form.getByRole("textbox").fill("Una");
    await form.getByRole("button", { name: "Send this answer" }).click();
    await form.getByText("Thank you").waitFor();
    await page.getByText("plan_always has succeeded.").waitFor();
    expect(await page.textContent("main")).toContain("Asks you: Who is it for?");
    await page.getByRole("link", { name: "Show it as it is now" }).click();
    await page.getByText("Succeeded").first().waitFor();
  });

  test("a restart of the server in the middle connects again, and misses nothing", async () => {
    const eve = await listOf("eve");
    await server.restart();
    await planned("eve", HOUR);
    await expect.poll(() => eve.group("working").count(), { timeout: 20_000 }).toBe(1);
  });

  test("the oldest of too many windows says that it follows the calls no longer, and lets the others", async () => {
    const first = await listOf("ada", {}, small);
    const second = await listOf("ada", {}, small);
    await first.page.getByText("More than 1 windows show your calls").waitFor();
    await plannedAt(small.url, "ada", HOUR);
    await expect.poll(() => second.group("working").count()).toBe(1);
    expect(await first.group("working").count()).toBe(0);
    expect(await first.page.locator("#news").textContent()).toContain("follows them no longer");
  });

  test("a sign-in that is over leads back to the same place", async () => {
    const { page, follows } = await listOf("kim");
    await page.context().clearCookies();
    await server.restart();
    await page.getByRole("link", { name: "Sign in again" }).click({ timeout: 20_000 });
    await page.getByLabel("API key").fill("kim");
    await page.getByRole("button", { name: "Continue" }).click();
    await follows();
    expect(new URL(page.url()).pathname).toBe("/console/live");
  });

  test("without script it is a printout that can be answered, cancelled and forked", async () => {
    const id = await planned("ola", ELICIT);
    const { page, group } = await listOf("ola", { javaScriptEnabled: false });
    await expect
      .poll(async () => {
        await page.reload();
        return group("waiting").count();
      })
      .toBe(1);
    await page.getByRole("link", { name: "plan_always", exact: true }).click();
    await page.getByText("Replay, fork, cancel").click();
    await page.getByLabel("Start from").selectOption("0");
    await page.getByRole("button", { name: "Fork …" }).click();
    await page.getByText("requests are sent again").waitFor();
    await page.getByRole("button", { name: "Fork the call" }).click();
    await page.getByText("Timeline").waitFor();
    expect(new URL(page.url()).pathname).not.toContain(id);
    await page.getByText("Replay, fork, cancel").click();
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByText("was cancelled").first().waitFor();
  });

  test("a change draws the row of its call anew, and no other", async () => {
    await Promise.all(Array.from({ length: 20 }, () => planned("many", HOUR)));
    const { page, group } = await listOf("many");
    await expect.poll(() => group("working").count()).toBe(20);
    await page.evaluate(
      "document.querySelectorAll('#live li').forEach((row) => (row.dataset.drawn = 'before'))",
    );
    await planned("many", ELICIT);
    await expect.poll(() => group("waiting").count()).toBe(1);
    expect(await page.locator("#live li[data-drawn=before]").count()).toBe(20);
  });
});
