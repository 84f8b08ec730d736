import type { SettingName } from "./own-names.ts";
import type { Settings } from "./env.ts";

/** Settings of features, and what brings each feature into the Worker's script. */
const BROUGHT = {
  OAUTH_ISSUERS: ["issuers", "the variable OAUTH_ISSUERS under [vars]: it is no secret"],
  OWNER_PASSPHRASE: ["sign-in", "the bindings OAUTH_KV, GRANTS and ATTEMPTS"],
  ENTERPRISE_ISSUERS: ["sign-in", "the bindings OAUTH_KV, GRANTS and ATTEMPTS"],
  ACCOUNTS: ["people", "the bindings PROFILES, TASKS and KEY_RING"],
  OTC_JWT_SECRET: ["otc", "the binding CALL_RECORDS"],
} as const satisfies Partial<Record<SettingName, readonly [feature: string, by: string]>>;

/** Throws for a setting whose feature is not in the script, with what brings it in. */
export function refuseAbsent(settings: Settings, features: ReadonlySet<string>): void {
  for (const [name, [feature, by]] of Object.entries(BROUGHT)) {
    if (settings[name as keyof typeof BROUGHT] === undefined || features.has(feature)) continue;
    throw new Error(
      `${name} is set, and this server was built without what it is for (${feature}). Add ${by} to wrangler.toml, then deploy, or start npm run dev, again.`,
    );
  }
}
