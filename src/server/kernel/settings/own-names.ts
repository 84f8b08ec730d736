/**
 * The names in the Worker's environment that are reserved for the server. The manifests of servlets name variables and secrets
 * of the same environment: there the bundle step, an install and each call refuse these names, so that no servlet reads what is
 * the server's, such as its keys.
 */
import { known } from "./known-features.ts";

/** The settings of the kernel, which `settingsSchema` in env.ts describes. */
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
  "ACCOUNTS",
] as const;

export type SettingName = (typeof SETTINGS)[number];

/** The bindings of the kernel, which `Env` in bindings.ts describes. */
export const BINDINGS: readonly string[] = [
  "ATTEMPTS",
  "KEY_RECORDS",
  "KEY_RING",
  "QUOTAS",
  "RATE_LIMIT",
];

/** The names of all settings, also those of features. */
export const settingNames = (): string[] => [...SETTINGS, ...known.settings];

/**
 * The variable by which a command tells the server how it runs: `self-hosted` (`start`), `on-loopback` (`dev` that only this
 * machine can reach) or `on-network` (any other `dev`); absent in a deployment. Operators cannot set it: both commands
 * overwrite it, and the bundle step refuses it.
 */
export const RUNS = "EDGE_SERVLETS_RUNS";

/** The binding that `npm start` adds to export metrics: a collector in a private network, which the Worker cannot reach by itself. */
export const COLLECTOR = "OTEL_COLLECTOR";

/** The lists of reserved names, without those that have a reserved prefix: see `isServersOwn`. */
export const ownNames = (): readonly (readonly string[])[] => [
  SETTINGS,
  BINDINGS,
  known.settings,
  known.bindings,
];

/**
 * True for a reserved name. Two prefixes are reserved, too: `OTEL_…` configures the export of traces and metrics, with keys of
 * the operator in it; `EDGE_SERVLETS_…` is for what commands tell the server and for operators' keys.
 */
export const isServersOwn = (name: string): boolean =>
  /^(OTEL|EDGE_SERVLETS)_/.test(name) || ownNames().some((names) => names.includes(name));
