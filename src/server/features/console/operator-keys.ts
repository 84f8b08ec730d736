/** The API keys for the operators' pages. */
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { KEY_NAME, KEY_NAME_RULE, KEY_PREFIX } from "../../kernel/core/key-name.ts";
import type { Principal } from "../../kernel/core/model.ts";
import { beyondOwn, grants } from "../../kernel/servlets/scopes.ts";
import { apiKeysOf, unknownScope } from "../../kernel/settings/env.ts";
import type { ConsoleServer } from "./console-server.ts";
import { timeAgo } from "../../kernel/core/times.ts";

/** The parts of the server that the pages for operators use. */
export type Operated = Pick<
  ConsoleServer,
  | "env"
  | "recordAct"
  | "authenticator"
  | "usage"
  | "keyRecords"
  | "settings"
  | "deployment"
  | "persons"
  | "installer"
  | "registry"
>;

/** The result of a request to the counters; undefined, after a line in the log, if it fails. */
export const counted = <T>(work: Promise<T> | undefined): Promise<T | undefined> =>
  Promise.resolve(work).catch((error: unknown) => void report(error));

/** The object with the records of keys. Throws `unavailable` without it. */
export function recordsIn({ keyRecords }: Pick<Operated, "keyRecords">) {
  if (keyRecords !== undefined) return keyRecords();
  throw new Fault(
    "unavailable",
    "Keys cannot be revoked here: bind the Durable Object KEY_RECORDS in wrangler.toml, or remove the key from the configuration (npm run keys -- revoke NAME).",
  );
}

/** All API keys, with the records of their use. */
export async function allKeys({ keyRecords, settings }: Pick<Operated, "keyRecords" | "settings">) {
  const records = keyRecords?.();
  const [used = [], made = []] = [await records?.all(), await records?.made()];
  const recordOf = new Map(used.map((one) => [one.key, one]));
  const configured = apiKeysOf(settings).map(({ name, scopes, expires, hash }) => ({
    name,
    scopes,
    expires,
    key: hash.toHex(),
    made: undefined,
  }));
  const added = made.map(({ name, scopes, expires, key, made: at, maker }) => ({
    name,
    scopes: scopes ?? undefined,
    expires: expires ?? undefined,
    key,
    made: { at, by: maker },
  }));
  return [...configured, ...added].map((one) => ({
    used: null,
    revoked: null,
    by: null,
    ...recordOf.get(one.key),
    ...one,
  }));
}

/** The key with this hash. Throws `invalid_params` if it no longer exists. */
export async function keyOf(key: string, of: Operated) {
  const found = (await allKeys(of)).find((one) => one.key === key);
  if (found !== undefined) return found;
  throw new Fault("invalid_params", "This key is no longer there. Reload the page.");
}

const DAY_MS = 86_400_000;
/** Maximum characters of one key's scopes: each isolate holds the scopes of all keys. */
const SCOPES_CHARACTERS = 2000;

/** The key that a form describes, and its secret, which is not stored. Throws `invalid_params` about a field. */
export async function newKey(
  form: URLSearchParams,
  operator: Principal,
  of: Pick<Operated, "settings" | "authenticator">,
) {
  const { SCOPES = {} } = of.settings;
  const field = (one: string) => form.get(one)?.trim() ?? "";
  const demand = (isRight: boolean, name: string, message: string) => {
    if (!isRight) throw new Fault("invalid_params", message, { data: { field: name } });
  };
  const [name, listed, days] = [field("name"), field("scopes"), field("days")];
  demand(KEY_NAME.test(name), "name", `The name of a key ${KEY_NAME_RULE}.`);
  demand(
    listed.length <= SCOPES_CHARACTERS,
    "scopes",
    `The scopes of a key have at most ${SCOPES_CHARACTERS} characters.`,
  );
  const scopes = listed === "" ? null : listed.split(/[\s,]+/).filter(Boolean);
  const unknown = scopes === null ? undefined : unknownScope(scopes, SCOPES);
  demand(
    unknown === undefined,
    "scopes",
    `${unknown} is no scope. Each is servlet:tool, in which * stands for anything, or a name that SCOPES has.`,
  );
  const expires = days === "" ? null : Date.now() + Number(days) * DAY_MS;
  const beyond = beyondOperator({ scopes, expires }, operator, of);
  demand(
    beyond?.scope === undefined,
    "scopes",
    `Your own key does not grant ${beyond?.scope}, so a key that you make cannot. Leave it out, or ask the owner of this server.`,
  );
  demand(
    days === "" || (Number(days) >= 1 && Number(days) <= 3660),
    "days",
    "The days of a key are a number from 1 to 3660, or none.",
  );
  demand(
    beyond?.end === undefined,
    "days",
    `Your own key expires ${timeAgo(beyond?.end ?? 0)}, and a key that you make cannot last longer. Give fewer days, or sign in with a key that lasts longer.`,
  );
  const random = crypto.getRandomValues(new Uint8Array(32));
  const secret = KEY_PREFIX + random.toBase64({ alphabet: "base64url", omitPadding: true });
  return {
    secret,
    made: { key: await hexDigest(secret), name, scopes, expires, maker: operator.name },
  };
}

/**
 * The first right that a key would have beyond its operator's own key: a scope (`*:*` if the key has no scopes), or an expiry
 * (Unix ms) after `end`. Undefined if there is none.
 */
function beyondOperator(
  { scopes, expires }: { scopes?: readonly string[] | null; expires?: number | null },
  { name, scopes: own }: Principal,
  { settings: { SCOPES = {} }, authenticator }: Pick<Operated, "settings" | "authenticator">,
): { scope?: string; end?: number } | undefined {
  const scope = beyondOwn(scopes ?? ["*:*"], own, SCOPES);
  if (scope !== undefined) return { scope };
  const { expires: end = Infinity } = authenticator.keys.named(name) ?? {};
  return (expires ?? Infinity) > end ? { end } : undefined;
}

/** Returns the key with this hash. Throws `forbidden` if it grants more than the operator's own key, `invalid_params` if there is no such key. */
export async function restorable(key: string, operator: Principal, of: Operated) {
  const found = await keyOf(key, of);
  const beyond = beyondOperator(found, operator, of);
  if (beyond === undefined) return found;
  const why =
    beyond.scope === undefined
      ? `expires ${timeAgo(beyond.end!)}, before this one`
      : `does not grant ${beyond.scope}`;
  throw new Fault(
    "forbidden",
    `Your own key ${why}, so you cannot restore ${found.name}. Ask the owner of this server.`,
  );
}

/** The scope patterns that match nothing that the server offers now; undefined if that is unknown. */
export async function unmatchedScopes(scopes: readonly string[], operated: Operated) {
  const { whole } = await operated.registry();
  const catalog = await whole.catalog().catch((error: unknown) => void report(error));
  if (catalog === undefined) return undefined;
  const { versions, prompts, resources, templates, failures } = catalog;
  const named = [
    ...versions,
    ...prompts.values(),
    ...[...resources].map(([own, { servlet }]) => ({ servlet, own })),
  ];
  // The names of a template, or of a servlet whose lists are unavailable, are unknown.
  const open = [...templates.map(({ servlet }) => servlet.name), ...(failures?.keys() ?? [])];
  return scopes.filter((scope) => {
    const [servlet = "", own] = scope.split(":", 2);
    if (own === undefined || servlet === "profile") return false;
    const isOpen = open.some((name) => grants(`${servlet}:*`, name, ""));
    return !isOpen && !named.some((one) => grants(scope, one.servlet.name, one.own));
  });
}
