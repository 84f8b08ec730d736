// @module-tag console
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  barriers,
  DRESSES,
  flaws,
  opened,
  PICTURES,
  realBrowser,
  smallTargets,
  tried,
} from "../../../node/http/real-browser.ts";
import { serving } from "../../../node/http/serving.ts";

/** Files in the console, in a real browser: the form of a tool that takes one, and the page Files. */

const { browser, why } = await realBrowser();

const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");
const server = await serving({
  assets: ".bundle/assets",
  buckets: ["TRANSFERS_BUCKET"],
  variables: {
    TEST_SERVLETS: "transferring,probe",
    API_KEYS: JSON.stringify(
      Object.fromEntries(["ada", "bob", "eve"].map((one) => [one, hashOf(one)])),
    ),
  },
});

/** One at which nobody needs to sign in. */
const open = await serving({
  assets: ".bundle/assets",
  variables: { TEST_SERVLETS: "transferring,probe" },
});

/** A page of somebody who has signed in. */
async function pageOf(who: string, path: string, options: BrowserContextOptions = {}) {
  const start = new URL(`/sign-in?back=${encodeURIComponent(path)}`, server.url).href;
  const page = await opened(browser!, start, options);
  await page.getByLabel("API key").fill(who);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}

const FILE = { type: "string", format: "uri", "x-mcp-file": {} };

/** Has the page get another list of tools. */
const listing = (page: Page, change: (tools: any[]) => any[]) =>
  page.route("**/mcp", async (route) => {
    const response = await route.fetch();
    if (!route.request().postData()?.includes('"tools/list"')) return route.fulfill({ response });
    const answer = (await response.json()) as any;
    answer.result.tools = change(answer.result.tools);
    return route.fulfill({ response, json: answer });
  });

const file = (name: string, content: string | Buffer, mimeType = "text/plain") => ({
  name,
  mimeType,
  buffer: Buffer.from(content),
});

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("a file that is chosen is sent, and the tool opens it", async () => {
    const page = await pageOf("ada", "/?tool=measure_file");
    const place = await tried(page, "measure_file");
    const chooser = place.getByLabel("Choose a file for data");
    expect(await chooser.getAttribute("accept")).toBe("text/*,.bin");
    await place.getByText("text/*, .bin · at most 977 KiB").waitFor();
    expect(await place.getByText("upload_file").count()).toBe(0);
    expect(await flaws(page, "file-field")).toEqual([]);
    await chooser.setInputFiles(file("täble.txt", "0123456789".repeat(90_000)));
    await place.getByText("täble.txt was sent.").waitFor();
    expect(await place.getByRole("textbox", { name: "data" }).inputValue()).toMatch(
      /^stored-file:/,
    );
    expect(await flaws(page, "file-field-sent")).toEqual([]);
    await place.getByRole("button", { name: "Run" }).click();
    const result = place.locator(".result");
    await result.getByText("täble.txt").first().waitFor();
    await result.getByText("900000").first().waitFor();
    await page.goto(new URL("/console/files", page.url()).href);
    await page.getByRole("link", { name: "täble.txt" }).waitFor();
  });

  test("a file that is dropped is sent over lost connections; another one replaces it, and Run waits", async () => {
    const page = await pageOf("bob", "/?tool=measure_file", DRESSES["phone"]);
    const place = await tried(page, "measure_file");
    let held = Promise.withResolvers<void>();
    let parts = 0;
    await page.route("**/files/in/*", async (route) => {
      if (route.request().method() !== "PUT") return route.continue();
      parts++;
      if (parts === 1) return route.abort("connectionreset");
      await held.promise;
      return route.continue();
    });
    const drop = (name: string, text: string) =>
      page.evaluate(
        `{
        const data = new DataTransfer();
        data.items.add(new File(["${text}"], "${name}"));
        for (const kind of ["dragover", "drop"])
          document.querySelector(".drop").dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
      }`,
      );
    await drop("first.bin", "first");
    await place.getByText("Sending first.bin").waitFor();
    await place.getByText("The connection was lost. Trying again.").waitFor();
    const run = place.getByRole("button", { name: "Run" });
    expect(await run.isDisabled()).toBe(true);
    expect(await smallTargets(page)).toEqual([]);
    await page.screenshot({ path: `${PICTURES}/file-field-sending.png` });
    expect(await barriers(page)).toEqual([]);
    await place.getByRole("button", { name: "Cancel" }).click();
    await place.getByText("first.bin was not sent.").waitFor();
    expect(await run.isDisabled()).toBe(false);
    await drop("second.bin", "second");
    await place.getByText("Sending second.bin").waitFor();
    await drop("third.bin", "3");
    await place.getByText("Sending third.bin").waitFor();
    held.resolve();
    await place.getByText("third.bin was sent.").waitFor();
    await run.click();
    await place.locator(".result").getByText("third.bin").first().waitFor();
    held = Promise.withResolvers<void>();
    await drop("fourth.bin", "fourth");
    await place.getByText("Sending fourth.bin").waitFor();
    const stopped = page.waitForEvent("requestfailed");
    await place.getByRole("button", { name: "Edit as JSON" }).click();
    expect((await stopped).url()).toContain("/files/in/");
  });

  test("a file that the tool does not take is not sent, and the page says why; a URI can be typed", async () => {
    const page = await pageOf("bob", "/?tool=measure_file");
    const place = await tried(page, "measure_file");
    let sent = 0;
    await page.route("**/files/in/*", (route) => {
      sent++;
      return route.continue();
    });
    const chooser = place.getByLabel("Choose a file for data");
    await chooser.setInputFiles(file("a.png", "x", "image/png"));
    await place
      .getByText("a.png is not a file of an accepted type (text/*, .bin). Choose another one.")
      .waitFor();
    await chooser.setInputFiles(file("large.txt", Buffer.alloc(1_000_001)));
    await place
      .getByText("large.txt has 1000001 bytes (limit 1000000). Choose a smaller file.")
      .waitFor();
    expect(sent).toBe(0);
    await place.getByRole("button", { name: "Run" }).click();
    await place.getByText("data is required").waitFor();
    // By the keyboard alone.
    await chooser.focus();
    await page.keyboard.press("Tab");
    await page.keyboard.type("data:text/plain,typed");
    await page.keyboard.press("Enter");
    await place.locator(".result").getByText("typed").first().waitFor();
  });

  test("files of a list and optional ones are sent, and the tool gets their URIs", async () => {
    const page = await pageOf("ada", "/");
    const properties = {
      all: { type: "array", items: FILE },
      one: { anyOf: [FILE, { type: "null" }] },
    };
    await listing(page, (tools) => {
      const echo = tools.find(({ name }) => name === "echo_input");
      echo.inputSchema = { type: "object", properties, required: ["all"] };
      return tools;
    });
    const place = await tried(page, "echo_input");
    await place.getByRole("button", { name: "Add one to all" }).click();
    for (const [label, name] of [
      ["all 1", "a"],
      ["all 2", "b"],
      ["one", "c"],
    ] as const) {
      await place.getByLabel(`Choose a file for ${label}`).setInputFiles(file(name, name));
      await place.getByText(`${name} was sent.`).waitFor();
    }
    expect(await flaws(page, "file-list")).toEqual([]);
    await place.getByRole("button", { name: "Run" }).click();
    const uris = await Promise.all(
      ["all 1", "all 2", "one"].map((name) => place.getByRole("textbox", { name }).inputValue()),
    );
    expect(new Set(uris).size).toBe(3);
    for (const uri of uris) await place.locator(".result").getByText(uri).first().waitFor();
  });

  test("callers of whom nothing is known send files, too", async () => {
    const page = await opened(browser!, new URL("/?tool=measure_file", open.url).href);
    const place = await tried(page, "measure_file");
    await place.getByLabel("Choose a file for data").setInputFiles(file("anon.txt", "by nobody"));
    await place.getByText("anon.txt was sent.").waitFor();
    expect(await place.getByRole("textbox", { name: "data" }).inputValue()).toMatch(
      /^stored-file:/,
    );
    await place.getByRole("button", { name: "Run" }).click();
    await place.locator(".result").getByText("by nobody").first().waitFor();
  });

  test("where the server takes no files, the field is one for a URI", async () => {
    const page = await opened(browser!, open.url.origin);
    await listing(page, (tools) => {
      tools.find(({ name }) => name === "echo_input").inputSchema = {
        type: "object",
        properties: { one: FILE },
        required: ["one"],
      };
      return tools.filter(({ name }) => name !== "upload_file");
    });
    const place = await tried(page, "echo_input");
    expect(await place.getByRole("textbox", { name: "one" }).getAttribute("type")).toBe("url");
    expect(await place.getByLabel("Choose a file").count()).toBe(0);
  });

  test("the page Files has no barrier; its files are downloaded and deleted", async () => {
    const page = await pageOf("eve", "/?tool=make_file");
    await page.goto(new URL("/console/files", page.url()).href);
    expect(await flaws(page, "files-none")).toEqual([]);
    await page.goto(new URL("/?tool=make_file", page.url()).href);
    const place = await tried(page, "make_file");
    for (const [name, text] of [
      ["a.csv", "a,b"],
      ["a much longer name of a file that was made.csv", "c"],
    ] as const) {
      await place.getByRole("textbox", { name: "name" }).fill(name);
      await place.getByRole("textbox", { name: "text" }).fill(text);
      await place.getByRole("button", { name: "Run" }).click();
      await place.locator(".result").getByText(name).first().waitFor();
    }
    await page.goto(new URL("/console/files", page.url()).href);
    expect(await flaws(page, "files")).toEqual([]);
    await page.setViewportSize(DRESSES["phone"]!.viewport!);
    expect(await smallTargets(page)).toEqual([]);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "a.csv", exact: true }).click();
    const got = await download;
    expect(got.suggestedFilename()).toBe("a.csv");
    expect(await readFile(await got.path(), "utf8")).toBe("a,b");
    await page.getByRole("button", { name: "Delete a.csv" }).click();
    await page.getByRole("link", { name: "a.csv", exact: true }).waitFor({ state: "detached" });
    expect(await page.getByRole("link", { name: "a much longer name" }).count()).toBe(1);
  });
});
