import { hash } from "node:crypto";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ELICIT, followed, planned } from "../../../node/http/live-calls.ts";
import { opened, realBrowser } from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** What people come to the console for, in clicks from the home page. */

const { browser, why } = await realBrowser();

const server = await serving({
  assets: ".bundle/assets",
  variables: {
    API_KEYS: JSON.stringify({
      ada: hash("sha256", "ada"),
      // Its revocation is known for some seconds after it was restored.
      lost: hash("sha256", "lost"),
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
  test("why a call has failed is said in two", async () => {
    await planned(server.url, "ada", { do: "fail", message: "the station 4711 does not answer" });
    const { page, click, clicks } = await homeOf("ada");
    await click(page.getByRole("link", { name: "Live", exact: true }));
    const failed = page.locator("#live li").filter({ hasText: "Failed" });
    await click(failed.getByRole("link", { name: "plan_always" }));
    await page.getByRole("alert").getByText("the station 4711 does not answer").waitFor();
    await page.getByText("Change what it names, then call it again.").waitFor();
    expect(clicks()).toBeLessThanOrEqual(3);
  });

  test.each([
    ["with script", "Your answer was taken.", {}],
    ["without script", "Thank you", { javaScriptEnabled: false }],
  ])(
    "a question is answered on a phone after two: %s",
    async (_how, thanks, options: BrowserContextOptions) => {
      await planned(server.url, "op", ELICIT);
      const phone = { viewport: { width: 390, height: 844 }, ...options };
      const { page, click, clicks } = await homeOf("op", phone);
      await click(page.getByRole("main").getByRole("link", { name: "Answer", exact: true }));
      if (options.javaScriptEnabled !== false) await followed(page);
      await click(page.locator("#live").getByRole("link", { name: "Answer" }).first());
      expect(clicks()).toBeLessThanOrEqual(2);
      await page.getByRole("textbox").fill("Ada");
      await page.getByRole("button", { name: "Send this answer" }).click();
      await page.getByText(thanks).waitFor();
    },
  );

  test.each([
    ["with script", {}],
    ["without script", { javaScriptEnabled: false }],
    ["on a phone", { viewport: { width: 390, height: 844 } }],
  ])("a key is revoked in three: %s", async (_how, options) => {
    const { page, click, clicks } = await homeOf("op", options);
    await click(page.getByRole("link", { name: "Operate", exact: true }));
    const restore = page.getByRole("button", { name: "Restore lost" });
    await click(page.getByRole("button", { name: "Revoke lost" }));
    await click(page.getByRole("button", { name: "Revoke lost" }));
    await page.getByText("The key is revoked").waitFor();
    expect(clicks()).toBeLessThanOrEqual(3);
    await restore.click();
    await restore.click();
    await page.getByText("The key is valid again").waitFor();
  });

  test.each([
    ["with a mouse", {}],
    ["on a phone", { viewport: { width: 390, height: 844 } }],
  ])("a tool with a nested argument is called in three: %s", async (_how, options) => {
    const { page, click, clicks } = await homeOf("ada", options);
    const nested = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const inputSchema = { type: "object", properties: { address: nested }, required: ["address"] };
    await page.route("**/console/mcp", async (route) => {
      const response = await route.fetch();
      if (!route.request().postData()?.includes('"tools/list"')) return route.fulfill({ response });
      const answer = (await response.json()) as any;
      for (const tool of answer.result.tools)
        if (tool.name === "echo_input") tool.inputSchema = inputSchema;
      return route.fulfill({ response, json: answer });
    });
    await click(page.locator('.entry[data-name="echo_input"] a'));
    const city = page.getByRole("group", { name: "address" }).getByLabel("city");
    await click(city);
    await page.keyboard.type("Lublin");
    await click(page.getByRole("button", { name: "Run" }));
    await page.locator(".result").getByText("Lublin").first().waitFor();
    expect(clicks()).toBeLessThanOrEqual(3);
  });
});
