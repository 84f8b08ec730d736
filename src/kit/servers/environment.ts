/** The environment of a server: values of `env_vars` and secrets, by the names that its modules read. */
import { running } from "../host.ts";

/** Set by the bundle step: what the manifest lists, and whether the servlet's lists are being learnt, without values. */
declare const SERVLET_ENVIRONMENT: {
  variables: readonly string[];
  secrets: Readonly<Record<string, { service: string; user: string }>>;
  isLearning: boolean;
};

const { variables, secrets, isLearning } = SERVLET_ENVIRONMENT;

const names = new Set([...variables, ...Object.keys(secrets)]);

/** The values of the manifest that module scope has read, by name: it is to run again where a value has become another. */
const read = new Map<string, string | undefined>();

export const namesRead = (): string[] => [...read.keys()];

/** True where a value that module scope has read is another one now. */
export const hasChanged = (): boolean => [...read].some(([name, value]) => valueOf(name) !== value);

function valueOf(name: string): string | undefined {
  if (Object.hasOwn(secrets, name)) {
    const { service, user } = secrets[name]!;
    return __host.call("get_keyring_secret", JSON.stringify({ service, user })) || undefined;
  }
  // What has no value is "" there, as `${NAME:-}` gives it.
  return __host.config(name) || undefined;
}

/** A value of the right form for what the name says it is: no server has to reach it. */
function placeholder(name: string): string {
  if (/(?:URL|URI|ENDPOINT|ORIGIN)(?:_|$)/i.test(name)) return "https://placeholder.invalid";
  if (/(?:PORT|MS|SECONDS|TIMEOUT|LIMIT|COUNT|SIZE|MAX|MIN)$/i.test(name)) return "1";
  return "placeholder";
}

/** A value by its name; undefined where the manifest does not list it. */
export function variable(name: string): string | undefined {
  if (!names.has(name)) return undefined;
  const value = isLearning ? placeholder(name) : valueOf(name);
  if (!running.call) read.set(name, value);
  return value;
}

const own: Record<string, string> = { NODE_ENV: "production" };

/** As `process.env`: what a server sets itself comes before the values of the manifest. */
export const env: Record<string, string | undefined> = new Proxy(own, {
  get: (set, name) => (typeof name === "string" ? (set[name] ?? variable(name)) : undefined),
  has: (set, name) => typeof name === "string" && (name in set || variable(name) !== undefined),
  ownKeys: (set) => [...names.union(new Set(Object.keys(set)))],
  getOwnPropertyDescriptor: (set, name) => ({
    value: set[name as string] ?? variable(name as string),
    configurable: true,
    enumerable: true,
    writable: true,
  }),
});
