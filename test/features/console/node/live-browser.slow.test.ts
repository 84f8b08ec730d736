import { hash } from "node:crypto";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { ELICIT, HOUR, listOf, planned } from "../../../node/http/live-calls.ts";
import { realBrowser } from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** The list of a person who has a thousand calls, in a real browser. */

const { browser, why } = await realBrowser();
const NAME = "many";
const { url } = await serving({
  assets: ".bundle/assets",
  variables: { API_KEYS: JSON.stringify({ [NAME]: hash("sha256", NAME) }) },
});
const begin = (count: number, step: object) =>
  Promise.all(Array.from({ length: count }, () => planned(url, NAME, step)));

/** The goal for the longest task of the page, in ms. */
const GOAL_MS = 50;

const OBSERVE = `
  self.long = [];
  new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask", buffered: true });`;

/** Prints the tasks of more than 50 ms since the last time. How long they take is this machine's; that there are few is the page's. */
async function longTasks(page: Page, when: string): Promise<void> {
  const long = (await page.evaluate("long.splice(0)")) as number[];
  const longest = long.length === 0 ? `below ${GOAL_MS}` : Math.max(...long);
  console.log(
    `longest task of Live with 1,000 calls, ${when}: ${longest} ms of ${GOAL_MS} (${long.length} longer)`,
  );
  expect(long.length).toBeLessThan(5);
}

test.skipIf(browser === undefined)(
  `a thousand calls stay smooth: hardly a long task as they are shown, change and are filtered${why}`,
  { timeout: 120_000 },
  async () => {
    for (let nth = 0; nth < 40; nth++) await begin(25, HOUR);
    const { page, group, follows } = await listOf(browser!, url, NAME);
    await page.addInitScript(OBSERVE);
    await page.reload();
    await follows();
    await expect.poll(() => group("working").count()).toBe(1000);
    await longTasks(page, "as they are shown");
    await begin(20, ELICIT);
    await expect.poll(() => group("waiting").count()).toBe(20);
    await page.mouse.wheel(0, 5000);
    await longTasks(page, "as some change");
    await page.getByRole("searchbox").fill("nothing like this");
    await expect.poll(() => page.locator("#live li:visible").count()).toBe(0);
    await page.getByRole("searchbox").fill("");
    await expect.poll(() => page.locator("[data-count]").nth(1).textContent()).toBe("980");
    await longTasks(page, "as they are filtered");
  },
);
