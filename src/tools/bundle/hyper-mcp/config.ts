/** Reads a hyper-mcp config: https://github.com/hyper-mcp-rs/hyper-mcp/blob/main/RUNTIME_CONFIG.md */
import { randomInt } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { parseConfig } from "./parse.ts";
import { referencesIn, replaceReferences, type VariableReference } from "./references.ts";

const FLAG = /^(true|false)$/;
/** Matches a default that is not a string if its reference is the whole value. */
const STRUCTURE = /^(true|false|\[.*\])$/s;

const keyringEntry = { service: z.string().min(1), user: z.string().min(1) };

/** A string. Numbers are strings too, as written (see `parseConfig`). */
const textSchema = z.string({ error: "must be a text: put it in quotes" });
/** A list of strings; a single string is a list of one. */
const textsSchema = z.preprocess(
  (value) => (typeof value === "string" && !/[,\s]/.test(value.trim()) ? [value.trim()] : value),
  z.array(textSchema, { error: 'must be a list of texts, such as ["a", "b"]' }),
);
/** The value of a variable, which a program reads as text. */
const variableSchema = z.preprocess(
  (given) => (typeof given === "boolean" ? String(given) : given),
  z.string({
    error: ({ input }) =>
      input === null
        ? 'has no value: write "" for an empty text, or remove it'
        : "must be a text: put it in quotes",
  }),
);

// null counts as absent, as in hyper-mcp. Unknown members, which hyper-mcp ignores, are kept for the import's report.
const runtimeSchema = z.looseObject({
  skip_tools: textsSchema.nullish(),
  skip_prompts: textsSchema.nullish(),
  skip_resources: textsSchema.nullish(),
  skip_resource_templates: textsSchema.nullish(),
  allowed_hosts: textsSchema.nullish(),
  allowed_paths: textsSchema.nullish(),
  allowed_secrets: z
    .array(z.strictObject(keyringEntry), {
      error: 'must be a list, such as [{ "service": "s", "user": "u" }]',
    })
    .nullish(),
  env_vars: z
    .record(z.string(), variableSchema, { error: 'must be names with texts, such as {"A": "b"}' })
    .nullish(),
  memory_limit: textSchema.nullish(),
});

const pluginSchema = z
  .looseObject({
    url: z.string().min(1).optional(),
    path: z.string().min(1).optional(),
    description: textSchema.nullish(),
    runtime_config: runtimeSchema.nullish(),
  })
  .refine(
    ({ url, path }) => (url === undefined) !== (path === undefined),
    'must have one of "url" and "path"',
  );

const configSchema = z.looseObject({
  auths: z
    .record(
      z.string(),
      z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("basic"), username: z.string(), password: z.string() }),
        z.strictObject({ type: z.literal("token"), token: z.string() }),
        z.strictObject({ type: z.literal("keyring"), ...keyringEntry }),
      ]),
    )
    .nullish(),
  dynamic_loading: z.boolean().optional(),
  oci: z
    .looseObject({
      cert_email: z.string().nullish(),
      cert_issuer: z.string().nullish(),
      cert_url: z.string().nullish(),
      fulcio_certs: z.string().nullish(),
      insecure_skip_signature: z.boolean().optional(),
      rekor_pub_keys: z.string().nullish(),
      use_sigstore_tuf_data: z.boolean().optional(),
    })
    .optional(),
  plugins: z.record(z.string(), pluginSchema),
});

export type HyperConfig = z.infer<typeof configSchema>;
export type HyperPlugin = HyperConfig["plugins"][string];

/** Names of the members that hyper-mcp does not document, by kind of object. */
export const unknownMembers = {
  config: (value: HyperConfig) => others(value, configSchema.shape),
  oci: (value: object) => others(value, configSchema.shape.oci.unwrap().shape),
  plugin: (value: HyperPlugin) => others(value, pluginSchema.shape),
  runtime: (value: object) => others(value, runtimeSchema.shape),
};

const others = (value: object, known: object) =>
  Object.keys(value).filter((key) => !Object.hasOwn(known, key));

/**
 * Reads a config. References to environment variables stay in the values of `env_vars`: the variables become secrets of
 * the Worker. Elsewhere a config could leak their values to a host or a file, so only defaults, `true`, `false`, and
 * HOME in a file path are filled in there.
 *
 * Throws a `Refusal` for an invalid config, for other references outside of `env_vars`, and for a source with a
 * password.
 */
export function readConfig(
  file: string,
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): HyperConfig {
  const references = referencesIn(text);
  // A number replaces each reference: it is valid as a value in all three formats, and inside a string.
  const nonce = randomInt(1e11, 1e12);
  const marked = new RegExp(`${nonce}(\\d{6})`, "g");
  const parsed = parseMarked(
    file,
    replaceReferences(text, (at) => `${nonce}${String(at).padStart(6, "0")}`),
    references,
  );
  const fallbackOf = ({ name, fallback }: VariableReference) =>
    environment[name] ? undefined : fallback;
  const refused: string[] = [];
  const fill = (value: unknown, place: readonly string[]): unknown => {
    if (typeof value === "string") return filledValue(value, place);
    if (Array.isArray(value)) return value.map((one, at) => fill(one, [...place, String(at)]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        const name = filled(key, place);
        return [name, fill(one, [...place, name])];
      }),
    );
  };
  const filledValue = (value: string, place: readonly string[]): unknown => {
    const [before, at, after] = value.split(marked);
    const alone = before === "" && after === "" ? references[Number(at)] : undefined;
    if (alone === undefined || staysReference(place)) return filled(value, place);
    // hyper-mcp reads it as if it were written here. `true` and `false` reveal nothing about the environment.
    const flag = FLAG.exec(environment[alone.name] ?? "")?.[0];
    const stand = flag ?? fallbackOf(alone);
    if (stand === undefined || !STRUCTURE.test(stand)) return filled(value, place);
    return parseConfig(`the default of ${alone.name}.yaml`, stand);
  };
  const filled = (value: string, place: readonly string[]): string => {
    const parts = value.split(marked).map((part, at) => {
      if (at % 2 === 0) return isVariable(place) ? part.replaceAll("${", () => "$${") : part;
      const reference = references[Number(part)]!;
      if (staysReference(place)) return referenceText(reference);
      const isFile =
        ["url", "path"].includes(place[2] ?? "") &&
        place.length === 3 &&
        isLocal(value.replace(marked, "/"));
      const home = isFile && reference.name === "HOME" ? environment["HOME"] : undefined;
      const stand = home || fallbackOf(reference);
      if (stand === undefined) refused.push(`${place.join(".") || "a name"}: ${reference.name}`);
      return stand ?? "";
    });
    return parts.join("");
  };
  const whole = fill(parsed, []);
  if (refused.length > 0) {
    throw new Refusal(
      `${file}: environment variables may hold a secret, and are read in env_vars only: replace them by their values (${listed(refused)})`,
    );
  }
  const result = checked(file, whole);
  refusePasswords(file, result);
  return result;
}

/** True for the value of a variable in `env_vars`. */
const isVariable = (place: readonly string[]) =>
  place.length === 5 && place[2] === "runtime_config" && place[3] === "env_vars";

/** True where a reference is not replaced: its value is set later, or not used, as for credentials in `auths`. */
const staysReference = (place: readonly string[]) =>
  isVariable(place) || (place[0] === "auths" && place.length > 2);

/**
 * Parses a config with marks in place of its references. If that fails, a reference may stand for more than one value.
 */
function parseMarked(
  file: string,
  text: string,
  references: readonly VariableReference[],
): unknown {
  try {
    return parseConfig(file, text);
  } catch (error) {
    if (!(error instanceof Refusal) || references.length === 0) throw error;
    const names = listed(references.map(({ name }) => name));
    throw new Refusal(
      `${error.message}; outside of env_vars, replace environment variables by their values, where it has some of ${names}`,
    );
  }
}

const listed = (names: readonly string[]) => [...new Set(names)].toSorted().join(", ");

/** True for a source on this machine. */
const isLocal = (source: string) => /^(file:\/\/\/|[^:]*$)/i.test(source);

const referenceText = ({ name, fallback }: VariableReference) =>
  fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`;

function checked(file: string, value: unknown): HyperConfig {
  const read = configSchema.safeParse(value);
  if (read.success) return read.data;
  const messages = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Refusal(`${file}: it is not a config of hyper-mcp: ${messages.join("; ")}`);
}

/** Throws a `Refusal` for a source with a password, since sources are written into `servlet.json`. */
function refusePasswords(file: string, { plugins }: HyperConfig): void {
  for (const [name, plugin] of Object.entries(plugins)) {
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(sourceOf(plugin))) continue;
    throw new Refusal(
      `${file}: plugins.${name}.url: it may hold a secret, and servlet.json names the source: write it without a user and a password`,
    );
  }
}

export const sourceOf = ({ url, path }: HyperPlugin): string => (url ?? path)!;
