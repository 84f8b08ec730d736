import type { Manifest } from "../../../server/kernel/servlets/manifest.ts";
import { namesIn, variableOf } from "../../../server/kernel/servlets/variables.ts";
import { isServersOwn } from "../features.ts";

/** Chooses unique names for the Worker's secrets. */
export class SecretNames {
  /** By name: a text that identifies the secret. */
  readonly #meanings = new Map<string, string>();

  /** Reserves the names that these servlets already use. */
  constructor(manifests: readonly Manifest[]) {
    for (const { allowed_secrets: entries = [], env_vars: config = {} } of manifests) {
      for (const entry of entries) {
        this.#meanings.set(variableOf(entry), keyring(entry));
      }
      for (const name of Object.values(config).flatMap(namesIn)) {
        this.#meanings.set(name, variable(name));
      }
    }
  }

  /** The name for an entry of the keyring; the same for each plugin that reads it. */
  ofEntry(entry: { service: string; user: string }): string {
    return this.#take(variableOf(entry), keyring(entry));
  }

  /** The name for an environment variable: its own name, unless the server uses that. */
  ofVariable(name: string): string {
    return this.#take(isServersOwn(name) ? `PLUGIN_${name}` : name, variable(name));
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
      if (isServersOwn(name) || (other !== undefined && other !== meaning)) continue;
      this.#meanings.set(name, meaning);
      return name;
    }
  }
}

const keyring = ({ service, user }: { service: string; user: string }) =>
  `keyring ${JSON.stringify([service, user])}`;
const variable = (name: string) => `variable ${name}`;
