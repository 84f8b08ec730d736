import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { complaints, flaws, opened, realBrowser } from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** The console's page of schedules, in a real browser. */

const { browser, why } = await realBrowser();
const KEY = "key-of-the-boss";
const server = await serving({
  assets: ".bundle/assets",
  variables: {
    TEST_SERVLETS: "waking",
    API_KEYS: JSON.stringify({ boss: { hash: hash("sha256", KEY), scopes: ["*:*", "operator"] } }),
  },
});

/** The page, opened by an operator. */
async function open() {
  const page = await opened(browser!, new URL("/console/schedules", server.url).href);
  await page.getByLabel("API key").fill(KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Schedules", exact: true }).waitFor();
  return page;
}

async function call(name: string, args: object = {}): Promise<string> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(server.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `waking-${name}`,
      authorization: `Bearer ${KEY}`,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: `waking-${name}`, arguments: args, _meta },
    }),
  });
  return response.text();
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("shows what runs when, runs it now, pauses it and cancels it", async () => {
    expect(await call("later", { cron: "0 9 * * 1", text: "to the moon", id: "moon" })).toContain(
      "next",
    );
    const page = await open();
    await page.getByText("digest").first().waitFor();
    expect(await page.getByRole("row", { name: /moon/ }).innerText()).toContain("0 9 * * 1");
    const row = page.getByRole("row", { name: /moon/ });
    await row.getByRole("button", { name: "Run now" }).click();
    await page
      .getByRole("row", { name: /moon/ })
      .getByText(/ago|now/)
      .first()
      .waitFor();
    await expect.poll(() => call("seen")).toContain("to the moon");
    await row.getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").first().waitFor();
    await row.getByRole("button", { name: "Resume" }).click();
    await row.getByRole("button", { name: "Pause" }).waitFor();
    await row.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("You have no schedules").waitFor();
    expect(await flaws(page, "schedules")).toEqual([]);
    expect(complaints.get(page)).toEqual([]);
  });

  test("an operator answers what a servlet's schedule asks", async () => {
    const page = await open();
    const row = page.getByRole("row", { name: /asking/ });
    await row.getByRole("button", { name: "Run now" }).click();
    await expect
      .poll(async () => {
        await page.reload();
        return row.getByRole("link").first().innerText();
      })
      .toBe("asks: answer it");
    await row.getByRole("link").first().click();
    await page.getByLabel("text").fill("nothing at all");
    await page.getByRole("button", { name: "Send this answer" }).click();
    await page.getByText("Thank you").waitFor();
    await expect.poll(() => call("seen")).toContain("asked: nothing at all");
  });
});
