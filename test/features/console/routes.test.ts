// @module-tag sign-in
import { env } from "cloudflare:workers";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { bundle } from "../../bundle.gen.ts";
import { PROFILES } from "../../worker/test-profiles.ts";

test("routes are found by one regular expression: a pair of ambiguous ones would make each request walk a tree", async () => {
  const served = { ...bundle, profiles: PROFILES };
  const passphrase = { OWNER_PASSPHRASE: await hashPassphrase("x") };
  const { routes } = createApp(new Kernel(served, { ...env, ...passphrase }));
  const router = new RegExpRouter<string>();
  for (const { method, path } of routes) router.add(method, path, path);
  expect(router.match("GET", "/console/main.js")[0].map(([path]) => path)).toEqual([
    "/*",
    "/console/*",
  ]);
});
