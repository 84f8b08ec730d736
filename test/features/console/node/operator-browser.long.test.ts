import type { BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, NEWS_AT_ONCE, serveLoading } from "../../../node/http/installing.ts";
import { flaws, opened, realBrowser } from "../../../node/http/real-browser.ts";

/** The pages for operators in a real browser: usage, and what is served. */

const { browser, why } = await realBrowser();

let server: Awaited<ReturnType<typeof serveLoading>>;
beforeAll(async () => {
  const variables = { TEST_LIMITS: JSON.stringify({ ...NEWS_AT_ONCE, usageMs: 100 }) };
  server = await serveLoading({ assets: ".bundle/assets", variables });
});
afterAll(() => server.close());

/** The operator's key, as in `serveLoading`. */
const KEY = "esk_operator";

const SOURCE = (word: string) => `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  shout: { description: "Shouts.", input: { type: "object", properties: {} }, handler: () => "${word}" },
} });`;

/** Calls a tool some times, as the operator. */
async function called(name: string, args: object, times: number): Promise<void> {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  for (let nth = 0; nth < times; nth++) {
    const response = await fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${KEY}`,
      },
      body: JSON.stringify(body),
    });
    await response.text();
  }
}

async function at(path: string, options: BrowserContextOptions = {}) {
  const page = await opened(browser!, new URL(`/sign-in?back=${path}`, server.url).href, options);
  await page.getByLabel("API key").fill(KEY);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(path);
  return page;
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("the pages have no barrier and no overflow, also with what is asked before, errors and a new key", async () => {
    await called("greet", { name: "Ada" }, 5);
    await called("broken", {}, 2);
    await called("refuse", {}, 1);
    const page = await at("/console/usage");
    // Both show it a moment later.
    const shows = (what: string) =>
      expect.poll(async () => (await page.reload(), page.textContent("main"))).toContain(what);
    await shows("greet");
    expect(await flaws(page, "usage")).toEqual([]);
    const path = "/console/operate";
    await page.goto(new URL(path, server.url).href);
    await shows("Uncaught Error: oh no");
    await page.locator("summary", { hasText: "more error" }).click();
    await page.locator("summary", { hasText: "Limits in force" }).click();
    await page.locator("summary", { hasText: "Make a key" }).click();
    await page.getByLabel("Name").fill("key");
    expect(await flaws(page, "operate")).toEqual([]);
    // The second click would be answered with "there is a key already", and the secret be lost.
    await page.getByRole("button", { name: "Make the key" }).dblclick();
    await page.getByText("Copy it now").waitFor();
    expect(await flaws(page, "operate-key")).toEqual([]);
    await page.goto(new URL(path, server.url).href);
    await page.getByRole("button", { name: "Revoke key" }).click();
    expect(await flaws(page, "operate-revoke")).toEqual([]);
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("The key is revoked").waitFor();
    expect(await flaws(page, "operate-revoked")).toEqual([]);
  });

  test("what was published is installed, rolled back and uninstalled by clicks, also without script", async () => {
    await server.operator.put(await built("loud", SOURCE("HEY")), "build");
    const page = await at("/console/operate", { javaScriptEnabled: false });
    const main = page.locator("main");
    const click = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await click("Install loud");
    expect(await main.textContent()).toContain("All callers of this server can use it");
    await click("Install loud");
    await page.getByText("The servlet is installed").waitFor();
    await server.operator.put(await built("loud", SOURCE("HO")), "build");
    await page.reload();
    await click("Install loud");
    await click("Install loud");
    await click("Roll back loud to 1");
    expect(await main.textContent()).toContain("All callers get version 1");
    await click("Roll loud back to 1");
    await page.getByText("The older version is installed").waitFor();
    await click("Uninstall loud");
    await click("Uninstall loud");
    await page.getByText("The servlet is uninstalled").waitFor();
    expect(await page.getByRole("button", { name: "Uninstall loud" }).count()).toBe(0);
  });

  test("the charts change with what is chosen", async () => {
    await called("greet", { name: "Ada" }, 1);
    const page = await at("/console/usage");
    await page.getByRole("link", { name: "month" }).click();
    await page.getByRole("link", { name: "caller" }).click();
    expect(new URL(page.url()).search).toBe("?over=month&by=caller");
    await expect
      .poll(async () => (await page.reload(), page.locator("table").last().textContent()))
      .toContain("operator");
    const charts = page.locator("svg.chart");
    expect(await charts.count()).toBe(2);
    expect(await charts.first().locator("g").count()).toBe(30);
    const ticks = await page.locator(".tall").first().locator("span").allTextContents();
    expect(Number(ticks[0])).toBe(2 * Number(ticks[1]));
    expect(ticks[2]).toBe("0");
    await page.getByText("The charts as a table").click();
    expect(await page.locator("details table").first().textContent()).toMatch(/about|below/);
  });
});
