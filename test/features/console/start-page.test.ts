import { features } from "../../all-features.ts";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { app, settings, URL_OF_MCP } from "../../worker/server.ts";

/** The start page. */

const get = (path: string, headers = {}, server = app) =>
  Promise.resolve(server.fetch(new Request(new URL(path, URL_OF_MCP), { headers })));

describe("pages and health", () => {
  test("the page shows what servlets say of themselves, and browsers obey none of it", async () => {
    const hello = bundle.servlets.find(({ name }) => name === "hello")!;
    const tools = hello.lists!.tools.map((tool) => ({
      ...tool,
      description: "One\u202e\u2066\n\u0085two",
    }));
    const servlet = { ...hello, lists: { ...hello.lists!, tools } };
    const server = createApp(new Kernel({ ...bundle, servlets: [servlet] }, settings));
    for (const path of ["/", "/?tool=greet"]) {
      const text = await (await server.fetch(new Request(`http://localhost:8787${path}`))).text();
      expect(text).toContain(
        path === "/" ? "One\\u{202e}\\u{2066}" : "One\\u{202e}\\u{2066}\n\\u{85}two",
      );
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    }
  });

  test.each(["/", "/mcp"])(
    "GET %s from a browser is a page with the URL and the tools",
    async (path) => {
      const response = await get(path, { accept: "text/html,*/*" });
      expect(response.headers.get("content-type")).toContain("text/html");
      const text = await response.text();
      expect(text).toContain("http://localhost:8787/mcp");
      expect(text).toContain("greet");
    },
  );

  test("texts of servlets are text on it, not markup", async () => {
    const [first] = bundle.servlets;
    const evil = { ...first!, manifest: { description: "<script>alert(1)</script>" } };
    const text = await (
      await get("/", {}, createApp(new Kernel({ features, servlets: [evil] }, {})))
    ).text();
    expect(text).not.toContain("<script>");
    expect(text).toContain("&lt;script&gt;");
  });
});
