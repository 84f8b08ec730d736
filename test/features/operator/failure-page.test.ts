// @module-tag console
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { browser } from "../../worker/pages/browser.ts";

test("a browser without a key is shown a page that leads to the sign-in", async () => {
  const server = createApp(new Kernel(bundle, { ...env, API_KEYS: "{}" }));
  const headers = { accept: "text/html" };
  const page = await browser(server).fetch("/operator/states", { headers });
  expect(page.status).toBe(401);
  expect(page.response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.html).toContain("<h1>Sign in to go on</h1>");
  expect(page.html).toMatch(/<a class="button primary" href="[^"]+">Sign in<\/a>/);
  expect(page.response.headers.has("www-authenticate")).toBe(true);
});
