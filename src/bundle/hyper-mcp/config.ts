/** Reads a hyper-mcp config: https://github.com/hyper-mcp-rs/hyper-mcp/blob/main/RUNTIME_CONFIG.md */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { parseConfig } from "./parse.ts";
import { referencesIn, replaceReferences } from "./references.ts";

const keyringEntry = { service: z.string().min(1), user: z.string().min(1) };

// null counts as absent, as in hyper-mcp. Unknown members, which hyper-mcp ignores, are kept, so that the import can list them.
const runtimeSchema = z.looseObject({
  skip_tools: z.array(z.string()).nullish(),
  skip_prompts: z.array(z.string()).nullish(),
  skip_resources: z.array(z.string()).nullish(),
  skip_resource_templates: z.array(z.string()).nullish(),
  allowed_hosts: z.array(z.string()).nullish(),
  allowed_paths: z.array(z.string()).nullish(),
  allowed_secrets: z.array(z.strictObject(keyringEntry)).nullish(),
  env_vars: z.record(z.string(), z.string()).nullish(),
  memory_limit: z.string().nullish(),
});

const pluginSchema = z
  .looseObject({
    url: z.string().min(1).optional(),
    path: z.string().min(1).optional(),
    description: z.string().nullish(),
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
 * Reads a config, and replaces its references by values from `environment`. References in the values of `env_vars` stay:
 * their variables become secrets of the Worker, and need no value here.
 *
 * Throws a `Refusal` for a config that is not valid, for variables without a value, and for a source with a secret.
 */
export function readConfig(
  file: string,
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): HyperConfig {
  const references = referencesIn(text);
  const nonce = randomUUID();
  const marked = new RegExp(`<${nonce}:(\\d+)>`, "g");
  const mark = (at: number) => `<${nonce}:${at}>`;
  const valueOf = (at: number) => environment[references[at]!.name] || references[at]!.fallback;
  /** The config with marks in place of the references in `kept`, and of those without a value. */
  const read = (kept: ReadonlySet<number>) =>
    checked(
      file,
      parseConfig(
        file,
        replaceReferences(text, (at) => (kept.has(at) ? undefined : valueOf(at)) ?? mark(at)),
      ),
    );
  const unset = references.filter((_, at) => valueOf(at) === undefined);
  const refuseUnset = (names: readonly string[]) => {
    const list = [...new Set(names)].toSorted().join(", ");
    throw new Refusal(
      `${file}: it needs environment variables that are not set: ${list}. Set them and try again`,
    );
  };

  const config = unlessRefused(() => read(new Set()));
  if (config === undefined) {
    if (unset.length > 0) refuseUnset(unset.map(({ name }) => name));
    return read(new Set());
  }
  // A reference can also stand for a number, a name or several lines. It is part of a value if a mark in its place leaves
  // all names the same.
  const isInValue = (at: number) => {
    const other = unlessRefused(() => read(new Set([at])));
    return other !== undefined && namesIn(other) === namesIn(config);
  };
  const written = read(new Set(references.keys().filter(isInValue)));

  for (const [name, { runtime_config: runtime }] of Object.entries(config.plugins)) {
    if (!runtime?.env_vars) continue;
    const original = written.plugins[name]?.runtime_config?.env_vars ?? {};
    for (const [key, expanded] of Object.entries(runtime.env_vars)) {
      const literal = (part: string) => part.replaceAll("${", () => "$${");
      const whole = (original[key] ?? expanded).split(marked);
      runtime.env_vars[key] = whole
        .map((part, at) =>
          at % 2 === 0 ? literal(part) : referenceText(references[Number(part)]!),
        )
        .join("");
    }
  }
  const missing = [...JSON.stringify(config).matchAll(marked)];
  if (missing.length > 0) refuseUnset(missing.map(([, at]) => references[Number(at)]!.name));
  refuseSecretSources(file, config, written, marked);
  return config;
}

const referenceText = ({ name, fallback }: { name: string; fallback: string | undefined }) =>
  fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`;

function checked(file: string, value: unknown): HyperConfig {
  const read = configSchema.safeParse(value);
  if (read.success) return read.data;
  const messages = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Refusal(`${file}: it is not a config of hyper-mcp: ${messages.join("; ")}`);
}

/** A source is written into `servlet.json`, so it must not have a password, nor a query with the value of a variable. */
function refuseSecretSources(
  file: string,
  { plugins }: HyperConfig,
  written: HyperConfig,
  marked: RegExp,
): void {
  for (const [name, plugin] of Object.entries(plugins)) {
    const source = sourceOf(plugin);
    const query = sourceOf(written.plugins[name]!).replace(/^[^?#]*/, "");
    if (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(source) || query.search(marked) >= 0) {
      throw new Refusal(
        `${file}: plugins.${name}.url: it may hold a secret, and servlet.json names the source: write it without a user, a password and variables after "?"`,
      );
    }
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
