/** Reads the Worker's local variables and secrets. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod";
import { OWN_EXTENSION } from "../bundle/own.ts";
import { Refusals } from "../bundle/refusal.ts";
import { isInterpreted } from "../bundle/source.ts";
import { currentWorkspace } from "./folders.ts";

interface ConfigSelection {
  config?: string;
  env?: string;
}

/**
 * Names of the non-empty variables in wrangler.toml, .dev.vars and .env, read as `wrangler dev` does for this
 * configuration and environment.
 */
export async function localVariables(named: ConfigSelection = {}): Promise<Set<string>> {
  const values = await localValues(named);
  // An empty value counts as missing.
  return new Set(Object.keys(values).filter((name) => values[name] !== ""));
}

/** The local variables and secrets, with their values. */
export async function localValues(named: ConfigSelection): Promise<Record<string, unknown>> {
  const { config, env } = named;
  const plain = plainValues(named);
  if (plain !== undefined) return plain;
  const { unstable_getVarsForDev, unstable_readConfig } = await import("wrangler");
  const read = unstable_readConfig({ config: config!, env: env! }, { hideWarnings: true });
  const { vars, secrets, userConfigPath } = read;
  const found = unstable_getVarsForDev(userConfigPath, undefined, vars, env, true, secrets);
  return Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
}

/**
 * The values, if wrangler.toml is their only source; otherwise undefined, and wrangler must read them. Avoids wrangler
 * where possible, because it takes a second to load.
 */
function plainValues({ config = "wrangler.toml", env }: ConfigSelection) {
  const others = ["CLOUDFLARE_ENV", "CLOUDFLARE_INCLUDE_PROCESS_ENV"];
  if (env !== undefined || !config.endsWith(".toml") || others.some((name) => process.env[name]))
    return undefined;
  try {
    const beside = readdirSync(dirname(config));
    if (beside.some((name) => /^\.(dev\.vars|env)(\.|$)/.test(name))) return undefined;
    return varsSchema.parse(parse(readFileSync(config, "utf8"))).vars;
  } catch {
    // Wrangler reports the error.
    return undefined;
  }
}

const varsSchema = z.object({ vars: z.record(z.string(), z.unknown()).default({}) });

/** The servlets of the project whose manifests can be read. */
export async function scannedServlets() {
  const { scan } = await import("../bundle/scan.ts");
  return scan(currentWorkspace(), new Refusals());
}

/** Messages about variables that neither a servlet nor the server uses; with `isMisspelt`, only about likely typos. */
export async function unusedAmong(values: object, { isMisspelt = false } = {}): Promise<string[]> {
  const [servlets, { unusedIn }] = await Promise.all([
    scannedServlets(),
    import("../../server/kernel/servlets/variables.ts"),
  ]);
  const { deploymentOf, readSettings, allSettings } = await settingsReader();
  const { variables } = deploymentOf(readSettings(values, allSettings), values);
  const texts = await textsOf(servlets);
  const names = Object.keys(variables).filter((name) => !texts.some((text) => text.includes(name)));
  return unusedIn(servlets, names, { isMisspelt });
}

/** The scripts of servlets, which may name secrets of webhooks that no manifest names. */
const textsOf = (servlets: Awaited<ReturnType<typeof scannedServlets>>): Promise<string[]> =>
  Promise.all(
    servlets
      .filter(({ source }) => isInterpreted(source))
      .flatMap(({ source }) => source.files.map((file) => readFile(file, "utf8").catch(() => ""))),
  );

/** Loads the server's settings reader at run time, because this room does not have the Workers types that it needs. */
export async function settingsReader() {
  const { href } = new URL(`../../server/all-settings${OWN_EXTENSION}`, import.meta.url);
  return (await import(href)) as {
    allSettings: readonly object[];
    readSettings(env: object, features: readonly object[]): object;
    deploymentOf(settings: object, env: object): { variables: object };
  };
}
