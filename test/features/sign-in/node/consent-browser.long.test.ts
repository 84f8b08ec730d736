import { auth } from "@modelcontextprotocol/client";
import type { BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../../src/server/kernel/auth/passphrase.ts";
import { stop, type Served } from "../../../node/workerd.ts";
import { CALLBACK, credentials } from "../../../node/http/oauth-client.ts";
import { flaws, opened, PICTURES, realBrowser } from "../../../node/http/real-browser.ts";
import { serveTests } from "../../../node/http/serving.ts";

/** The page on which the owner approves a client, in a real browser. */

const { browser, why } = await realBrowser();

const PASSPHRASE = "correct horse battery";
const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";

let served: Served;
let url: URL;
beforeAll(async () => {
  const variables = {
    OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE),
    SCOPES: JSON.stringify({ greeter: ["hello:*"] }),
    SERVER_ICONS: JSON.stringify([{ src: ICON }]),
  };
  served = await serveTests({ durable: true, kv: ["OAUTH_KV"], variables });
  url = new URL(`http://127.0.0.1:${served.port}/mcp`);
});
afterAll(() => stop(served));

/** The page, as a client that has just registered sends its user there. */
async function consent(options: BrowserContextOptions = {}) {
  const client = credentials();
  await auth(client.provider, { serverUrl: url });
  return opened(browser!, client.asked().href, options);
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("the page has no barrier, no overflow, and nothing that the browser complains about", async () => {
    expect(await flaws(await consent(), "consent")).toEqual([]);
  });

  test("a wrong passphrase is an alert; the right one leads back to the client with a code", async () => {
    const page = await consent({ javaScriptEnabled: false });
    const decide = async (passphrase: string) => {
      await page.getByLabel("Passphrase").fill(passphrase);
      await page.getByRole("button", { name: "Allow" }).click();
    };
    await decide("wrong");
    await page.getByRole("alert").waitFor();
    await page.screenshot({ path: `${PICTURES}/consent-alert.png`, fullPage: true });
    // Nobody listens at the client's address: what counts is where the browser was sent.
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.url().startsWith(CALLBACK)),
      decide(PASSPHRASE),
    ]);
    expect(new URL(request.url()).searchParams.has("code")).toBe(true);
  });

  test("a denial leads back to the client with an error, without the passphrase", async () => {
    const page = await consent({ javaScriptEnabled: false });
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.url().startsWith(CALLBACK)),
      page.getByRole("button", { name: "Deny" }).click(),
    ]);
    expect(new URL(request.url()).searchParams.get("error")).toBe("access_denied");
  });
});
