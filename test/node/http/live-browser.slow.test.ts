import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { ELICIT, HOUR, listOf, planned } from "./live-calls.ts";
import { realBrowser } from "./real-browser.ts";
import { serving } from "./serving.ts";

/** The list of a person who has a thousand calls, in a real browser. */

const { browser, why } = await realBrowser();
const NAME = "many";
const { url } = await serving({
  assets: ".bundle/assets",
  variables: { API_KEYS: JSON.stringify({ [NAME]: hash("sha256", NAME) }) },
});
const begin = (count: number, step: object) =>
  Promise.all(Array.from({ length: count }, () => planned(url, NAME, step)));

test.skipIf(browser === undefined)(
  `a thousand calls stay smooth: no long task while they change${why}`,
  { timeout: 120_000 },
  async () => {
    for (let nth = 0; nth < 40; nth++) await begin(25, HOUR);
    const { page, group } = await listOf(browser!, url, NAME);
    await expect.poll(() => group("working").count()).toBe(1000);
    await page.evaluate(`{
      window.long = [];
      new PerformanceObserver((list) => window.long.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask" });
    }`);
    await begin(20, ELICIT);
    await expect.poll(() => group("waiting").count()).toBe(20);
    await page.mouse.wheel(0, 5000);
    const long = (await page.evaluate("window.long")) as number[];
    console.log(`long tasks among 1,000 calls: ${JSON.stringify(long)} ms`);
    // How long they take is this machine's; that there are few is the page's.
    expect(long.length).toBeLessThan(5);
  },
);
