/** Which variables and secrets does the Worker have on this machine? */
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod";

interface Named {
  config?: string;
  env?: string;
}

/** Those of wrangler.toml, .dev.vars and .env, as `wrangler dev` reads them: of another configuration or environment if named. */
export async function localVariables(named: Named = {}): Promise<Set<string>> {
  const values = await localValues(named);
  // An empty one counts as missing.
  return new Set(Object.keys(values).filter((name) => values[name] !== ""));
}

/** The local variables and secrets, with their values. */
export async function localValues(named: Named): Promise<Record<string, unknown>> {
  const { config, env } = named;
  const plain = plainValues(named);
  if (plain !== undefined) return plain;
  const { unstable_getVarsForDev, unstable_readConfig } = await import("wrangler");
  const read = unstable_readConfig({ config: config!, env: env! }, { hideWarnings: true });
  const { vars, secrets, userConfigPath } = read;
  const found = unstable_getVarsForDev(userConfigPath, undefined, vars, env, true, secrets);
  return Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
}

/** The values where they stand in wrangler.toml alone; else undefined: wrangler knows, but takes a second to load. */
function plainValues({ config = "wrangler.toml", env }: Named) {
  const others = ["CLOUDFLARE_ENV", "CLOUDFLARE_INCLUDE_PROCESS_ENV"];
  if (env !== undefined || !config.endsWith(".toml") || others.some((name) => process.env[name]))
    return undefined;
  try {
    const beside = readdirSync(dirname(config));
    if (beside.some((name) => /^\.(dev\.vars|env)(\.|$)/.test(name))) return undefined;
    return varsSchema.parse(parse(readFileSync(config, "utf8"))).vars;
  } catch {
    // Wrangler says what is wrong with it.
    return undefined;
  }
}

const varsSchema = z.object({ vars: z.record(z.string(), z.unknown()).default({}) });
