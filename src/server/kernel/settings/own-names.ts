/**
 * The names in the Worker's environment that are reserved for the server. Manifests of servlets name variables and
 * secrets of the same environment. The bundle step, an install and each call reject reserved names there, so that no
 * servlet can read the server's own values, such as its keys.
 */
import { known } from "./known-features.ts";

/** The settings of the kernel, described by `settingsSchema` in env.ts. */
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

/** The bindings of the kernel, described by `Env` in bindings.ts. */
export const BINDINGS: readonly string[] = [
  "ATTEMPTS",
  "KEY_RECORDS",
  "KEY_RING",
  "QUOTAS",
  "RATE_LIMIT",
];

/** The names of all settings, including those of features. */
export const settingNames = (): string[] => [...SETTINGS, ...known.settings];

/**
 * The variable by which a command tells the server how it runs: `self-hosted` (`start`), `on-loopback` (`dev`,
 * reachable only from this machine) or `on-network` (any other `dev`); absent in a deployment. Operators cannot set it:
 * both commands overwrite it, and the bundle step rejects it.
 */
export const RUNS = "EDGE_SERVLETS_RUNS";

/** The variable by which `start` tells the server how many bytes of memory the machine or container has. */
export const MEMORY = "EDGE_SERVLETS_MEMORY";

/**
 * The binding that `npm start` adds for the export of metrics to a collector in a private network, which the Worker
 * cannot reach itself.
 */
export const COLLECTOR = "OTEL_COLLECTOR";

/** The lists of reserved names, without names that have a reserved prefix: see `isServersOwn`. */
export const ownNames = (): readonly (readonly string[])[] => [
  SETTINGS,
  BINDINGS,
  known.settings,
  known.bindings,
];

/**
 * True for a reserved name. Two prefixes are reserved, too: `OTEL_…` configures the export of traces and metrics,
 * including the operator's keys; `EDGE_SERVLETS_…` is for values that commands pass to the server, and for operators'
 * keys.
 */
export const isServersOwn = (name: string): boolean =>
  /^(OTEL|EDGE_SERVLETS)_/.test(name) || ownNames().some((names) => names.includes(name));
