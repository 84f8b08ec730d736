import { hash } from "node:crypto";
import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { accountProvider } from "../../../node/http/account-provider.ts";
import { barriers, flaws, realBrowser } from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** A person answers in a real browser what clients cannot ask. The server dies between any two steps. */

type Json = Record<string, any>;

const started = await realBrowser();

const server = await serving();

const KEY = "key-of-ada";
const port = await freePort();
const provider = await accountProvider(`http://127.0.0.1:${port}/account/callback`);
afterAll(() => provider.close());
// The provider's address leads on to its pages at another origin.
const hopPort = await freePort();
const hop = createServer(({ url = "" }, response) =>
  response.writeHead(302, { location: new URL(url, provider.issuer).href }).end(),
).listen(hopPort, "127.0.0.1");
afterAll(() => hop.close());
const keyed = await serving({
  port,
  internet: provider.internet,
  variables: {
    API_KEYS: JSON.stringify({ ada: hash("sha256", KEY) }),
    ACCOUNTS: JSON.stringify({
      google: {
        issuer: provider.issuer,
        ...provider.client,
        scopes: ["openid"],
        authorization_endpoint: `http://127.0.0.1:${hopPort}/auth`,
      },
    }),
    LOCAL_SECRET: provider.variables.LOCAL_SECRET,
  },
});

async function clientOf(mode: "legacy" | { pin: string }, at = server, capabilities = {}) {
  const info = { name: "plain", version: "1.0.0" };
  const client = new Client(info, { versionNegotiation: { mode }, capabilities });
  const headers: Record<string, string> = at === keyed ? { authorization: `Bearer ${KEY}` } : {};
  await client.connect(new StreamableHTTPClientTransport(at.url, { requestInit: { headers } }));
  return client;
}

/** Opens a page without scripts, as the person does. */
async function open(url: string, isScripted = false): Promise<Page> {
  const context = await started.browser!.newContext({ javaScriptEnabled: isScripted });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

describe.skipIf(started.browser === undefined)(`in a browser${started.why}`, () => {
  test.each([
    ["the official client of today", { pin: "2026-07-28" }],
    ["an older client, in a session", "legacy" as const],
  ])(
    "%s has a person approve, though the server is killed between the steps",
    async (_who, mode) => {
      const arguments_ = { what: "Paint the bridge", amount: "120 EUR" };
      const client = await clientOf(mode);
      const asked = await client.callTool({ name: "request_approval", arguments: arguments_ });
      await client.close();
      const { id, url } = (asked._meta as Json)["edge-servlets/waiting"];
      await server.restart();

      const page = await open(url);
      expect(await page.textContent("h1")).toBe("A question for you");
      expect(await page.textContent("body")).toContain("Paint the bridge");
      // The keyboard leads through the form in its order.
      const order: (string | null)[] = [];
      // Past the link to the content, and the way home.
      for (let nth = 0; nth < 2; nth++) await page.keyboard.press("Tab");
      for (let nth = 0; nth < 4; nth++) {
        await page.keyboard.press("Tab");
        order.push(await page.locator(":focus").getAttribute("name"));
      }
      expect(order).toEqual(["f0", "f1", "decision", "decision"]);
      await server.restart();
      await page.getByLabel("Yes").check();
      await page.getByLabel("Note").fill("In red.\nTwice.");
      await page.getByRole("button", { name: "Send this answer" }).click();
      await page.waitForSelector("text=Thank you");
      await server.restart();

      const later = await clientOf(mode);
      const { structuredContent, content } = (await later.callTool({
        name: "get_result",
        arguments: { id },
      })) as Json;
      const outcome = structuredContent ?? JSON.parse(content[1].text);
      expect(outcome).toMatchObject({ outcome: "approved", note: "In red.\nTwice." });
      await later.close();
    },
    120_000,
  );

  test("a person gives a secret, for which no client and no model is needed, and deletes it", async () => {
    const client = await clientOf({ pin: "2026-07-28" }, keyed);
    const steps = [{ do: "ask_secret", name: "DEEPL", message: "Your key of DeepL" }];
    const asked = await client.callTool({ name: "plan", arguments: { steps } });
    const { id, url } = asked.structuredContent as Json;
    const page = await open(url as string, true);
    expect(await page.textContent("h1")).toBe("Sign in to edge-servlets");
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel("API key").fill(KEY);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForSelector("text=A secret is needed");
    expect(await barriers(page)).toEqual([]);
    await keyed.restart();
    await page.getByLabel("DEEPL").fill("of ada");
    await page.getByRole("button", { name: "Keep this secret" }).click();
    await page.waitForSelector("text=Thank you");
    await keyed.restart();
    const again = await clientOf({ pin: "2026-07-28" }, keyed);
    const got = await again.callTool({ name: "get_result", arguments: { id } });
    expect((got.structuredContent as Json)["said"]).toEqual(["of ada"]);

    await page.goto(new URL("/account", keyed.url).href);
    expect(await page.textContent("main")).toContain("DEEPL");
    expect(await barriers(page)).toEqual([]);
    expect(await flaws(page, "account-kept")).toEqual([]);
    await page.getByRole("button", { name: "Forget me" }).click();
    await page.getByRole("heading", { name: "Forget everything?" }).waitFor();
    expect(await page.textContent("main")).toContain("1 secret");
    expect(await flaws(page, "account-forget")).toEqual([]);
    await page.getByRole("button", { name: "Go back" }).click();
    await page.getByRole("button", { name: "Delete DEEPL" }).click();
    await page.getByRole("heading", { name: "Delete DEEPL?" }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete DEEPL" }).click();
    await page.getByText("asks you for it").waitFor();
    const kept = { steps: [{ do: "kept", name: "DEEPL" }] };
    const left = await again.callTool({ name: "plan", arguments: kept });
    expect((left.structuredContent as Json)["said"]).toEqual([null]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector("text=You are signed out");
    await again.close();
  }, 120_000);

  test("a provider may lead on to another site, where people sign in", async () => {
    const client = await clientOf({ pin: "2026-07-28" }, keyed);
    const asked = await client.callTool({ name: "find_emails", arguments: {} });
    await client.close();
    const page = await open((asked._meta as Json)["edge-servlets/waiting"]["url"]);
    await page.getByLabel("API key").fill(KEY);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Continue to" }).click();
    await page.getByPlaceholder("Enter any login").waitFor({ timeout: 10_000 });
    expect(new URL(page.url()).origin).toBe(provider.issuer);
  }, 60_000);

  test("a client that opens pages has its user connect an account at a real provider, and gets mail", async () => {
    const opens = { elicitation: { url: {} } };
    const client = await clientOf({ pin: "2026-07-28" }, keyed, opens);
    const found: string[][] = [];
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const page = await open((params as Json)["url"] as string, true);
      await page.getByLabel("API key").fill(KEY);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.waitForSelector("text=Connect an account");
      found.push(await barriers(page));
      expect(await page.textContent("main")).toContain("gmail.readonly");
      await page.getByRole("button", { name: "Continue to" }).click();
      await page.getByPlaceholder("Enter any login").fill("ada");
      await page.getByPlaceholder("and password").fill("secret");
      await page.getByRole("button", { name: "Sign-in" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
      await page.waitForSelector("text=The account is connected");
      found.push(await barriers(page));
      await page.goto(new URL("/account", keyed.url).href);
      const [row] = await page.locator("tbody tr").allInnerTexts();
      expect(row).toMatch(/^google\s+mail\s/);
      found.push(await barriers(page));
      return { action: "accept" };
    });
    const { structuredContent } = await client.callTool({ name: "find_emails", arguments: {} });
    expect((structuredContent as Json)["emails"]).toMatchObject([
      { from: "ada", snippet: "Hello" },
    ]);
    expect(found).toEqual([[], [], []]);
    await client.close();
  }, 120_000);

  test("no barriers: the question, a refused answer, the end", async () => {
    const client = await clientOf({ pin: "2026-07-28" });
    const properties = {
      name: { type: "string", title: "Name", description: "Yours", minLength: 3 },
      size: { type: "number", title: "Size" },
      sure: { type: "boolean", title: "Sure" },
      color: { type: "string", enum: ["r", "g"], title: "Color" },
      many: { type: "array", items: { enum: ["x", "y"] }, title: "Many" },
    };
    const step = {
      do: "inputs",
      keys: ["a"],
      schema: { type: "object", properties, required: ["name", "sure"] },
    };
    const asked = await client.callTool({ name: "plan", arguments: { steps: [step] } });
    const { url } = asked.structuredContent as Json;
    const page = await open(url as string, true);
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel("Name").fill("ab");
    await page.getByLabel("Yes").check();
    await page.getByRole("button", { name: "Send this answer" }).click();
    await page.waitForSelector("[role=alert]");
    expect(await page.getByLabel("Name").inputValue()).toBe("ab");
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel("Name").fill("abc");
    await page.getByRole("button", { name: "Send this answer" }).click();
    await page.waitForSelector("text=Thank you");
    expect(await barriers(page)).toEqual([]);
    await client.close();
  }, 60_000);
});
