import { hash } from "node:crypto";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  complaints,
  flaws,
  opened,
  PICTURES,
  realBrowser,
  tried,
} from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** The start page in a real browser: how to connect, what there is, and trying it. */

const { browser, why } = await realBrowser();

const KEYS = { ada: "key-of-ada", bob: "key-of-bob" };
const assets = ".bundle/assets";
/** Those that are tried here: a page of all takes the browser ten times as long. */
const TEST_SERVLETS = "approval,chart,durable,hello,http-status,probe";
const server = await serving({ assets, variables: { TEST_SERVLETS } });
const keyed = await serving({
  assets,
  variables: {
    TEST_SERVLETS,
    API_KEYS: JSON.stringify({
      ada: hash("sha256", KEYS.ada),
      bob: { hash: hash("sha256", KEYS.bob), scopes: ["hello:*"] },
    }),
  },
});

const open = (path = "/", { at = server, ...options }: Opened = {}) =>
  opened(browser!, new URL(path, at.url).href, options);

interface Opened extends BrowserContextOptions {
  at?: typeof server;
}

/** Opens the clients. */
const connected = (page: Page) => page.getByText("Connect", { exact: true }).click();

/** Has the page get another schema for a tool that takes anything, or another result of each call. */
async function answering(
  page: Page,
  { inputSchema, result }: { inputSchema?: object; result?: object },
) {
  await page.route("**/mcp", async (route) => {
    const sent = route.request().postData() ?? "";
    const isList = sent.includes('"tools/list"') && inputSchema !== undefined;
    const isCall = sent.includes('"tools/call"') && result !== undefined;
    const response = await route.fetch();
    if (!isList && !isCall) return route.fulfill({ response });
    const answer = (await response.json()) as any;
    if (isCall)
      return route.fulfill({
        response,
        json: { ...answer, result: { ...answer.result, ...result } },
      });
    for (const tool of answer.result.tools)
      if (tool.name === "echo_input") tool.inputSchema = inputSchema;
    return route.fulfill({ response, json: answer });
  });
}

/** Runs a list of steps of the test guest. */
async function planned(page: Page, ...steps: object[]) {
  const place = await tried(page, "plan");
  await place.getByLabel("steps").fill(JSON.stringify(steps));
  await place.getByRole("button", { name: "Run" }).click();
  return place;
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("a skill is shown as Markdown under its own kind, and its links ask for confirmation", async () => {
    const page = await open("/?resource=skill%3A%2F%2Fapproval%2Fask-before-acting%2FSKILL.md");
    await page.getByText("skill of approval").waitFor();
    const shown = page.locator(".card .markdown");
    await shown.locator("strong, li, code").first().waitFor();
    expect(await shown.textContent()).not.toMatch(/^---|\*\*/);
    expect(await flaws(page, "skill")).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByLabel("Kind").selectOption("Skills");
    expect(await page.locator(".entry:visible").count()).toBe(1);
    const last = page.locator(".servlet", { hasText: "approval" }).locator(".entry").last();
    expect(await last.getAttribute("data-group")).toBe("view");
    await page.evaluate(() => {
      const [link, main] = [document.createElement("a"), document.querySelector("main")!];
      Object.assign(link, { href: "https://a.example/", textContent: "away", target: "_blank" });
      link.dataset["foreign"] = "";
      main.append(link);
    });
    const asked = page.waitForEvent("dialog");
    const clicked = page.getByText("away", { exact: true }).click();
    const dialog = await asked;
    expect(dialog.message()).toContain("https://a.example/");
    await dialog.dismiss();
    await clicked;
    expect(page.context().pages().length).toBe(1);
  });

  test("Ctrl+Enter runs a tool, and a wide screen shows the result beside the form", async () => {
    const page = await open("/?tool=greet", { viewport: { width: 1440, height: 900 } });
    const place = await tried(page, "greet");
    await place.getByLabel("name").fill("Ada");
    await page.keyboard.press("Control+Enter");
    const result = place.locator(".result");
    await result.getByText("Hello, Ada!").first().waitFor();
    const [form, shown] = [await place.locator("form").boundingBox(), await result.boundingBox()];
    expect(shown!.x).toBeGreaterThanOrEqual(form!.x + form!.width);
    expect(Math.abs(shown!.y - form!.y)).toBeLessThan(30);
    await page.screenshot({ path: `${PICTURES}/entry-wide.png` });
    await page.setViewportSize({ width: 1100, height: 900 });
    const below = await result.boundingBox();
    expect(below!.y).toBeGreaterThan(form!.y + form!.height);
  });

  test("the page has no barrier, no overflow, and nothing that the browser complains about", async () => {
    const page = await open("/");
    await connected(page);
    await page.locator("#phone summary").click();
    await page.locator("img.qr").waitFor();
    const place = await tried(page, "request_approval");
    await place.getByLabel("what").fill("Paint the bridge");
    await place.getByRole("button", { name: "Run" }).click();
    const question = page.getByLabel("A question").frameLocator("iframe");
    await question.getByText("Please approve: Paint the bridge").waitFor();
    expect(await flaws(page, "start")).toEqual([]);
  });

  test("without script it is a printout: the URL, ways to connect, entries with their arguments", async () => {
    const page = await open("/", { javaScriptEnabled: false });
    const text = await page.locator("main").textContent();
    for (const one of [server.url.href, "claude mcp add", "greet"]) expect(text).toContain(one);
    const link = page.getByRole("link", { name: "Add to Cursor" });
    expect(await link.isVisible()).toBe(false);
    await connected(page);
    expect(await link.isVisible()).toBe(true);
    expect(await page.getByRole("searchbox").isVisible()).toBe(false);
    expect(await page.getByRole("button").count()).toBe(0);
    await page.locator('.entry[data-name="greet"] a').click();
    await page.getByText("turn on JavaScript").waitFor();
    await page.getByText("Arguments and results as tables").click();
    await page.getByText("The name of whom to greet").waitFor();
  });

  test("links and commands are filled in, and copied", async () => {
    const page = await open("/", { at: keyed });
    await connected(page);
    const link = await page.getByRole("link", { name: "Add to Cursor" }).getAttribute("href");
    const settings = new URL(link!).searchParams.get("config")!;
    expect(JSON.parse(atob(settings))).toEqual({
      url: keyed.url.href,
      headers: { Authorization: "Bearer YOUR-KEY" },
    });
    const code = await page.getByRole("link", { name: "Add to VS Code" }).getAttribute("href");
    expect(JSON.parse(decodeURIComponent(code!.split("?")[1]!))).toMatchObject({
      type: "http",
      url: keyed.url.href,
    });
    await page.getByRole("button", { name: "Copy: URL of this server" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(keyed.url.href);
  });

  test("the keyboard leads through clients and entries", async () => {
    const page = await open();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.getByText("claude mcp add").isVisible()).toBe(true);
    await page.locator("h1").click();
    await page.keyboard.press("/");
    await page.keyboard.type("greets");
    await page.getByText("1 found").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Greet", level: 1 }).waitFor();
    await page.getByLabel("name").waitFor();
    await page.locator("h1").click();
    await page.keyboard.press("/");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const focused = await page.evaluate("document.activeElement.getAttribute('href')");
    expect(focused).toBe("?resource=skill%3A%2F%2Fapproval%2Fask-before-acting%2FSKILL.md");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Request the user's approval" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Greet", level: 1 }).waitFor();
    expect(await page.title()).toMatch(/^Greet · /);
  });

  test("search finds by name and by words, and says how many", async () => {
    const page = await open();
    await page.getByRole("searchbox").fill("draws numbers");
    await page.getByText("1 found").waitFor();
    expect(await page.locator(".entry:visible").count()).toBe(1);
    await page.getByRole("searchbox").fill("zzzqqq");
    await page.getByText("0 found").waitFor();
  });

  test("an address leads to its entry", async () => {
    const page = await open("/?tool=greet");
    await page.getByText("The name of whom to greet").first().waitFor();
    const old = await open("/#tool-greet");
    await old.getByText("The name of whom to greet").first().waitFor();
    expect(new URL(old.url()).search).toBe("?tool=greet");
    // The way past the header leads to no entry, also if the script comes later.
    const past = await open("/#main");
    await past.waitForLoadState("networkidle");
    expect(new URL(past.url()).search).toBe("");
  });

  describe("trying", () => {
    test("shows what a call gives, its messages, and how to repeat it", async () => {
      const page = await open();
      const place = await tried(page, "greet");
      await place.getByLabel("name").fill("Ada's <b>");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Hello, Ada's <b>!").first().waitFor();
      await place.getByText(/^Messages/).click();
      await place.locator(".messages").getByText('"tools/call"').first().waitFor();
      await place.getByText("Copy this call").click();
      await place.getByRole("button", { name: "curl" }).click();
      const command = (await page.evaluate("navigator.clipboard.readText()")) as string;
      const body = /-d '(.*)'$/s.exec(command)![1]!.replaceAll(`'\\''`, "'");
      const headers = { "content-type": "application/json", accept: "application/json" };
      const repeated = await fetch(server.url, { method: "POST", headers, body });
      expect(await repeated.text()).toContain("Hello, Ada's <b>!");
      expect(complaints.get(page)).toEqual([]);
    });

    test("shows pictures", async () => {
      const page = await open();
      const place = await tried(page, "draw_chart");
      await place.getByRole("textbox", { name: /^values/ }).fill("[1, 2, 3]");
      await place.getByRole("button", { name: "Run" }).click();
      const picture = place.locator("img.picture");
      await picture.waitFor();
      expect(await picture.evaluate((one: any) => one.naturalWidth as number)).toBe(640);
      expect(complaints.get(page)).toEqual([]);
    });

    test("answers questions in place, and shows progress and the log", async () => {
      const page = await open();
      const place = await planned(
        page,
        { do: "log", message: "on its way" },
        { do: "progress", progress: 1, message: "half" },
        { do: "elicit", message: "Which colour?" },
      );
      await place.getByText("A question for you").waitFor();
      expect(await place.textContent()).toContain("on its way");
      expect(await place.locator("progress").count()).toBe(1);
      await place.getByRole("button", { name: "Decline" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.textContent()).toContain("decline");
    });

    test("scrolls to a question, focuses it and counts it in the tab's title until it is answered", async () => {
      const page = await open("/", { viewport: { width: 390, height: 400 } });
      const place = await planned(page, { do: "elicit", message: "Which colour?" });
      const question = place.getByLabel("A question");
      await question.waitFor();
      await expect
        .poll(() => question.evaluate((one: any) => one.matches(":focus, :has(:focus)")))
        .toBe(true);
      const heading = question.getByRole("heading");
      const box = (await heading.boundingBox())!;
      expect(box.y).toBeGreaterThanOrEqual(0);
      expect(box.y + box.height).toBeLessThan(400);
      expect(await page.title()).toMatch(/^\(1\) plan/);
      await place.getByRole("button", { name: "Decline" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await page.title()).toMatch(/^plan/);
    });

    test("counts a question in the tab's title while another entry is shown", async () => {
      const page = await open();
      const place = await planned(page, { do: "elicit", message: "Which colour?" });
      await place.getByLabel("A question").waitFor();
      await page.locator('.entry[data-name="greet"] a').click();
      await expect.poll(() => page.title()).toMatch(/^\(1\) greet/i);
      await page.goBack();
      await expect.poll(() => page.title()).toMatch(/^\(1\) plan/);
      await place.getByRole("button", { name: "Decline" }).click();
      await expect.poll(() => page.title()).toMatch(/^plan/);
    });

    test("does not move the focus from a question that is being answered when another arrives", async () => {
      const page = await open();
      const keys = ["colour", "size"];
      const place = await planned(page, { do: "inputs", keys, message: "Which" });
      const questions = place.getByLabel("A question", { exact: true });
      await expect.poll(() => questions.count()).toBe(2);
      const hasFocus = (one: any) => one.matches(":focus, :has(:focus)");
      expect(await questions.first().evaluate(hasFocus)).toBe(true);
      expect(await page.title()).toMatch(/^\(2\) plan/);
    });

    test("answers for the model, and opens pages in a tab of their own", async () => {
      const page = await open();
      const place = await planned(
        page,
        { do: "sample", message: "Say something" },
        { do: "elicit_url", url: "https://pay.example/", message: "Pay here" },
      );
      await place.getByLabel("Answer of the model").fill("Something");
      await place.getByRole("button", { name: "Send this answer" }).click();
      const link = place.getByRole("link", { name: "a page at pay.example" });
      await link.waitFor();
      expect(await link.getAttribute("rel")).toContain("noopener");
      await place.getByRole("button", { name: "I have opened the page" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.textContent()).toContain("Something");
    });

    test("stops a call, and begins another", async () => {
      const page = await open();
      const place = await planned(page, { do: "elicit", message: "Never?" });
      await place.getByText("A question for you").waitFor();
      await place.getByRole("button", { name: "Cancel" }).click();
      await place.getByText("You have cancelled this call").waitFor();
      await place.getByLabel("steps").fill('[{"do": "config"}]');
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.getByText("You have cancelled this call").count()).toBe(0);
    });

    test("says what is wrong with JSON, with arguments, and with a call", async () => {
      const page = await open();
      const place = await tried(page, "plan");
      await place.getByLabel("steps").fill("[{");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("steps is not valid JSON").waitFor();
      await place.getByLabel("steps").fill("[7]");
      await place.getByRole("button", { name: "Run" }).click();
      const wrong = place.locator(".field .wrong");
      await wrong.getByText("steps 0 must be an object").waitFor();
      expect(await place.getByLabel("steps").getAttribute("aria-invalid")).toBe("true");
      await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("f0");
    });

    test("tries a tool that a profile does not list but search finds", async () => {
      const page = await open("/mcp/searched");
      const place = await tried(page, "lookup_status");
      await place.getByLabel("code").fill("404");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.textContent()).toContain("Not Found");
      const other = await tried(page, "greet");
      await other.locator("input").first().fill("Ada");
      await other.getByRole("button", { name: "Run" }).click();
      await other.getByText("Completed after").waitFor();
      expect(await other.textContent()).toContain("Ada");
    });

    test("reads resources, templates and prompts", async () => {
      const page = await open();
      const index = await tried(page, "http-status://index");
      await index.getByRole("button", { name: "Read" }).click();
      await index.getByText("Completed after").waitFor();
      expect(await index.textContent()).toContain("404");
      const template = await tried(page, "http-status://{code}");
      await template.getByLabel("code").fill("404");
      await template.getByRole("button", { name: "Read" }).click();
      await template.getByText("Completed after").waitFor();
      expect(await template.textContent()).toContain("Not Found");
      const prompt = await tried(page, "explain_status");
      await prompt.locator("input").first().fill("404");
      await prompt.getByRole("button", { name: "Get" }).click();
      await prompt.getByText("Completed after").waitFor();
      expect(await prompt.textContent()).toContain("user:");
      await page.goBack();
      await template.getByText("Copy this call").click();
      await template.getByRole("button", { name: "Python" }).click();
      expect(await template.textContent()).toContain('read_resource("http-status://404")');
    });

    test("keeps what is there while another entry cannot be loaded", async () => {
      const page = await open();
      const place = await tried(page, "greet");
      await place.locator("input").first().fill("kept");
      await page.context().setOffline(true);
      await page.locator('.entry[data-name="echo_input"] a').click();
      await page.getByRole("heading", { name: "No answer" }).waitFor();
      await page.context().setOffline(false);
      const complained = [...complaints.get(page)!];
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "echo_input" }).waitFor();
      expect(await page.locator(".unreached").count()).toBe(0);
      await page.goBack();
      await expect.poll(() => place.locator("input").first().inputValue()).toBe("kept");
      expect(complaints.get(page)).toEqual(complained);
    });

    test("proposes values as they are typed", async () => {
      const page = await open();
      const template = await tried(page, "http-status://{code}");
      await template.getByLabel("code").pressSequentially("41");
      const values = template.locator("datalist option");
      await expect.poll(() => values.count(), { timeout: 10_000 }).toBeGreaterThan(2);
      const all = await values.evaluateAll((options: any[]) => options.map(({ value }) => value));
      expect(all.every((one) => one.startsWith("41"))).toBe(true);
    });

    const ORDER = {
      type: "object",
      properties: {
        item: { type: "string", description: "What to order", examples: ["tea"] },
        to: {
          type: "object",
          title: "Address",
          properties: { city: { type: "string" }, zip: { type: "string", pattern: "^\\d{5}$" } },
          required: ["city"],
        },
        sizes: { type: "array", items: { type: "integer" } },
        paid: { type: "boolean" },
        speed: { type: "string", enum: ["slow", "fast"] },
        day: { type: "string", format: "date" },
        pin: { type: "string", format: "password" },
      },
      required: ["item", "to", "speed"],
    };

    test("has fields for nested values, lists and choices, and says at each what is wrong", async () => {
      const page = await open();
      await answering(page, { inputSchema: ORDER });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      const wrong = place.locator(".field .wrong");
      await wrong.getByText("item is required").waitFor();
      await wrong.getByText("city is required").waitFor();
      await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("f0");
      await place.getByLabel("item").fill("tea");
      const address = place.getByRole("group", { name: "Address" });
      await address.getByLabel("city").fill("Lublin");
      await address.getByLabel("zip").fill("12");
      await place.getByRole("button", { name: "Add one to sizes" }).click();
      await page.locator(":focus[aria-label='sizes 1']").fill("1");
      await place.getByRole("button", { name: "Add one to sizes" }).click();
      await page.locator(":focus[aria-label='sizes 2']").fill("2");
      await place.getByRole("button", { name: "Remove 1 of sizes" }).click();
      await place.getByLabel("paid").check();
      await place.getByLabel("fast").check();
      await place.getByLabel("day").fill("2026-11-26");
      await place.getByRole("button", { name: "Run" }).click();
      await wrong.getByText(/^zip must/).waitFor();
      await address.getByLabel("zip").fill("12345");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await wrong.count()).toBe(0);
      await place.getByRole("button", { name: "JSON", exact: true }).click();
      const text = (await place.locator(".result pre").textContent())!;
      expect(JSON.parse(text).request.arguments).toEqual({
        item: "tea",
        to: { city: "Lublin", zip: "12345" },
        sizes: [2],
        paid: true,
        speed: "fast",
        day: "2026-11-26",
      });
      expect(complaints.get(page)).toEqual([]);
    });

    test("has rows of fields for a list of objects, and a choice of kinds", async () => {
      const page = await open();
      const number = {
        type: "object",
        properties: { number: { type: "integer" } },
        required: ["number"],
      };
      const items = {
        type: "object",
        properties: { name: { type: "string" }, by: { anyOf: [{ type: "string" }, number] } },
        required: ["name"],
      };
      const guests = { type: "array", items };
      await answering(page, { inputSchema: { type: "object", properties: { guests } } });
      const place = await tried(page, "echo_input");
      const run = place.getByRole("button", { name: "Run" });
      const add = place.getByRole("button", { name: "Add one to guests" });
      for (const name of ["Ada", "Bob", "Eve"]) {
        await add.click();
        await page.locator("input:focus").fill(name);
      }
      await place.getByRole("button", { name: "Remove 2 of guests" }).click();
      await add.click();
      await run.click();
      const third = place.getByRole("group", { name: "guests 3" });
      await third.locator(".wrong").getByText("name is required").waitFor();
      await third.locator("input:focus").fill("Zoe");
      await third.getByLabel("Kind of by").selectOption("object");
      await third.getByLabel("number").fill("x");
      await run.click();
      await third.locator(".wrong").getByText("number must be").waitFor();
      await third.getByLabel("number").fill("7");
      const second = place.getByRole("group", { name: "guests 2" });
      await second.getByLabel("Kind of by").selectOption("text");
      await second.getByLabel("text").fill("train");
      await run.click();
      await place.getByText("Completed after").waitFor();
      await place.getByRole("button", { name: "JSON", exact: true }).click();
      const text = (await place.locator(".result pre").textContent())!;
      expect(JSON.parse(text).request.arguments).toEqual({
        guests: [{ name: "Ada" }, { name: "Eve", by: "train" }, { name: "Zoe", by: { number: 7 } }],
      });
      expect(await flaws(page, "rows")).toEqual([]);
      expect(complaints.get(page)).toEqual([]);
    });

    /** An entry that takes at least one integer. */
    const triedSizes = async (page: Page) => {
      const sizes = { type: "array", items: { type: "integer" }, minItems: 1 };
      const inputSchema = { type: "object", properties: { sizes }, required: ["sizes"] };
      await answering(page, { inputSchema });
      return tried(page, "echo_input");
    };

    test("shows no earlier result below arguments that are refused", async () => {
      const place = await triedSizes(await open());
      const run = place.getByRole("button", { name: "Run" });
      const result = place.getByText("Completed after");
      await place.getByLabel("sizes 1", { exact: true }).fill("1");
      await run.click();
      await result.waitFor();
      await place.getByLabel("sizes 1", { exact: true }).fill("x");
      await run.click();
      await place.locator(".wrong").getByText("sizes 1 must").waitFor();
      expect(await result.count()).toBe(0);
      await place.getByLabel("sizes 1", { exact: true }).fill("1");
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      await run.click();
      await result.waitFor();
      await place.getByLabel("Arguments as JSON").fill('{"sizes": []}');
      await run.click();
      await place.locator(".wrong").getByText("sizes must").waitFor();
      expect(await result.count()).toBe(0);
    });

    test("keeps a result away that was hidden, also when values are proposed", async () => {
      const page = await open();
      const place = await tried(page, "http-status://{code}");
      const read = place.getByRole("button", { name: "Read" });
      const result = place.getByText("Completed after");
      await place.getByLabel("code").fill("404");
      await read.click();
      await result.waitFor();
      await place.getByLabel("code").fill("");
      await read.click();
      await place.locator(".wrong").getByText("code is required").waitFor();
      expect(await result.count()).toBe(0);
      const proposed = page.waitForResponse((response) =>
        Boolean(response.request().postData()?.includes('"completion/complete"')),
      );
      await place.getByLabel("code").pressSequentially("4");
      await (await proposed).finished();
      // Changes are drawn after 100 ms.
      await page.waitForTimeout(300);
      expect(await result.count()).toBe(0);
    });

    test("leads to the wrong row of a list, or to the button that adds the first", async () => {
      const page = await open();
      const place = await triedSizes(page);
      const run = place.getByRole("button", { name: "Run" });
      const focused = () => page.evaluate("document.activeElement.ariaLabel");
      for (const [nth, text] of ["1", "x"].entries()) {
        await place.getByRole("button", { name: "Add one to sizes" }).click();
        await place.getByLabel(`sizes ${nth + 2}`, { exact: true }).fill(text);
      }
      await run.click();
      await expect.poll(focused).toBe("sizes 3");
      for (let row = 0; row < 3; row++)
        await place.getByRole("button", { name: "Remove 1 of sizes" }).click();
      await run.click();
      await expect.poll(focused).toBe("Add one to sizes");
    });

    test("shows some optional fields, and the others when they are asked for, or are wrong", async () => {
      const page = await open();
      const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
      const properties = Object.fromEntries(names.map((name) => [name, { type: "number" }]));
      const inputSchema = { type: "object", properties, required: ["h"] };
      await answering(page, { inputSchema });
      const place = await tried(page, "echo_input");
      const shownFields = () =>
        place
          .locator("form input")
          .evaluateAll((all: any[]) => all.filter((one) => one.checkVisibility()).length);
      expect(await shownFields()).toBe(6);
      await place.getByText("2 more optional fields").click();
      await place.getByLabel("g").fill("much");
      await place.getByText("2 more optional fields").click();
      await place.getByLabel("h").fill("1");
      await place.getByRole("button", { name: "Run" }).click();
      await place
        .locator(".wrong")
        .getByText(/^g must/)
        .waitFor();
      await expect.poll(shownFields).toBe(8);
      await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("f6");
    });

    test("fills in an example, and takes all arguments as JSON", async () => {
      const page = await open();
      await answering(page, { inputSchema: ORDER });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Fill in an example" }).click();
      await expect.poll(() => place.getByLabel("item").inputValue()).toBe("tea");
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      const all = place.getByLabel("Arguments as JSON");
      const example = JSON.parse(await all.inputValue());
      expect(example).toMatchObject({ item: "tea", to: {}, speed: "slow" });
      await all.fill(JSON.stringify({ ...example, to: { city: 7 } }));
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("to.city must be a string").waitFor();
      await all.fill(JSON.stringify({ ...example, to: { city: "Gent" } }));
      await place.getByRole("button", { name: "Use fields" }).click();
      await expect.poll(() => place.getByLabel("city").inputValue()).toBe("Gent");
    });

    test("fills the fields with an example that they change, as long as it stays valid", async () => {
      const page = await open();
      const text = { type: "string" };
      const at = { ...text, format: "date-time" };
      const properties = {
        at: { ...at, examples: ["2026-11-23T14:00:00+02:00"] },
        exact: { ...at, examples: ["2026-11-23T14:00:00.000Z"] },
        lines: { ...text, examples: ["a\nb"] },
        both: { type: "array", items: { enum: ["a", "b"] }, minItems: 2 },
      };
      const required = Object.keys(properties);
      await answering(page, { inputSchema: { type: "object", properties, required } });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Fill in an example" }).click();
      await expect.poll(() => place.getByLabel("lines").inputValue()).toBe("a\nb");
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      expect(JSON.parse(await place.getByLabel("Arguments as JSON").inputValue())).toEqual({
        at: "2026-11-23T12:00:00Z",
        exact: "2026-11-23T14:00:00Z",
        lines: "a\nb",
        both: ["a", "b"],
      });
    });

    test("shows an example as JSON that is not valid as fields have it", async () => {
      const page = await open();
      const code = { type: "array", items: { enum: ["a", "b"] }, minItems: 3 };
      await answering(page, {
        inputSchema: { type: "object", properties: { code }, required: ["code"] },
      });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Fill in an example" }).click();
      const all = place.getByLabel("Arguments as JSON");
      await expect.poll(() => all.inputValue()).toContain('"a"');
      expect(JSON.parse(await all.inputValue())).toEqual({ code: ["a", "b", "a"] });
    });

    test("goes from JSON to fields with all that was entered, or says what would be lost", async () => {
      const page = await open();
      await answering(page, { inputSchema: ORDER });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      const all = place.getByLabel("Arguments as JSON");
      for (const [text, said] of [
        ['{"item": "te', "is not valid JSON"],
        ["[1]", "must be an object"],
        ['{"item": "tea", "to": {"street": 1}}', "`to.street` would be left out"],
        ['{"item": "green\\ntea"}', '`item` would become "greentea"'],
        ['{"item": "tea", "paid": false}', "`paid` would be left out"],
      ] as const) {
        await all.fill(text);
        await place.getByRole("button", { name: "Use fields" }).click();
        await place.locator(".wrong").getByText(said).waitFor();
        expect(await all.inputValue()).toBe(text);
      }
    });

    test("goes from JSON to fields and back with each value as it was", async () => {
      const page = await open("/", { timezoneId: "America/New_York" });
      const text = { type: "string" };
      const properties = {
        note: { ...text, maxLength: 500 },
        line: text,
        mail: { ...text, format: "email" },
        at: { ...text, format: "date-time" },
        day: { ...text, format: "date" },
        number: { type: "number" },
        flag: { type: "boolean" },
        any: {},
        list: { type: "array", items: text },
        none: { type: ["string", "null"] },
        times: { type: "array", items: { ...text, format: "date-time" } },
        some: { type: "array", items: { enum: ["a", "b", null] } },
        preset: { ...text, default: "PL" },
        group: { type: "object", properties: { limit: { type: "integer", default: 10 } } },
      };
      const required = ["flag", "none"];
      await answering(page, { inputSchema: { type: "object", properties, required } });
      const place = await tried(page, "echo_input");
      const content = {
        note: "\na\n b\n",
        line: " \u202eü👩‍👧",
        mail: "a@b.example",
        day: "2026-11-23",
        at: "2026-11-23T02:00:00Z",
        times: ["2026-07-01T00:00:59Z"],
        number: 1e21,
        flag: false,
        none: null,
        list: ["a", " b "],
        some: ["b", null],
        any: { b: ["\r\n", null, {}] },
        group: { limit: 10 },
      };
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      const all = place.getByLabel("Arguments as JSON");
      await all.fill(JSON.stringify(content));
      await place.getByRole("button", { name: "Use fields" }).click();
      await expect.poll(() => place.getByLabel("line").inputValue()).toBe(content.line);
      await place.getByRole("button", { name: "Edit as JSON" }).click();
      await all.waitFor();
      expect(JSON.parse(await all.inputValue())).toEqual(content);
      // The clocks were set back: the local time is that of an hour earlier, too.
      await all.fill('{"at": "2026-11-01T06:30:00Z"}');
      await place.getByRole("button", { name: "Use fields" }).click();
      await place.locator(".wrong").getByText("`at` would become").waitFor();
    });

    test("takes JSON for a schema that only says what goes together", async () => {
      const page = await open();
      const mail = { properties: { to: { type: "string" } }, required: ["to"] };
      const call = { properties: { phone: { type: "string" } }, required: ["phone"] };
      await answering(page, { inputSchema: { type: "object", oneOf: [mail, call] } });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Fill in an example" }).click();
      const all = place.getByLabel("Arguments as JSON");
      await expect.poll(() => all.inputValue()).toMatch(/"to"/);
    });

    test("a link carries the arguments but secret ones, and runs nothing", async () => {
      const page = await open();
      await answering(page, { inputSchema: ORDER });
      const place = await tried(page, "echo_input");
      await place.getByLabel("item").fill("tea & <b>");
      await place.getByLabel("city").fill("Gent");
      await place.getByLabel("fast").check();
      await place.getByLabel("pin").fill("1234");
      await place.getByText("Copy this call").click();
      await place.getByRole("button", { name: "Link with these arguments" }).click();
      await place.getByText("Copied.").waitFor();
      const link = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(link).not.toContain("1234");
      expect(new URL(link).search).toBe("?tool=echo_input");
      const other = await open("/");
      await answering(other, { inputSchema: ORDER });
      const sent: string[] = [];
      other.on("request", (one) => void sent.push(one.postData() ?? ""));
      await other.goto(link);
      const filled = other.locator(".pane .try");
      await filled.locator("form").waitFor();
      expect(await filled.getByLabel("item").inputValue()).toBe("tea & <b>");
      expect(await filled.getByLabel("fast").isChecked()).toBe(true);
      expect(sent.join()).not.toContain("tools/call");
      // What no field is for is shown as JSON.
      await other.goto("about:blank");
      await other.goto(`${link.split("#")[0]!}#args=${encodeURIComponent('{"odd": 1}')}`);
      await expect.poll(() => filled.getByLabel("Arguments as JSON").inputValue()).toContain("odd");
      await filled.locator(".wrong").getByText("`odd` would be left out").waitFor();
    });

    test("what was tried in this window is listed, without secrets, and fills in the form again", async () => {
      const page = await open();
      await answering(page, { inputSchema: ORDER });
      let place = await tried(page, "echo_input");
      await place.getByLabel("item").fill("tea");
      await place.getByLabel("city").fill("Gent");
      await place.getByLabel("fast").check();
      await place.getByLabel("pin").fill("1234");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Your tries (1)").waitFor();
      await page.reload();
      place = page.locator(".pane .try");
      await place.getByText("Your tries (1)").click();
      expect(await place.locator(".tries").textContent()).toMatch(/just now, completed.*"tea"/);
      expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("1234");
      await place.getByRole("button", { name: "Fill in again" }).click();
      await expect.poll(() => place.getByLabel("city").inputValue()).toBe("Gent");
      expect(await place.getByText("Completed after").count()).toBe(0);
    });

    test("an entry that is left keeps its form and its call", async () => {
      const page = await open();
      const place = await planned(page, { do: "elicit", message: "Which colour?" });
      await place.getByText("A question for you").waitFor();
      const other = await tried(page, "greet");
      expect(await place.isVisible()).toBe(false);
      await other.getByLabel("name").fill("Ada");
      await page.goBack();
      await place.getByRole("button", { name: "Decline" }).click();
      await place.getByText("Completed after").waitFor();
      await page.goForward();
      expect(await other.getByLabel("name").inputValue()).toBe("Ada");
    });

    test("shows a list of objects as a table, a part at a time, and what a text repeats once", async () => {
      const page = await open();
      const rows = Array.from({ length: 1200 }, (_, nth) => ({ nth, name: `row ${nth}` }));
      const structuredContent = { rows };
      const content = [{ type: "text", text: JSON.stringify(structuredContent, null, 2) }];
      await answering(page, { result: { structuredContent, content } });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("100 of 1200 rows").waitFor();
      expect(await place.locator("tbody tr").count()).toBe(100);
      expect(await place.locator(".result pre").count()).toBe(0);
      await place.getByRole("button", { name: "Show 100 more" }).click();
      await place.getByText("200 of 1200 rows").waitFor();
      await place.getByRole("button", { name: "Raw" }).click();
      expect(await place.locator(".result pre").textContent()).toContain('"structuredContent"');
      await place.getByRole("button", { name: "Copy", exact: true }).click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toContain('"row 1199"');
    });

    test("opens a resource that a result links to", async () => {
      const page = await open();
      const link = { type: "resource_link", uri: "http-status://404", name: "What 404 means" };
      await answering(page, { result: { content: [link], structuredContent: undefined } });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("What 404 means").waitFor();
      await place.getByRole("button", { name: "Open" }).click();
      await place.getByText("Not Found").first().waitFor();
      expect(complaints.get(page)).toEqual([]);
    });

    test("tells an error of the tool from a refusal of the server, with what to do", async () => {
      const page = await open();
      const content = [{ type: "text", text: "The disk is full." }];
      await answering(page, { result: { content, structuredContent: undefined, isError: true } });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("The tool reports an error").waitFor();
      await page.unrouteAll();
      await page.route("**/mcp", (route) => {
        const { id } = JSON.parse(route.request().postData() ?? "{}") as { id: number };
        const error = { code: -32603, message: "It broke." };
        return route.fulfill({ json: { jsonrpc: "2.0", id, error } });
      });
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("The server refused this (-32603)").waitFor();
      expect(await place.textContent()).toContain("tell whoever runs this server");
      expect(await place.getByText("The tool reports an error").count()).toBe(0);
    });

    test("goes on after the server was started again", async () => {
      const page = await open();
      const place = await tried(page, "greet");
      await server.restart();
      await place.getByLabel("name").fill("Ada");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.textContent()).toContain("Hello, Ada!");
    });

    test("draws now and then while a servlet says a thousand things", async () => {
      const page = await open();
      const place = await tried(page, "plan");
      const steps = Array.from({ length: 1000 }, (_, nth) => ({
        do: "log",
        message: `line ${nth}`,
      }));
      await place.getByLabel("steps").fill(JSON.stringify(steps));
      await place.evaluate((one: any) => {
        one.draws = 0;
        const watched = { childList: true, characterData: true, subtree: true };
        const { MutationObserver } = one.ownerDocument.defaultView;
        new MutationObserver(() => one.draws++).observe(one, watched);
      });
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor({ timeout: 50_000 });
      expect(await place.textContent()).toContain("info: line 999");
      expect(await place.evaluate((one: any) => one.draws as number)).toBeLessThan(500);
      await place.getByText(/^Messages/).click();
      await expect.poll(() => place.locator(".messages pre").count()).toBe(200);
    });

    test("asks for the first of thousands of values by fields, and for the others as JSON", async () => {
      const page = await open();
      const strings = Array.from({ length: 4000 }, (_, nth) => [`p${nth}`, { type: "string" }]);
      const many = Array.from({ length: 5000 }, (_, nth) => `o${nth}`);
      const title = "long ".repeat(20_000);
      const properties = {
        choice: { type: "string", enum: many },
        long: { type: "string", title },
        ...Object.fromEntries(strings),
      };
      const requestedSchema = { type: "object", properties, required: ["p0"] };
      const params = { message: "All of it?", requestedSchema };
      const place = await planned(page, { do: "ask_as", params });
      const question = place.getByLabel("A question");
      await question.waitFor();
      expect(await question.locator("input, textarea, select").count()).toBe(201);
      expect(await question.locator("option").count()).toBe(0);
      expect((await question.textContent())!.length).toBeLessThan(20_000);
      await question.getByLabel("choice").fill('"o7"');
      await question.getByLabel("p0").first().fill("zero");
      await question.getByText("195 more optional fields").click();
      const others = question.getByLabel("3802 other values");
      await others.fill("[]");
      await question.getByRole("button", { name: "Send this answer" }).click();
      await place.getByText("The other values are not an object").waitFor();
      await others.fill('{"p3999": "last"}');
      await question.getByRole("button", { name: "Send this answer" }).click();
      await place.getByText("Completed after").waitFor();
      await place.getByRole("button", { name: "JSON", exact: true }).click();
      const text = await place.textContent();
      for (const part of ['"choice": "o7"', '"p0": "zero"', '"p3999": "last"'])
        expect(text).toContain(part);
    });

    test("shows the first of ten thousands of blocks", async () => {
      const page = await open();
      await page.route("**/mcp", async (route) => {
        const response = await route.fetch();
        if (!route.request().postData()?.includes('"tools/call"'))
          return route.fulfill({ response });
        const { result, ...answer } = (await response.json()) as any;
        const content = Array.from({ length: 20_000 }, () => ({ type: "text", text: "block" }));
        return route.fulfill({ response, json: { ...answer, result: { ...result, content } } });
      });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await place.getByText("block", { exact: true }).count()).toBe(500);
      expect(await place.textContent()).toContain("… 19500 more");
    });

    test("shows a text that is JSON of very many levels as text", async () => {
      const page = await open();
      const text = "[".repeat(40_000) + "]".repeat(40_000);
      await answering(page, {
        result: { content: [{ type: "text", text }], structuredContent: { a: 1 } },
      });
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      await expect.poll(() => place.getByText("[[[[[[").count()).toBe(1);
      expect(complaints.get(page)).toEqual([]);
    });

    test("shows what a hostile servlet says as text", async () => {
      const page = await open();
      const evil = "<img src=x onerror=alert(1)>\u202e\u0007";
      const place = await planned(
        page,
        { do: "log", message: evil },
        { do: "elicit", message: evil },
      );
      await place.getByText("A question for you").waitFor();
      expect(await place.textContent()).toContain("<img src=x onerror=alert(1)>\\u{202e}\\u{7}");
      expect(await place.locator("img").count()).toBe(0);
      expect(complaints.get(page)).toEqual([]);
    });
  });

  describe("where callers must be known", () => {
    const signIn = async (key: string) => {
      const page = await open("/", { at: keyed });
      expect(await page.locator("main").textContent()).not.toContain("greet");
      await page.locator("main").getByRole("link", { name: "Sign in" }).click();
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      return page;
    };

    test("people sign in, and call as themselves", async () => {
      const page = await signIn(KEYS.ada);
      const place = await tried(page, "echo_input");
      await place.getByRole("button", { name: "Run" }).click();
      await place.getByText("Completed after").waitFor();
      await place.getByRole("button", { name: "JSON", exact: true }).click();
      expect(await place.textContent()).toMatch(/principal\W+ada/);
    });

    test("nobody sees what another person has tried in this window", async () => {
      const page = await signIn(KEYS.ada);
      const run = async () => {
        const place = await tried(page, "greet");
        await place.getByLabel("name").fill("Ada");
        await place.getByRole("button", { name: "Run" }).click();
        await place.getByText("Completed after").waitFor();
        return place.getByText(/Your tries/).textContent();
      };
      expect(await run()).toBe("Your tries (1)");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign in again" }).click();
      await page.getByLabel("API key").fill(KEYS.bob);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      expect(await run()).toBe("Your tries (1)");
    });

    test("people see what their scopes grant", async () => {
      const page = await signIn(KEYS.bob);
      const names = await page
        .locator(".entry")
        .evaluateAll((all: any[]) => all.map(({ dataset }) => dataset["name"]));
      expect(names).toEqual(["greet"]);
    });

    test("a sign-in that is over leads back to the same place", async () => {
      const page = await signIn(KEYS.ada);
      const args = `#args=${encodeURIComponent('{"name":"Ada Lovelace"}')}`;
      await page.goto(new URL(`/?tool=greet${args}`, keyed.url).href);
      const place = page.locator(".pane");
      const sent: string[] = [];
      page.on("request", (request) => void sent.push(request.url()));
      await place.locator("form").waitFor();
      const signInAgain = async (link: string, name: string) => {
        await page.getByRole("link", { name: link }).last().click();
        await page.getByLabel("API key").fill(KEYS.ada);
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByText("The name of whom to greet").first().waitFor();
        expect(new URL(page.url()).search).toBe("?tool=greet");
        await expect.poll(() => page.getByLabel("name").inputValue()).toBe(name);
      };
      await page.context().clearCookies();
      // What was entered since, and the link itself.
      await place.getByLabel("name").fill("Lady Lovelace");
      await place.getByRole("button", { name: "Run" }).click();
      const said = place.getByRole("alert").locator(".text");
      expect(await said.textContent()).toBe("Sign in again to call from here.");
      await signInAgain("Sign in again", "Lady Lovelace");
      await page.context().clearCookies();
      await page.goto("about:blank");
      await page.goto(new URL(`/?tool=greet${args}`, keyed.url).href);
      await signInAgain("Sign in", "Ada Lovelace");
      // The browser kept the arguments to itself.
      expect(sent.join("\n").replaceAll(/#.*/g, "")).not.toContain("Lovelace");
    });
  });
});
