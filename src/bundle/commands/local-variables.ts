/** Which variables and secrets does the Worker have on this machine? */
import { unstable_getVarsForDev, unstable_readConfig } from "wrangler";

interface Named {
  config?: string;
  env?: string;
}

/** Those of wrangler.toml and .dev.vars, as `wrangler dev` reads them: of another configuration or environment if named. */
export function localVariables(named: Named = {}): Set<string> {
  const values = localValues(named);
  // An empty one counts as missing.
  return new Set(Object.keys(values).filter((name) => values[name] !== ""));
}

/** The local variables and secrets, with their values. */
export function localValues(named: Named): Record<string, unknown> {
  const { config, env } = named;
  const read = unstable_readConfig({ config: config!, env: env! }, { hideWarnings: true });
  const { vars, secrets, userConfigPath } = read;
  const found = unstable_getVarsForDev(userConfigPath, undefined, vars, env, true, secrets);
  return Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
}
