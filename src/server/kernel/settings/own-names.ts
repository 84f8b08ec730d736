/** Names of variables, secrets and bindings that belong to the server itself. No servlet may use them. */

/** The settings, as src/server/kernel/settings/env.ts reads them. */
export const SETTINGS = [
  "SERVER_NAME",
  "SERVER_TITLE",
  "SERVER_VERSION",
  "SERVER_DESCRIPTION",
  "SERVER_INSTRUCTIONS",
  "SERVER_WEBSITE",
  "SERVER_REGISTERED",
  "REGISTRY_PROOF",
  "SERVER_ICONS",
  "SERVER_ICON",
  "SERVER_COLOR",
  "LOG_LEVEL",
  "ISOLATION",
  "ALLOWED_ORIGINS",
  "PUBLIC_URL",
  "ALLOWED_HOSTS",
  "STATE_KEY",
  "OAUTH_ISSUERS",
  "OWNER_PASSPHRASE",
  "API_KEYS",
  "SCOPES",
  "RUN_LOG",
  "RUN_LOG_SAMPLE",
  "AUTH",
  "LIMITS",
  "ENTERPRISE_ISSUERS",
  "LINKS",
  "ACCOUNTS",
  "OTC_JWT_SECRET",
  "OTC_JWT_AUDIENCE",
] as const;

export type SettingName = (typeof SETTINGS)[number];

/** The bindings, as src/server/kernel/bindings.ts has them. */
export const BINDINGS: readonly string[] = [
  ...["ASSETS", "ATTEMPTS", "BUILDS", "CALL_RECORDS", "GRANTS", "HUBS", "INSTALLS", "KEY_RECORDS"],
  ...["KEY_RING", "LOADER", "OAUTH_KV", "PROFILES", "QUOTAS", "RATE_LIMIT", "SERVLET_STATES"],
  ...["SESSIONS", "STATES", "TASKS", "USAGE"],
];

/**
 * How the server runs, as the command that runs it says: `self-hosted` by `start`; by `dev`, `on-loopback` where only this
 * machine can reach it, else `on-network`. It is no setting: both
 * commands overwrite what an operator sets under this name, and the bundle step refuses it.
 */
export const RUNS = "EDGE_SERVLETS_RUNS";

/** The binding that `npm start` adds for the export of metrics: the collector is usually in the private network. */
export const COLLECTOR = "OTEL_COLLECTOR";

export const OWN_NAMES: ReadonlySet<string> = new Set([...SETTINGS, ...BINDINGS]);

/**
 * True for the name of a variable, secret or binding of every server; `OTEL_…` say where its traces go, `EDGE_SERVLETS_…`
 * how it runs, and have operators' keys.
 */
export const isServersOwn = (name: string): boolean =>
  OWN_NAMES.has(name) || /^(OTEL|EDGE_SERVLETS)_/.test(name);
