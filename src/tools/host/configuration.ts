import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { Refusal } from "../bundle/refusal.ts";

/** The part of wrangler.toml that `start` uses. */
export interface Configuration {
  /** Base folder of the configuration's paths. */
  folder: string;
  /** The main module of the Worker. */
  main: string;
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
  vars: Readonly<Record<string, unknown>>;
  /** Secrets that the deployment needs. */
  secrets: readonly string[];
  /** Durable Object classes by the names of their bindings. */
  objects: Readonly<Record<string, string>>;
  /** By class, the name under which its data is stored: the class's original name. */
  storageNames: Readonly<Record<string, string>>;
  assets?: { directory: string; binding: string };
  kv: readonly string[];
  buckets: readonly string[];
  loaders: readonly string[];
  /** Rate limit bindings, which workerd lacks. Without them, the server counts calls in Durable Objects. */
  rateLimits: readonly string[];
}

const binding = z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of a variable");
const bound = z.array(z.object({ binding })).default([]);

const schema = z.strictObject({
  main: z.string("is missing: name the Worker's main module, such as src/index.ts"),
  compatibility_date: z.iso.date("must be a date, such as 2026-09-01"),
  compatibility_flags: z.array(z.string()).default([]),
  vars: z.record(binding, z.unknown()).default({}),
  secrets: z.object({ required: z.array(binding).default([]) }).optional(),
  durable_objects: z
    .object({
      bindings: z.array(z.strictObject({ name: binding, class_name: z.string() })).default([]),
    })
    .optional(),
  migrations: z
    .array(
      z.strictObject({
        tag: z.string(),
        new_sqlite_classes: z.array(z.string()).default([]),
        renamed_classes: z.array(z.object({ from: z.string(), to: z.string() })).default([]),
        deleted_classes: z.array(z.string()).default([]),
      }),
    )
    .default([]),
  assets: z
    .strictObject({
      directory: z.string(),
      binding: binding,
      run_worker_first: z.boolean().optional(),
    })
    .optional(),
  kv_namespaces: bound,
  r2_buckets: bound,
  worker_loaders: bound,
  ratelimits: z.array(z.object({ name: binding })).default([]),
});

/** Keys that only concern wrangler's build and deployment. */
const DEPLOYMENT_KEYS = new Set([
  "$schema",
  "account_id",
  "build",
  "cache",
  "dev",
  "env",
  "keep_names",
  "keep_vars",
  "limits",
  "logpush",
  "minify",
  "name",
  "no_bundle",
  "observability",
  "placement",
  "preview_urls",
  "route",
  "routes",
  "send_metrics",
  "upload_source_maps",
  "workers_dev",
]);

/** Reads wrangler.toml. Throws a `Refusal` for settings that this server does not support. */
export async function readConfiguration(path: string): Promise<Configuration> {
  const settings = Object.fromEntries(
    Object.entries(await readToml(path)).filter(([key]) => !DEPLOYMENT_KEYS.has(key)),
  );
  const { data, error } = schema.safeParse(settings);
  if (error)
    throw new Refusal(error.issues.map((issue) => `${path}: ${described(issue)}`).join("\n"));
  const folder = dirname(resolve(path));
  const { durable_objects: { bindings = [] } = {}, assets, migrations } = data;
  const classes = bindings.map(({ class_name }) => class_name);
  const storageNames = namesOf(migrations);
  const unknown = classes.find((name) => !storageNames.has(name));
  if (unknown !== undefined)
    throw new Refusal(
      `${path}: no migration makes the class ${unknown}. Add it to new_sqlite_classes in [[migrations]].`,
    );
  const names = (list: readonly { binding: string }[]) => list.map((one) => one.binding);
  return {
    folder,
    main: resolve(folder, data.main),
    compatibilityDate: data.compatibility_date,
    compatibilityFlags: data.compatibility_flags,
    vars: data.vars,
    secrets: data.secrets?.required ?? [],
    objects: Object.fromEntries(bindings.map(({ name, class_name }) => [name, class_name])),
    storageNames: Object.fromEntries(classes.map((name) => [name, storageNames.get(name)!])),
    ...(assets && {
      assets: { directory: resolve(folder, assets.directory), binding: assets.binding },
    }),
    kv: names(data.kv_namespaces),
    buckets: names(data.r2_buckets),
    loaders: names(data.worker_loaders),
    rateLimits: data.ratelimits.map(({ name }) => name),
  };
}

async function readToml(path: string) {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new Refusal(
      `${path} cannot be read (${error.message}). Start in the folder of your server, or name its configuration: --config FILE`,
    );
  });
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new Refusal(`${path} is not valid TOML: ${error.message}`);
  }
}

function described(issue: z.core.$ZodIssue): string {
  const at = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const keys = issue.keys.map((key) => (at === "" ? key : `${at}.${key}`)).join(", ");
    return `${keys}: a server of your own cannot provide this. Remove it, or deploy to Cloudflare: npm run deploy`;
  }
  return `${at} ${issue.message}`;
}

/** By class, its original name: the data stays under that name when the class is renamed. */
function namesOf(
  migrations: readonly {
    new_sqlite_classes: readonly string[];
    renamed_classes: readonly { from: string; to: string }[];
    deleted_classes: readonly string[];
  }[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { new_sqlite_classes, renamed_classes, deleted_classes } of migrations) {
    for (const name of new_sqlite_classes) names.set(name, name);
    for (const { from, to } of renamed_classes) {
      names.set(to, names.get(from) ?? from);
      names.delete(from);
    }
    for (const name of deleted_classes) names.delete(name);
  }
  return names;
}
