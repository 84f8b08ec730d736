import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  DRESSES,
  flaws,
  opened,
  realBrowser,
  smallTargets,
} from "../../../node/http/real-browser.ts";
import { called } from "../../../node/http/called.ts";
import { serving } from "../../../node/http/serving.ts";

/** The page on which a person chooses a file, in a real browser. */

const { browser, why } = await realBrowser();

const { url } = await serving({
  buckets: ["TRANSFERS_BUCKET"],
  variables: {
    TEST_SERVLETS: "transferring",
    API_KEYS: JSON.stringify({ ada: createHash("sha256").update("ada").digest("hex") }),
  },
});

const call = (name: string, args: object) => called(url, "ada", { name, args });

/** A file that is asked for: its URI, and the address of the page. */
async function asked(request: object = {}) {
  const payload = { message: "Which table?", accept: [".bin"], ...request };
  const { structuredContent } = await call("call_host", { name: "transfers.ask", payload });
  return structuredContent.result as { uri: string; url: string };
}

const file = (size: number) => ({
  name: "täble 1.bin",
  mimeType: "application/octet-stream",
  buffer: Buffer.alloc(size, "0123456789"),
});

describe.skipIf(browser === undefined)(`in a browser${why}`, () => {
  test("the page has no barrier, no overflow, and nothing that the browser complains about", async () => {
    const page = await opened(browser!, (await asked()).url);
    expect(await flaws(page, "upload")).toEqual([]);
    expect(await page.getByText("Which table?").isVisible()).toBe(true);
  });

  test("a file of several parts is sent on a phone, over lost connections, and the page says so", async () => {
    const { uri, url: address } = await asked();
    const page = await opened(browser!, address, DRESSES["phone"]);
    expect(await smallTargets(page)).toEqual([]);
    let parts = 0;
    await page.route("**/files/in/*", (route) => {
      const isLost = route.request().method() === "PUT" && ++parts % 2 === 0;
      return isLost ? route.abort("connectionreset") : route.continue();
    });
    const size = 20 * 1024 * 1024 + 7;
    await page.getByLabel("Choose a file").setInputFiles(file(size));
    await page.getByText("The file was sent.").waitFor({ timeout: 60_000 });
    expect(parts).toBeGreaterThan(3);
    const { content } = await call("read_stored_file", { file: uri, offset: size - 7 });
    expect(Buffer.from(content[0].resource.blob, "base64").toString()).toBe(
      file(size).buffer.subarray(-7).toString(),
    );
    const { structuredContent } = await call("call_host", {
      name: "transfers.open",
      payload: { uri },
    });
    expect(structuredContent.result).toMatchObject({ name: "täble 1.bin", size });
    await page.reload();
    await page.getByText("The file was sent").waitFor();
  });

  test("a file that is dropped is sent; one that is too large is refused, and another may be chosen", async () => {
    const { url: address } = await asked({ mostBytes: 10 });
    const page = await opened(browser!, address);
    await page.getByLabel("Choose a file").setInputFiles(file(11));
    await page.getByText("11 bytes (limit 10)").waitFor();
    await page.evaluate(`{
      const data = new DataTransfer();
      data.items.add(new File(["0123"], "dropped.bin"));
      document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }`);
    await page.getByText("The file was sent.").waitFor();
    expect(await page.getByLabel("Choose a file").isVisible()).toBe(false);
  });
});
