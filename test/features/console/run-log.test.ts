// @module-tag usage
import { features } from "../../all-features.ts";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle as all } from "../../bundle.gen.ts";
import { ask, isAboutRefusals } from "../../worker/server.ts";

/** The line of the log that says why a call failed. */

afterEach(() => vi.restoreAllMocks());

/** Few servlets, whose lists are known: to ask for lists is a run, too. */
const bundle = {
  features,
  servlets: all.servlets.filter(({ name }) => ["hello", "script", "faulty"].includes(name)),
};

/** The text that `work` writes to the log, at each level. */
async function written(work: () => Promise<unknown>) {
  const lines: string[] = [];
  for (const level of ["log", "info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  await work();
  vi.restoreAllMocks();
  return lines.filter((line) => !isAboutRefusals(line));
}

/** What is logged while a tool is called. */
const called = (name: string, args: object = {}, settings: object = {}, served = bundle) =>
  written(async () => {
    const server = createApp(new Kernel(served, { ...env, RUN_LOG: "json", ...settings }));
    await ask("tools/call", { name, arguments: args }, {}, server);
  });

const withManifest = (manifest: PreparedServlet["manifest"]) => ({
  ...bundle,
  servlets: bundle.servlets.map((one) => (one.name === "hello" ? { ...one, manifest } : one)),
});

const UNSET = withManifest({ env_vars: { api: "${ISSUES_API}" } });

test("the console has the same entry, and counts it as an error", async () => {
  const usageMs = limits.usageMs;
  configureLimits({ usageMs: 0 });
  try {
    await called("broken");
    await called("greet", { name: "Ada" }, {}, UNSET);
    await expect
      .poll(async () => usageOf(env)!().errors())
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            outcome: "threw",
            tool: "broken",
            message: "Uncaught Error: oh no",
          }),
          expect.objectContaining({
            outcome: "not_configured",
            message: expect.stringContaining("ISSUES_API"),
          }),
        ]),
      );
  } finally {
    configureLimits({ usageMs });
  }
});
