import { env } from "cloudflare:workers";
import { html } from "hono/html";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel, type Feature } from "../../../src/server/kernel/kernel.ts";
import type { ConsolePage } from "../../../src/server/features/console/pages.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";

/** Pages of the console that features add. */

const page = (name: string, isForOperators: boolean): ConsolePage => ({
  name,
  isForOperators,
  path: `/console/${name.toLowerCase()}`,
  show: async (_raw, { caller }) => ({ body: html`<h1>Shown to ${caller!.name}</h1>` }),
});
const feature: Feature = {
  name: "added",
  start: () => ({ pages: [page("Mine", false), page("Ours", true)] }),
};

const hashes = JSON.parse(await hashed(["ada", "boss"])) as Record<string, string>;
const API_KEYS = JSON.stringify({
  ...hashes,
  boss: { hash: hashes["boss"], scopes: ["operator", "hello:*"] },
});
const features = [...bundle.features, feature];
const server = createApp(new Kernel({ ...bundle, features }, { ...env, API_KEYS }));

test("a page of a feature is in the navigation of those who may open it, and refused to others", async () => {
  const ada = browser(server);
  expect((await ada.fetch("/console/mine")).response.headers.get("location")).toBe(
    "/sign-in?back=%2Fconsole%2Fmine",
  );
  await ada.send("/sign-in?back=/console/mine", { credential: "ada" });
  const { html: own, text } = await ada.fetch("/console/mine");
  expect(text).toContain("Shown to ada");
  expect(own).toMatch(/<a href="\/console\/mine" aria-current="page">Mine<\/a>/);
  expect(own).not.toContain("/console/ours");
  const refused = await ada.fetch("/console/ours");
  expect(refused.status).toBe(403);
  expect(refused.text).not.toContain("Shown to");

  const boss = browser(server);
  await boss.send("/sign-in?back=/console/ours", { credential: "boss" });
  const { html: both } = await boss.fetch("/console/ours");
  expect(both).toContain("Shown to boss");
  expect(both).toMatch(/<a href="\/console\/mine"[^>]*>Mine<\/a>/);
});
