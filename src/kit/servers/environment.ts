/** The environment variables of a server: the manifest's `env_vars` and secrets, by the names that its modules read. */
import { running } from "../host.ts";

/** Set by the bundle step: the names in the manifest, and values instead of the real ones while it learns lists. */
declare const SERVLET_ENVIRONMENT: {
  variables: readonly string[];
  secrets: Readonly<Record<string, { service: string; user: string }>>;
  placeholders?: Readonly<Record<string, string>>;
};

const { variables, secrets, placeholders } = SERVLET_ENVIRONMENT;

const names = new Set([...variables, ...Object.keys(secrets)]);

/** The values that module scope has read, by name: module scope runs again if one of them has changed. */
const read = new Map<string, string | undefined>();

export const namesRead = (): string[] => [...read.keys()];

/** True if a value that module scope has read has changed. */
export const hasChanged = (): boolean => [...read].some(([name, value]) => valueOf(name) !== value);

function valueOf(name: string): string | undefined {
  if (Object.hasOwn(secrets, name)) {
    const { service, user } = secrets[name]!;
    return __host.call("get_keyring_secret", JSON.stringify({ service, user })) || undefined;
  }
  // A name without a value is "" there, as in `${NAME:-}`.
  return __host.config(name) || undefined;
}

/** The value of a variable; undefined if the manifest does not list it. */
export function variable(name: string): string | undefined {
  if (!names.has(name)) return undefined;
  const value = placeholders ? placeholders[name] : valueOf(name);
  if (!running.call) read.set(name, value);
  return value;
}

const own: Record<string, string> = { NODE_ENV: "production" };

/** The `process.env` of a server and the `env` of a Worker: values that the server sets itself take precedence over the manifest's. */
export const env: Record<string, string | undefined> = new Proxy(own, {
  // A variable has precedence over a method of objects.
  get: (set, name) =>
    typeof name !== "string"
      ? undefined
      : Object.hasOwn(set, name)
        ? set[name]
        : (variable(name) ?? set[name]),
  has: (set, name) => typeof name === "string" && (name in set || variable(name) !== undefined),
  set: (set, name, value) => Reflect.set(set, name, String(value)),
  deleteProperty(set, name) {
    names.delete(name as string);
    return Reflect.deleteProperty(set, name);
  },
  ownKeys: (set) => [...names.union(new Set(Object.keys(set)))],
  getOwnPropertyDescriptor(set, name) {
    const value = Object.hasOwn(set, name) ? set[name as string] : variable(name as string);
    if (value === undefined) return undefined;
    return { value, configurable: true, enumerable: true, writable: true };
  },
});
