/** Reads a hyper-mcp config: https://github.com/hyper-mcp-rs/hyper-mcp/blob/main/RUNTIME_CONFIG.md */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { demandShort, parseConfig } from "./parse.ts";
import { referencesIn, replaceReferences, type Reference } from "./references.ts";

/** Characters that are parsed for all references together: they take a few seconds. */
const REPARSED_CHARACTERS = 20_000_000;

const keyringEntry = { service: z.string().min(1), user: z.string().min(1) };

/** A text; numbers are read as they are written (see `parseConfig`). */
const textSchema = z.string({ error: "must be a text: put it in quotes" });
/** One text stands for a list of it. */
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

// null counts as absent, as in hyper-mcp. Unknown members, which hyper-mcp ignores, are kept, so that the import can list them.
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

/** The names of members that hyper-mcp does not document, in each kind of object. */
export const unknownMembers = {
  config: (value: HyperConfig) => others(value, configSchema.shape),
  oci: (value: object) => others(value, configSchema.shape.oci.unwrap().shape),
  plugin: (value: HyperPlugin) => others(value, pluginSchema.shape),
  runtime: (value: object) => others(value, runtimeSchema.shape),
};

const others = (value: object, known: object) =>
  Object.keys(value).filter((key) => !Object.hasOwn(known, key));

/**
 * Reads a config. References to the environment stay in the values of `env_vars`: their variables become secrets of the
 * Worker. Elsewhere a config could send them to a host or have them written, so there only defaults and `true` and `false`
 * are filled in, and HOME in the path of a file.
 *
 * Throws a `Refusal` for a config that is not valid, for references elsewhere, and for a source with a password.
 */
export function readConfig(
  file: string,
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): HyperConfig {
  demandShort(file, text.length);
  const references = referencesIn(text);
  // For each, the config is parsed once more.
  if (references.length * text.length > REPARSED_CHARACTERS) {
    throw new Refusal(
      `${file}: it has too many references to environment variables for its length: import its plugins in parts`,
    );
  }
  const nonce = randomUUID();
  const marked = new RegExp(`<${nonce}:(\\d+)>`, "g");
  const mark = (at: number) => `<${nonce}:${at}>`;
  const fallbackOf = ({ name, fallback }: Reference) => (environment[name] ? undefined : fallback);
  /** Values that may replace a reference anywhere, as they reveal nothing about the environment. */
  const plain = references.map((one) => {
    const value = environment[one.name] ?? "";
    return ["true", "false"].includes(value) ? value : fallbackOf(one);
  });
  /** The config with marks in place of the references in `kept`, and of those that have no plain value. */
  const read = (kept: ReadonlySet<number>) =>
    checked(
      file,
      parseConfig(
        file,
        replaceReferences(text, (at) => (kept.has(at) ? undefined : plain[at]) ?? mark(at)),
      ),
    );

  let config: HyperConfig;
  try {
    config = read(new Set());
  } catch (error) {
    const names = references.flatMap(({ name }, at) => (plain[at] === undefined ? name : []));
    if (!(error instanceof Refusal) || names.length === 0) throw error;
    const message = error.message.replace(marked, (_, at) =>
      referenceText(references[Number(at)]!),
    );
    throw new Refusal(
      `${message}; outside of env_vars, replace environment variables by their values, where it has some of ${listed(names)}`,
    );
  }
  // A reference can also stand for a number, a name or several lines. It is part of a value if a mark in its place leaves
  // all names the same.
  const isInValue = (at: number) => {
    const other = unlessRefused(() => read(new Set([at])));
    return other !== undefined && namesIn(other) === namesIn(config);
  };
  const written = read(new Set(references.keys().filter(isInValue)));

  const refused: string[] = [];
  const fill = (value: unknown, place: readonly string[]): unknown => {
    if (typeof value === "string") return filled(value, place);
    if (Array.isArray(value)) return value.map((one, at) => fill(one, [...place, String(at)]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        const name = filled(key, place);
        return [name, fill(one, [...place, name])];
      }),
    );
  };
  const filled = (value: string, place: readonly string[]): string => {
    const [first, , third, fourth] = place;
    const isConfig = third === "runtime_config" && fourth === "env_vars" && place.length === 5;
    const parts = value.split(marked).map((part, at) => {
      if (at % 2 === 0) return isConfig ? part.replaceAll("${", () => "$${") : part;
      const reference = references[Number(part)]!;
      // Credentials in `auths` are not used.
      if (isConfig || (first === "auths" && place.length > 2)) return referenceText(reference);
      const isFile =
        ["url", "path"].includes(third ?? "") &&
        place.length === 3 &&
        isLocal(value.replace(marked, "/"));
      const home = isFile && reference.name === "HOME" ? environment["HOME"] : undefined;
      const stand = home || fallbackOf(reference);
      if (stand === undefined) refused.push(`${place.join(".") || "a name"}: ${reference.name}`);
      return stand ?? "";
    });
    return parts.join("");
  };
  const whole = fill(written, []);
  if (refused.length > 0) {
    throw new Refusal(
      `${file}: environment variables may hold a secret, and are read in env_vars only: replace them by their values (${listed(refused)})`,
    );
  }
  const result = checked(file, whole);
  refusePasswords(file, result);
  return result;
}

const listed = (names: readonly string[]) => [...new Set(names)].toSorted().join(", ");

/** True for a source on this machine. */
const isLocal = (source: string) => /^(file:\/\/\/|[^:]*$)/i.test(source);

const referenceText = ({ name, fallback }: Reference) =>
  fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`;

function checked(file: string, value: unknown): HyperConfig {
  const read = configSchema.safeParse(value);
  if (read.success) return read.data;
  const messages = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Refusal(`${file}: it is not a config of hyper-mcp: ${messages.join("; ")}`);
}

/** A source is written into `servlet.json`, so it must not have a password. */
function refusePasswords(file: string, { plugins }: HyperConfig): void {
  for (const [name, plugin] of Object.entries(plugins)) {
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(sourceOf(plugin))) continue;
    throw new Refusal(
      `${file}: plugins.${name}.url: it may hold a secret, and servlet.json names the source: write it without a user and a password`,
    );
  }
}

export const sourceOf = ({ url, path }: HyperPlugin): string => (url ?? path)!;

/** The names of plugins and of their `env_vars`, as one text to compare. */
const namesIn = ({ plugins }: HyperConfig) =>
  JSON.stringify(
    Object.entries(plugins).map(([name, { runtime_config: runtime }]) => [
      name,
      Object.keys(runtime?.env_vars ?? {}),
    ]),
  );

/** The result of `work`; undefined if it throws a `Refusal`. */
function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
