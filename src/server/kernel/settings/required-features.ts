import type { Settings } from "./env.ts";
import type { SettingName } from "./own-names.ts";

/** The feature that a setting needs, and how to get it. */
interface Requirement {
  feature: string;
  add: string;
}

const SIGN_IN: Requirement = {
  feature: "sign-in",
  add: "Bind OAUTH_KV, GRANTS and ATTEMPTS in wrangler.toml: npm run passphrase adds the lines",
};

/** Settings of features. */
const REQUIRED = {
  OAUTH_ISSUERS: {
    feature: "issuers",
    add: "Set OAUTH_ISSUERS under [vars] in wrangler.toml: it is no secret",
  },
  OWNER_PASSPHRASE: SIGN_IN,
  ENTERPRISE_ISSUERS: SIGN_IN,
  ACCOUNTS: { feature: "people", add: "Bind PROFILES, TASKS and KEY_RING in wrangler.toml" },
  OTC_JWT_SECRET: { feature: "otc", add: "Bind CALL_RECORDS in wrangler.toml" },
} satisfies Partial<Record<SettingName, Requirement>>;

/** Throws for a setting whose feature the server was built without, and says how to get it. */
export function demandFeatures(settings: Settings, features: ReadonlySet<string>): void {
  for (const [name, { feature, add }] of Object.entries(REQUIRED)) {
    if (settings[name as keyof typeof REQUIRED] === undefined || features.has(feature)) continue;
    throw new Error(
      `${name} is set, but this server was built without the feature ${feature}, which it needs. ${add}. Then deploy, or start npm run dev, again.`,
    );
  }
}
