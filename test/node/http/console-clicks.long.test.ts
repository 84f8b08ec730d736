import { hash } from "node:crypto";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { opened, realBrowser } from "./real-browser.ts";
import { serving } from "./serving.ts";

/** What people come to the console for, in clicks from the home page. */

const { browser, why } = await realBrowser();

const server = await serving({
  assets: ".bundle/assets",
  variables: {
    API_KEYS: JSON.stringify({
      ada: hash("sha256", "ada"),
      op: { hash: hash("sha256", "op"), scopes: ["operator", "*:*"] },
    }),
  },
});

/** The home page of somebody who has signed in, and what counts the clicks from there. */
async function homeOf(who: string, options: BrowserContextOptions = {}) {
  const start = new URL("/sign-in?back=/", server.url).href;
  const page: Page = await opened(browser!, start, options);
  await page.getByLabel("API key").fill(who);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  let clicks = 0;
  const click = async (what: Locator) => {
    clicks++;
    await what.click();
  };
  return { page, click, clicks: () => clicks };
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test.each([
    ["with script", {}],
    ["without script", { javaScriptEnabled: false }],
    ["on a phone", { viewport: { width: 390, height: 844 } }],
  ])("a key is revoked in three: %s", async (_how, options) => {
    const { page, click, clicks } = await homeOf("op", options);
    await click(page.getByRole("link", { name: "Operate" }));
    const restore = page.getByRole("button", { name: "Restore ada" });
    await click(page.getByRole("button", { name: "Revoke ada" }));
    await click(page.getByRole("button", { name: "Revoke ada" }));
    await page.getByText("The key is revoked").waitFor();
    expect(clicks()).toBeLessThanOrEqual(3);
    await restore.click();
    await restore.click();
    await page.getByText("The key is valid again").waitFor();
  });
});
