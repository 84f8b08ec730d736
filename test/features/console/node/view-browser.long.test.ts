import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { BrowserContextOptions, Frame, Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  complaints,
  DRESSES,
  flaws,
  opened,
  realBrowser,
  tried,
} from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** The console as a host of views in a real browser: what a view is told and given, and what it cannot reach. */

const { browser, why } = await realBrowser();
const variables = { TEST_SERVLETS: "chart,hello,viewing" };
const server = await serving({ assets: ".bundle/assets", variables });

const keyed = await serving({
  assets: ".bundle/assets",
  variables: {
    ...variables,
    API_KEYS: JSON.stringify({
      ada: { hash: hash("sha256", "key-of-ada"), scopes: ["viewing:*"] },
    }),
  },
});

const open = (options: BrowserContextOptions = {}) =>
  opened(browser!, new URL("/", server.url).href, options);

/** How long a change in the page may take. */
const SOON = { timeout: 10_000 };

const run = (place: Locator) => place.getByRole("button", { name: "Run" }).click();

/** The entry of a tool, with the form that calls it. */
async function toolOf(page: Page, name: string): Promise<Locator> {
  await tried(page, name);
  return page.locator(`.pane[data-name="${name}"]`);
}

/** The frame of the view that is shown. */
async function frameIn(place: Locator): Promise<Frame> {
  const handle = await place.locator("iframe").elementHandle();
  return (await handle!.contentFrame())!;
}

/** Shows the view of a call of `list`, which has its result. */
async function board(page: Page, card = "water") {
  const place = await toolOf(page, "list");
  await place.getByLabel("card").fill(card);
  await run(place);
  await place.frameLocator("iframe").getByText(card).waitFor();
  return { place, frame: await frameIn(place) };
}

/** What a view has received of its host, by its method. */
const gotBy = async (frame: Frame, method: string): Promise<any[]> =>
  frame.evaluate(`got.filter((one) => one.method === "ui/${method}").map(({ params }) => params)`);

/** Has a view ask its host for something. */
const asked = (frame: Frame, method: string, params: object = {}): Promise<any> =>
  frame.evaluate(`ask(${JSON.stringify(method)}, ${JSON.stringify(params)})`);

const called = (frame: Frame, name: string) => asked(frame, "tools/call", { name, arguments: {} });

/** The result of the last call, as it came. */
async function resultOf(place: Locator): Promise<string | null> {
  await place.getByRole("button", { name: "Raw" }).click();
  return place.locator(".result pre").textContent();
}

/** The messages of the last call, opened. */
async function messagesOf(place: Locator): Promise<string> {
  const messages = place.locator(".messages");
  if (!(await messages.evaluate((one: any) => one.open as boolean)))
    await messages.locator("summary").click();
  await messages.locator("pre").first().waitFor();
  return (await messages.textContent())!;
}

/** The messages of the last call, with one of a call of `move`. */
async function settled(place: Locator): Promise<string> {
  await expect.poll(() => messagesOf(place), SOON).toContain('"moved"');
  return messagesOf(place);
}

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("a view has no barrier, no overflow, and nothing that the browser complains about", async () => {
    const page = await open();
    const { place } = await board(page);
    expect(await flaws(page, "view")).toEqual([]);
    expect(await place.locator(".result").getByText("water").isVisible()).toBe(true);
  });

  test("the host side is loaded when a view is opened, and not before", async () => {
    const page = await open();
    const scripts: string[] = [];
    page.on("request", (one) => void scripts.push(one.url()));
    const place = await toolOf(page, "greet");
    await place.getByLabel("name").fill("Ada");
    await run(place);
    await place.getByText("Completed after").waitFor();
    expect(scripts.some((one) => one.includes("view-host"))).toBe(false);
    await board(page);
    expect(scripts.some((one) => one.includes("view-host"))).toBe(true);
  });

  test("a view is shown anew with its result when it was saved", async () => {
    const page = await open();
    const { place } = await board(page);
    const before = await place.locator("iframe").elementHandle();
    await page.route("**/console/view?**", async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace("</title>", " saved</title>");
      await route.fulfill({ response, body });
    });
    await expect.poll(async () => (await frameIn(place)).title(), SOON).toContain("saved");
    await place.frameLocator("iframe").getByText("water").waitFor();
    expect(await before!.isVisible()).toBe(false);
    // The page goes on asking, also while it is closed.
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("a view that the kit has made starts, draws, and fits its height", async () => {
    const page = await open();
    const place = await toolOf(page, "draw_chart");
    await place.getByRole("textbox", { name: /^values/ }).fill("[1, 2, 3]");
    await run(place);
    const view = place.frameLocator("iframe");
    // A frame below the fold draws nothing, and the click would wait for it to.
    await place.locator("iframe").scrollIntoViewIfNeeded();
    await view.getByRole("button", { name: "Save as picture" }).click();
    await place.getByLabel("The view asks").getByRole("link", { name: "Save" }).waitFor();
    const { height } = (await place.locator("iframe").boundingBox())!;
    expect(height).toBeGreaterThan(200);
    expect(height).toBeLessThan(800);
    expect(complaints.get(page)).toEqual([]);
  });

  test("tools for views alone are marked", async () => {
    const page = await open();
    const badges = await page.locator('.entry[data-name="move"] .badge').allTextContents();
    expect(badges).toContain("for views alone");
    const other = page.locator('.entry[data-name="list"] .badge');
    expect(await other.allTextContents()).not.toContain("for views alone");
  });

  describe("a view is told", () => {
    test("its host, the call's input, and its result", async () => {
      const page = await open({ ...DRESSES["dark"], locale: "de-DE", timezoneId: "Asia/Tokyo" });
      const { frame } = await board(page, "fire");
      const host: any = await frame.evaluate("started");
      expect(host).toMatchObject({
        protocolVersion: "2026-01-26",
        hostInfo: { name: "edge-servlets-console" },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
        hostContext: {
          toolInfo: { tool: { name: "list" } },
          theme: "dark",
          locale: "de-DE",
          timeZone: "Asia/Tokyo",
          platform: "web",
          displayMode: "inline",
          availableDisplayModes: ["inline", "fullscreen"],
          containerDimensions: { maxHeight: 800 },
        },
      });
      expect(host.hostContext.styles.variables["--color-text-primary"]).toMatch(/^light-dark\(/);
      expect(host.hostContext.containerDimensions.width).toBeGreaterThan(200);
      expect(await gotBy(frame, "notifications/tool-input")).toEqual([
        { arguments: { card: "fire" } },
      ]);
      expect(await gotBy(frame, "notifications/tool-result")).toMatchObject([
        { structuredContent: { cards: ["fire"] } },
      ]);
    });

    test("that its call was cancelled", async () => {
      const page = await open();
      const place = await toolOf(page, "pause");
      await run(place);
      await place.getByText("A question for you").waitFor();
      const frame = await frameIn(place);
      const count = async (method: string) => (await gotBy(frame, method)).length;
      await expect.poll(() => count("notifications/tool-input"), SOON).toBe(1);
      await place.getByRole("button", { name: "Cancel" }).click();
      await expect.poll(() => count("notifications/tool-cancelled"), SOON).toBe(1);
      expect(await gotBy(frame, "notifications/tool-cancelled")).toEqual([
        { reason: "Cancelled." },
      ]);
      expect(await gotBy(frame, "notifications/tool-result")).toEqual([]);
    });

    test("of another theme, and another width", async () => {
      const page = await open(DRESSES["light"]);
      const { frame } = await board(page);
      const changed = async (of: string) => {
        const all = await gotBy(frame, "notifications/host-context-changed");
        return all.at(-1)?.[of];
      };
      await page.emulateMedia({ colorScheme: "dark" });
      await expect.poll(() => changed("theme"), SOON).toBe("dark");
      await page.setViewportSize({ width: 500, height: 700 });
      await expect
        .poll(async () => (await changed("containerDimensions"))?.width, SOON)
        .toBeLessThan(480);
    });

    test("that it ends, before the next call has its own", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      await place.getByLabel("card").fill("earth");
      await run(place);
      await place.frameLocator("iframe").getByText("earth").waitFor();
      expect(await place.locator("iframe").count()).toBe(1);
      const order =
        /to the view[^]*"ui\/resource-teardown"[^]*from the view[^]*"resources\/read"[^]*"ui\/initialize"/;
      await expect.poll(() => messagesOf(place), SOON).toMatch(order);
      expect(frame.isDetached()).toBe(true);
    });
  });

  describe("a view asks", () => {
    test("for its servlet's tools and resources, with each message in the list", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      expect(await called(frame, "move")).toMatchObject({ content: [{ text: "moved" }] });
      const read = await asked(frame, "resources/read", { uri: "board://text" });
      expect(read).toMatchObject({ contents: [{ text: "water" }] });
      const order =
        /from the view[^]*"move"[^]*sent[^]*"move"[^]*received[^]*"moved"[^]*to the view[^]*"moved"/;
      await expect.poll(() => messagesOf(place), SOON).toMatch(order);
    });

    test.each([
      ["a tool that is not for views", "tools/call", { name: "think" }],
      ["a tool of another servlet", "tools/call", { name: "greet", arguments: { name: "Eve" } }],
      ["a tool that does not exist", "tools/call", { name: "__proto__" }],
      ["a resource of nobody", "resources/read", { uri: "hello://text" }],
    ])("in vain for %s", async (_what, method, params) => {
      const page = await open();
      const { place, frame } = await board(page);
      const sent: string[] = [];
      page.on("request", (one) => void sent.push(one.postData() ?? ""));
      const { error } = await asked(frame, method, params);
      expect(error.message).toMatch(/This view may not/);
      expect(sent.join()).not.toContain(method);
      await expect.poll(() => messagesOf(place), SOON).toContain("This view may not");
    });

    test("for four calls at a time, and no more", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      await frame.evaluate(`
        globalThis.ended = [];
        for (let nth = 0; nth < 6; nth++)
          void ask("tools/call", { name: "pause", arguments: {} }).then((one) => ended.push(one));
      `);
      await expect.poll(() => place.getByText("A question for you").count(), SOON).toBe(4);
      const ended: any[] = await frame.evaluate("ended");
      expect(ended.map(({ error }) => error.message)).toEqual(
        Array(2).fill(expect.stringContaining("4 calls running")),
      );
      await place.getByRole("button", { name: "Decline" }).first().click();
      await expect.poll(() => frame.evaluate("ended.length"), SOON).toBe(3);
      const last: any = await frame.evaluate("ended[2]");
      expect(last).toMatchObject({ content: [{ text: "decline" }] });
    });

    test("for a height, up to a limit", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      const height = async () => (await place.locator("iframe").boundingBox())!.height;
      for (const [wanted, given] of [
        [300, 300],
        [1e9, 800],
        [-5, 0],
      ]) {
        await frame.evaluate(`tell("ui/notifications/size-changed", { height: ${wanted} })`);
        // The border is the frame's own.
        await expect.poll(height, SOON).toBe(Math.max(given!, 2));
      }
    });

    test("for links, which a person opens", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      for (const url of [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://good.example@evil.example/",
        `https://evil.example/${"x".repeat(2000)}`,
        "",
      ])
        expect(await asked(frame, "ui/open-link", { url })).toEqual({ isError: true });
      const link = place.getByLabel("The view asks");
      const denied = asked(frame, "ui/open-link", { url: "https://a.evil.example:444/b?c" });
      await link.getByText("open a page at a.evil.example:444:", { exact: false }).waitFor();
      const second = await asked(frame, "ui/open-link", { url: "https://other.example/" });
      expect(second).toEqual({ isError: true });
      await link.getByRole("button", { name: "Deny" }).click();
      expect(await denied).toEqual({ isError: true });
      const url = new URL("/health", server.url).href;
      const allowed = asked(frame, "ui/open-link", { url });
      const [popup] = await Promise.all([
        page.context().waitForEvent("page"),
        link.getByRole("link", { name: `Open ${server.url.host}` }).click(),
      ]);
      expect(await allowed).toEqual({ isError: false });
      await popup.waitForURL(url);
      expect(await popup.evaluate("opener === null && document.referrer === ''")).toBe(true);
      expect(await link.count()).toBe(0);
    });

    test("to save files, which a person does", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      const question = place.getByLabel("The view asks");
      const save = (one: object) =>
        asked(frame, "ui/download-file", { contents: [{ type: "resource", resource: one }] });
      const denied = save({ uri: "file:///evil.exe", blob: "AAAA" });
      await question.getByText("evil.exe").waitFor();
      await question.getByRole("button", { name: "Deny" }).click();
      expect(await denied).toEqual({ isError: true });
      const saved = save({ uri: "file:///a%20b.svg", mimeType: "image/svg+xml", text: "<svg/>" });
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        question.getByRole("link", { name: "Save" }).click(),
      ]);
      expect(await saved).toEqual({});
      expect(download.suggestedFilename()).toBe("a b.svg");
      expect(await readFile(await download.path(), "utf8")).toBe("<svg/>");
      const linked = { type: "resource_link", uri: "https://evil.example/", name: "a" };
      const elsewhere = await asked(frame, "ui/download-file", { contents: [linked] });
      expect(elsewhere).toEqual({ isError: true });
      for (const uri of ["%", "file:///%ff"])
        expect(await save({ uri, text: "" })).toHaveProperty("error");
    });

    test("for messages to a model, which are shown", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      const content = [{ type: "text", text: "<b>Go on</b>" }];
      expect(await asked(frame, "ui/message", { role: "user", content })).toEqual({});
      expect(await asked(frame, "ui/update-model-context", { content })).toEqual({});
      const both = /"ui\/message"[^]*<b>Go on<\/b>[^]*"ui\/update-model-context"[^]*<b>Go on<\/b>/;
      await expect.poll(() => messagesOf(place), SOON).toMatch(both);
    });

    test("for the full screen, with two ways out", async () => {
      const page = await open(DRESSES["light"]);
      const { place, frame } = await board(page);
      const mode = { mode: "fullscreen" };
      const context = async () =>
        (await gotBy(frame, "notifications/host-context-changed")).at(-1) ?? {};
      const leave = place.getByRole("button", { name: "Leave full screen" });
      const ways = [() => page.keyboard.press("Escape"), () => leave.click()];
      for (const way of ways) {
        expect(await asked(frame, "ui/request-display-mode", mode)).toEqual(mode);
        expect(await leave.isVisible()).toBe(true);
        const box = (await place.locator("iframe").boundingBox())!;
        expect(box.width).toBeGreaterThan(1000);
        expect(box.height).toBeGreaterThan(700);
        await way();
        await expect.poll(async () => (await context()).displayMode, SOON).toBe("inline");
        expect(await leave.isVisible()).toBe(false);
      }
      const [first] = await gotBy(frame, "notifications/tool-input");
      expect(first).toBeDefined();
      const inline = { mode: "inline" };
      expect(await asked(frame, "ui/request-display-mode", { mode: "pip" })).toEqual(inline);
      // Nobody has used the page or the view.
      await page.evaluate(
        'Object.defineProperty(navigator, "userActivation", { value: { isActive: false } })',
      );
      expect(await asked(frame, "ui/request-display-mode", mode)).toEqual(inline);
    });

    test("in vain for a method that its host does not have", async () => {
      const page = await open();
      const { frame } = await board(page);
      expect(await asked(frame, "sampling/createMessage", {})).toHaveProperty("error");
      expect(await asked(frame, "tools/list")).toHaveProperty("error");
      expect(await asked(frame, "ping")).toEqual({});
    });
  });

  describe("a question that names a view", () => {
    /** A call that asks for a seat, by this view. */
    async function picking(page: Page, view: string) {
      const place = await toolOf(page, "pick");
      await place.getByLabel("view").fill(view);
      await run(place);
      return place;
    }
    const answered = (frame: Frame, result: object) =>
      frame.evaluate(`post({ id: question.id, result: ${JSON.stringify(result)} })`);

    test("is answered by it, as the form would be", async () => {
      const page = await open();
      const place = await picking(page, "ui://viewing/board");
      const question = place.getByLabel("A question", { exact: true });
      await question.getByText("Which seat?").waitFor();
      await place.getByRole("status").getByText("Waiting for your answer.").waitFor();
      expect(await page.title()).toMatch(/^\(1\) /);
      expect(await question.evaluate((one: any) => one.matches(":focus, :has(:focus)"))).toBe(true);
      const frame = await frameIn(place);
      await expect
        .poll(() => frame.evaluate("question?.params"), SOON)
        .toMatchObject({ message: "Which seat?", requestedSchema: { required: ["seat"] } });
      await answered(frame, { action: "accept", content: { seat: 7 } });
      await place.getByText("Completed after").waitFor();
      expect(await resultOf(place)).toContain(
        '{\\"action\\":\\"accept\\",\\"content\\":{\\"seat\\":7}}',
      );
      expect(await place.locator("iframe").count()).toBe(0);
      expect(await place.getByText("A question for you").count()).toBe(0);
    });

    test("is a form where somebody prefers that", async () => {
      const page = await open();
      const place = await picking(page, "ui://viewing/board");
      await place.getByRole("button", { name: "Use the form instead" }).click();
      await place.getByLabel("seat").fill("8");
      await place.getByRole("button", { name: "Send this answer" }).click();
      await place.getByText("Completed after").waitFor();
      expect(await resultOf(place)).toContain(
        '{\\"action\\":\\"accept\\",\\"content\\":{\\"seat\\":8}}',
      );
      expect(await place.locator("iframe").count()).toBe(0);
    });

    test.each([
      ["is another servlet's", "ui://hello/board"],
      ["does not exist", "ui://viewing/other"],
    ])("is a form where the view %s", async (_what, view) => {
      const page = await open();
      const place = await picking(page, view);
      await place.getByText("A question for you").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
    });

    test("is a form where the view does not start", async () => {
      const page = await open();
      await page.clock.install();
      const place = await picking(page, "ui://viewing/silent");
      await place.frameLocator("iframe").getByText("It never starts.").waitFor();
      await page.clock.fastForward(10_000);
      await place.getByText("A question for you").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
    });

    test("is a form where the view's answer is none", async () => {
      const page = await open();
      const place = await picking(page, "ui://viewing/board");
      await place.locator("iframe").waitFor();
      const frame = await frameIn(place);
      await expect.poll(() => frame.evaluate("question?.id"), SOON).toBeDefined();
      await answered(frame, { action: "agree" });
      await place.getByLabel("seat").waitFor();
    });

    test("gets no answer that its schema refuses", async () => {
      const page = await open();
      const place = await picking(page, "ui://viewing/board");
      await place.locator("iframe").waitFor();
      const frame = await frameIn(place);
      await expect.poll(() => frame.evaluate("question?.id"), SOON).toBeDefined();
      await answered(frame, { action: "accept", content: { seat: 70 } });
      await place.getByText("Failed after").waitFor();
      expect(await place.getByRole("alert").textContent()).toContain("seat");
    });

    test("is gone with its call", async () => {
      const page = await open();
      const place = await picking(page, "ui://viewing/board");
      await place.locator("iframe").waitFor();
      await place.getByRole("button", { name: "Cancel" }).click();
      await place.getByText("You have cancelled this call").waitFor();
      await expect.poll(() => place.locator("iframe").count(), SOON).toBe(0);
      expect(await place.getByText("A question for you").count()).toBe(0);
    });
  });

  describe("the page of a question that names a view", () => {
    /** The link for a call of a client that cannot ask its user. */
    async function linked(args: Record<string, string> = {}) {
      const client = new Client(
        { name: "plain", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      await client.connect(new StreamableHTTPClientTransport(server.url));
      const { structuredContent } = await client.callTool({ name: "pick", arguments: args });
      const { id, url } = structuredContent as { id: string; url: string };
      const result = async () => {
        const { content } = await client.callTool({ name: "get_result", arguments: { id } });
        return JSON.stringify(content);
      };
      return { url, result };
    }

    async function shownAt(url: string) {
      const page = await opened(browser!, url);
      await page.locator("iframe").waitFor();
      const frame = await frameIn(page.locator("body"));
      await expect.poll(() => frame.evaluate("question?.id"), SOON).toBeDefined();
      return { page, frame };
    }
    const answered = (frame: Frame, result: object) =>
      frame.evaluate(`post({ id: question.id, result: ${JSON.stringify(result)} })`);

    test("shows it, and takes its answer", async () => {
      const { url, result } = await linked();
      const { page, frame } = await shownAt(url);
      expect(await page.getByLabel("seat").isVisible()).toBe(false);
      expect(await frame.evaluate("question.params")).toMatchObject({ message: "Which seat?" });
      // It may use nothing: its page lists no tools.
      expect(await called(frame, "move")).toHaveProperty("error");
      await answered(frame, { action: "accept", content: { seat: 7 } });
      await page.getByText("Thank you").waitFor();
      expect(await result()).toContain('\\"seat\\":7');
      expect(complaints.get(page)).toEqual([]);
    });

    test("takes no answer that its schema refuses, and asks again", async () => {
      const { url, result } = await linked();
      const { page, frame } = await shownAt(url);
      await answered(frame, { action: "accept", content: { seat: 70, other: 1 } });
      await page.getByText("This was not sent").waitFor();
      await page.getByRole("button", { name: "Use the form instead" }).click();
      await page.getByLabel("seat").fill("8");
      await page.getByRole("button", { name: "Send this answer" }).click();
      await page.getByText("Thank you").waitFor();
      expect(await result()).toContain('\\"seat\\":8');
    });

    test("has the form where the view declines, cancels or leaves", async () => {
      const { url, result } = await linked();
      for (const [code, seen] of [
        ['post({ id: question.id, result: { action: "cancel" } })', ""],
        ["setTimeout(() => location.reload())", "The view has left its page"],
      ]) {
        const { page, frame } = await shownAt(url);
        await frame.evaluate(code!);
        await page.getByLabel("seat").waitFor();
        if (seen !== "") await page.getByText(seen!).waitFor();
      }
      const { page, frame } = await shownAt(url);
      await answered(frame, { action: "decline" });
      await page.getByText("Thank you").waitFor();
      expect(await result()).toContain("decline");
    });

    test("is a form without script, and where the view is not the servlet's own", async () => {
      const { url } = await linked();
      const page = await opened(browser!, url, { javaScriptEnabled: false });
      expect(await page.getByLabel("seat").isVisible()).toBe(true);
      const foreign = await linked({ view: "ui://hello/board" });
      const other = await opened(browser!, foreign.url);
      expect(await other.getByLabel("seat").isVisible()).toBe(true);
      expect(await other.locator("script, #view").count()).toBe(0);
    });

    test("has no barrier and no overflow", async () => {
      const page = await opened(browser!, (await linked()).url);
      await page.locator("iframe").waitFor();
      expect(await flaws(page, "view-question")).toEqual([]);
    });
  });

  test("where callers must be known, a view is shown to who has signed in, and calls as them", async () => {
    const page = await opened(browser!, new URL("/sign-in?back=%2F", keyed.url).href);
    await page.getByLabel("API key").fill("key-of-ada");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const { frame } = await board(page);
    expect(await called(frame, "move")).toMatchObject({ content: [{ text: "moved" }] });
    await page.context().clearCookies();
    expect(await called(frame, "move")).toMatchObject({
      error: { message: expect.stringMatching(/sign in/i) },
    });
  });

  describe("the result is shown without a view", () => {
    test("that never starts", async () => {
      const page = await open();
      const place = await toolOf(page, "stay_silent");
      await page.clock.install();
      await run(place);
      await place.frameLocator("iframe").getByText("It never starts.").waitFor();
      await page.clock.fastForward(10_000);
      await place.getByText("The view did not start within 10 seconds.").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
      await place.getByText("quiet").first().waitFor();
    });

    test.each([
      ["missing", { error: { code: -32602, message: "Resource not found: ui://viewing/board" } }],
      ["something else", { result: { resultType: "complete", contents: [] } }],
    ])("that is %s", async (_what, answer) => {
      const page = await open();
      await page.route("**/mcp", async (route) => {
        const sent = route.request().postDataJSON() as { id: number; method: string } | null;
        if (sent?.method !== "resources/read") return route.continue();
        return route.fulfill({ json: { jsonrpc: "2.0", id: sent.id, ...answer } });
      });
      const place = await toolOf(page, "list");
      await run(place);
      await place.getByText("The result is shown without its view.").waitFor();
      await place.locator(".result").getByText("water").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
    });
  });

  /** A page with a view, and what has come through from its frame to this server or another. */
  async function attacked(page: Page) {
    const reached: string[] = [];
    await page.context().route(/evil\.example|api\.example\.com/, (route) => {
      reached.push(route.request().url());
      return route.fulfill({ body: "" });
    });
    const { place, frame } = await board(page);
    page.on("response", (one) => void reached.push(one.url()));
    return { place, frame, reached };
  }

  /** What becomes of something that a view tries: its value, or the name of its error. */
  const tries = (frame: Frame, code: string): Promise<string> =>
    frame.evaluate(`(async () => { ${code} })().then(String, ({ name }) => name)`);

  /** The code that puts an element into a view, and says what becomes of it. */
  const adding = (tag: string, properties: object) =>
    `return new Promise((end) => document.body.append(Object.assign(document.createElement("${tag}"),
      ${JSON.stringify(properties)}, { onload: () => end("loaded"), onerror: () => end("refused") })))`;
  /** The code that says what is called first. */
  const calling = (code: string) =>
    `return new Promise((end) => { const one = ${code}; one.onmessage = one.onopen = () => end("there"); one.onerror = () => end("refused"); })`;

  const { origin } = server.url;
  const SILENT = `${origin}/console/view?uri=ui%3A%2F%2Fviewing%2Fsilent`;
  const EVIL = "https://evil.example/";

  describe("a hostile view cannot", () => {
    test.each([
      ["read the page's document", "return parent.document.title", "SecurityError"],
      ["read the page's storage", "return parent.localStorage.length", "SecurityError"],
      ["read the page's variables", "return parent.name", "SecurityError"],
      ["read cookies", "return document.cookie", "SecurityError"],
      ["keep anything", "return localStorage.length", "SecurityError"],
      ["lead the page away", `top.location = "${EVIL}"`, "SecurityError"],
      ["open a window", `return open("${EVIL}")`, "null"],
      ["show a dialog", "return confirm('?')", "false"],
      ["fetch from this server", `return fetch("${origin}/health")`, "TypeError"],
      ["fetch another view", `return fetch("${SILENT}")`, "TypeError"],
      ["fetch from what it has not declared", `return fetch("${EVIL}")`, "TypeError"],
      // A beacon says whether it was queued.
      ["send a beacon", `return navigator.sendBeacon("${origin}/mcp", "x")`, "false|true"],
      ["hear events", calling(`new EventSource("${origin}/console/live-events")`), "refused"],
      ["open a socket", calling(`new WebSocket("${origin}/")`), "refused"],
      ["load a picture", adding("img", { src: EVIL }), "refused"],
      ["load a script", adding("script", { src: `${origin}/console/main.js` }), "refused"],
      ["load a style", adding("link", { rel: "stylesheet", href: EVIL }), "refused"],
      [
        "run a string",
        "return new Promise((end, fail) => setTimeout(() => { try { end(eval('1')); } catch (error) { fail(error); } }))",
        "EvalError",
      ],
      [
        "start a worker",
        calling('new Worker(URL.createObjectURL(new Blob(["postMessage(1)"])))'),
        "refused",
      ],
      ["register a service worker", "return navigator.serviceWorker.register('x.js')", "\\w+Error"],
      [
        "change what its links are relative to",
        `document.head.append(Object.assign(document.createElement("base"), { href: "${EVIL}" })); return document.baseURI.includes("evil")`,
        "false",
      ],
      ["use a camera", "return navigator.mediaDevices.getUserMedia({ video: true })", "\\w+Error"],
      [
        "know where somebody is",
        "return new Promise((end) => navigator.geolocation.getCurrentPosition(() => end('there'), () => end('refused')))",
        "refused",
      ],
    ])("%s", async (_what, code, expected) => {
      const page = await open();
      const { frame, reached } = await attacked(page);
      expect(await tries(frame, code)).toMatch(new RegExp(`^(${expected})$`));
      expect(page.url()).toBe(new URL("/?tool=list", server.url).href);
      expect(page.context().pages()).toHaveLength(1);
      expect(reached).toEqual([]);
    });

    test.each([
      ["another view", SILENT],
      ["the console", `${origin}/`],
      ["another site", EVIL],
    ])("frame %s", async (_what, src) => {
      const page = await open();
      const { frame, reached } = await attacked(page);
      await tries(frame, adding("iframe", { src }));
      expect(frame.childFrames()[0]!.url()).toMatch(/^(chrome-error:|about:blank)/);
      expect(reached).toEqual([]);
    });

    test.each([
      ["another view", `location = "${SILENT}"`],
      [
        "another view, by a refresh",
        adding("meta", { httpEquiv: "refresh", content: `0;url=${SILENT}` }),
      ],
      [
        "the console, by a link",
        `const one = Object.assign(document.createElement("a"), { href: "/" }); document.body.append(one); one.click()`,
      ],
      ["another site", `location = "${EVIL}?secret"`],
      ["data", 'location = "data:text/html,<p>other"'],
      ["itself", "location.reload()"],
    ])("lead its frame to %s", async (_what, code) => {
      const page = await open();
      const { place, frame, reached } = await attacked(page);
      const shown: string[] = [];
      page.on("response", async (one) => {
        if (one.status() === 200) shown.push(one.url());
      });
      // Its document is gone before it could say what became of it.
      await frame.evaluate(`setTimeout(() => { (() => { ${code} })(); })`);
      await place.getByText("The view has left its page, so it was closed.").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
      expect(reached.join()).not.toContain("evil");
      expect(shown).not.toContain(SILENT);
    });

    test("send a form", async () => {
      const page = await open();
      const { frame, reached } = await attacked(page);
      const form = { action: `${origin}/mcp`, method: "post" };
      await frame.evaluate(
        `document.body.append(Object.assign(document.createElement("form"), ${JSON.stringify(form)})); document.forms[0].submit()`,
      );
      expect(await called(frame, "think")).toHaveProperty("error");
      expect(reached).toEqual([]);
    });

    test("have others speak for it: frames in it, and the page itself", async () => {
      const page = await open();
      const { place, frame } = await attacked(page);
      const params = { name: "move", arguments: {} };
      const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      await page.evaluate(`
        globalThis.heard = 0;
        addEventListener("message", ({ source }) => {
          if (source !== document.querySelector("iframe").contentWindow) heard++;
        });
      `);
      const srcdoc = `<script>top.postMessage(${message}, "*")</script>`;
      await tries(frame, adding("iframe", { srcdoc }));
      await page.evaluate(`postMessage(${message}, "*")`);
      await expect.poll(() => page.evaluate("heard"), SOON).toBe(2);
      await called(frame, "move");
      const [, ...parts] = (await settled(place)).split("from the view");
      const own = parts.map((one) => one.split(/to the view|sent |received /)[0]);
      expect(own.filter((one) => one!.includes('"tools/call"'))).toHaveLength(1);
    });

    test("have markup of its own shown by the page", async () => {
      const page = await open();
      const evil = "<img src=x onerror=alert(1)>\u202e";
      const { place, frame } = await board(page, evil);
      await asked(frame, "ui/message", { role: "user", content: [{ type: "text", text: evil }] });
      await asked(frame, "tools/call", { name: evil });
      await frame.evaluate(
        `tell("notifications/message", { level: "info", data: ${JSON.stringify(evil)} })`,
      );
      await place.getByText("info: <img").waitFor();
      await expect
        .poll(() => messagesOf(place), SOON)
        .toContain("<img src=x onerror=alert(1)>\\u{202e}");
      expect(await place.locator("img").count()).toBe(0);
      expect(complaints.get(page)).toEqual([]);
    });

    test.each([
      ["large", '"x".repeat(5_000_000)'],
      ["of very many values", "Array(600_000).fill(0)"],
      ["a circle", "(() => { const one = {}; one.one = one; return one; })()"],
      ["bytes", "new Uint8Array(8)"],
    ])("send messages that are %s", async (_what, data) => {
      const page = await open();
      const { place, frame } = await board(page);
      await frame.evaluate(
        `tell("ui/message", ${data}); post(${data}); post({ id: "big", method: "ui/message", params: { role: "user", content: ${data} } })`,
      );
      expect(await called(frame, "move")).toMatchObject({ content: [{ text: "moved" }] });
      expect((await settled(place)).length).toBeLessThan(100_000);
      expect(await messagesOf(place)).not.toContain('"ui/message"');
    });

    test("send messages without end", async () => {
      const page = await open();
      const { place, frame } = await board(page);
      await frame.evaluate(`
        const flood = () => { for (let nth = 0; nth < 2000; nth++) tell("ui/notifications/size-changed", { height: 9 }); setTimeout(flood); };
        flood();
      `);
      await place.getByText("The view sent more than 1000 messages in a second").waitFor();
      expect(await place.locator("iframe").count()).toBe(0);
      await place.locator(".result").getByText("water").waitFor();
    });
  });
});
