import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { createApp } from "../../src/server/kernel/app.ts";
import { Kernel } from "../../src/server/kernel/kernel.ts";
import type { PreparedServlet } from "../../src/server/kernel/servlets/bundle.ts";
import { features } from "../all-features.ts";
import { bundle as all } from "../bundle.gen.ts";
import { ask, isAboutRefusals } from "./server.ts";

/** Few servlets, whose lists are known: to ask for lists is a run, too. */
export const bundle = {
  features,
  servlets: all.servlets.filter(({ name }) => ["hello", "script", "faulty"].includes(name)),
};

/** The text that `work` writes to the log, at each level. */
export async function written(work: () => Promise<unknown>) {
  const lines: string[] = [];
  for (const level of ["log", "info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  await work();
  vi.restoreAllMocks();
  return lines.filter((line) => !isAboutRefusals(line));
}

/** What is logged while a tool is called. */
export const called = (name: string, args: object = {}, settings: object = {}, served = bundle) =>
  written(async () => {
    const server = createApp(new Kernel(served, { ...env, RUN_LOG: "json", ...settings }));
    await ask("tools/call", { name, arguments: args }, {}, server);
  });

export const withManifest = (manifest: PreparedServlet["manifest"]) => ({
  ...bundle,
  servlets: bundle.servlets.map((one) => (one.name === "hello" ? { ...one, manifest } : one)),
});

export const UNSET = withManifest({ env_vars: { api: "${ISSUES_API}" } });
