import type { SettingName } from "./own-names.ts";

/** How to get a feature, and what only a server with it can set: settings, and limits of `LIMITS`. */
interface Optional {
  add: string;
  settings?: readonly SettingName[];
  limits?: readonly string[];
}

const FEATURES: Readonly<Record<string, Optional>> = {
  state: {
    add: "Bind SERVLET_STATES in wrangler.toml",
    limits: ["queuedCalls", "callerStateBytes", "sessionStateMs", "anonymousStateMs"],
  },
  sessions: {
    add: "Bind SESSIONS and HUBS in wrangler.toml",
    limits: ["listenStreams", "sessionIdleMs"],
  },
  issuers: {
    add: "Set OAUTH_ISSUERS under [vars] in wrangler.toml: it is no secret",
    settings: ["OAUTH_ISSUERS"],
    limits: ["clockToleranceMs"],
  },
  "sign-in": {
    add: "Bind OAUTH_KV, GRANTS and ATTEMPTS in wrangler.toml: npm run passphrase adds the lines",
    settings: ["OWNER_PASSPHRASE", "ENTERPRISE_ISSUERS"],
    limits: ["refreshTokenMs"],
  },
  people: {
    add: "Bind PROFILES, TASKS and KEY_RING in wrangler.toml",
    settings: ["ACCOUNTS"],
    limits: ["personMs"],
  },
  otc: { add: "Bind CALL_RECORDS in wrangler.toml", settings: ["OTC_JWT_SECRET"] },
};

/** Why a limit is unknown to a server without its feature, and how to get that; undefined if no feature has it. */
export function whyNoLimit(limit: string): string | undefined {
  const found = Object.entries(FEATURES).find(([, { limits }]) => limits?.includes(limit));
  return found && lacking(...found);
}

/** Throws for a setting whose feature the server was built without, and says how to get it. */
export function demandFeatures(env: object, features: ReadonlySet<string>): void {
  for (const [feature, optional] of Object.entries(FEATURES)) {
    const name = optional.settings?.find((one) => Reflect.get(env, one) !== undefined);
    if (name === undefined || features.has(feature)) continue;
    throw new Error(`${name} is set, but ${lacking(feature, optional)}`);
  }
}

const lacking = (feature: string, { add }: Optional): string =>
  `this server was built without the feature ${feature}, which it needs. ${add}. Then deploy, or start npm run dev, again.`;
