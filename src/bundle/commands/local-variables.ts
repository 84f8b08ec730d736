/** Which variables and secrets does the Worker have on this machine? */
import { unstable_getVarsForDev, unstable_readConfig } from "wrangler";

/** Those of wrangler.toml and .dev.vars, as `wrangler dev` reads them: of another configuration or environment if named. */
export function localVariables(named: { config?: string; env?: string } = {}): Set<string> {
  const { config, env } = named;
  const read = unstable_readConfig({ config: config!, env: env! }, { hideWarnings: true });
  const { vars, secrets, userConfigPath } = read;
  const found = unstable_getVarsForDev(userConfigPath, undefined, vars, env, true, secrets);
  // An empty one counts as missing.
  return new Set(Object.keys(found).filter((name) => found[name]?.value !== ""));
}
