import { variableOf } from "../../servlets/config.ts";
import type { Manifest } from "../../servlets/manifest.ts";
import { referencesIn } from "./references.ts";

/** The server's own variables (src/env.ts), which no servlet's secret may change. */
const SETTINGS: ReadonlySet<string> = new Set([
  "SERVER_NAME",
  "SERVER_TITLE",
  "SERVER_VERSION",
  "SERVER_DESCRIPTION",
  "SERVER_INSTRUCTIONS",
  "SERVER_WEBSITE",
  "SERVER_ICONS",
  "LOG_LEVEL",
  "ISOLATION",
  "ALLOWED_ORIGINS",
  "ALLOWED_HOSTS",
  "STATE_KEY",
  "OAUTH_ISSUERS",
  "OWNER_PASSPHRASE",
  "API_KEYS",
  "SCOPES",
  "RUN_LOG",
  "AUTH",
  "LIMITS",
  "ENTERPRISE_ISSUERS",
  "LINKS",
  "ACCOUNTS",
  "OTC_JWT_SECRET",
  "OTC_JWT_AUDIENCE",
]);

/** Chooses names for the Worker's secrets, so that each name stands for one secret. */
export class SecretNames {
  /** The secret that each name stands for, as a text that identifies it. */
  readonly #meanings = new Map<string, string>();

  /** The names that these servlets use already are taken. */
  constructor(manifests: readonly Manifest[]) {
    for (const { allowed_secrets: entries = [], env_vars: config = {} } of manifests) {
      for (const entry of entries) {
        this.#meanings.set(entry.variable ?? variableOf(entry), keyring(entry));
      }
      for (const { name } of Object.values(config).flatMap(referencesIn)) {
        this.#meanings.set(name, variable(name));
      }
    }
  }

  /** The name for an entry of the keyring; the same for each plugin that reads it. */
  ofEntry(entry: { service: string; user: string }): string {
    return this.#take(variableOf(entry), keyring(entry));
  }

  /** The name for an environment variable: its own, where the server does not use that itself. */
  ofVariable(name: string): string {
    return this.#take(SETTINGS.has(name) ? `PLUGIN_${name}` : name, variable(name));
  }

  /** The name for a plugin's value in `env_vars`. */
  ofValue(plugin: string, key: string): string {
    return this.#take(variableOf({ service: plugin, user: key }), `value ${plugin} ${key}`);
  }

  #take(wanted: string, meaning: string): string {
    const first = /^[A-Z_a-z]/.test(wanted) ? wanted : `_${wanted}`;
    for (let count = 1; ; count++) {
      const name = count === 1 ? first : `${first}_${count}`;
      const other = this.#meanings.get(name);
      if (SETTINGS.has(name) || (other !== undefined && other !== meaning)) continue;
      this.#meanings.set(name, meaning);
      return name;
    }
  }
}

const keyring = ({ service, user }: { service: string; user: string }) =>
  `keyring ${JSON.stringify([service, user])}`;
const variable = (name: string) => `variable ${name}`;
