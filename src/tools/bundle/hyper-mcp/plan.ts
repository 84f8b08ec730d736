/** Converts a hyper-mcp config to manifests of servlets, and lists the members that have no counterpart. */
import { parseMounts } from "../../../server/kernel/files/mounts.ts";
import { limits } from "../../../server/kernel/core/limits.ts";
import { isPrivate } from "../../../server/kernel/http/private-hosts.ts";
import { variableOf } from "../../../server/kernel/servlets/variables.ts";
import { manifestSchema, type Manifest } from "../../../server/kernel/servlets/manifest.ts";
import { memoryBytes } from "../../../server/kernel/core/text.ts";
import { DOCS } from "../own.ts";
import { Refusal } from "../refusal.ts";
import { sourceOf, unknownMembers, type HyperConfig, type HyperPlugin } from "./config.ts";
import { onlyReference, renameReferences } from "./references.ts";
import type { SecretNames } from "./secret-names.ts";
import { wholePattern } from "./skips.ts";

/** A secret of the Worker that a servlet needs. */
interface NeededSecret {
  variable: string;
  /** Where its value comes from. */
  from: string;
}

/** A servlet to create from a plugin. */
export interface Plan {
  /** The name of the plugin, and of the servlet, its folder and the prefix of its tools. */
  name: string;
  source: string;
  manifest: Manifest;
  secrets: NeededSecret[];
  /** Lines for the report: each member that was not mapped or has another meaning here, with the reason. */
  unmapped: string[];
}

interface PlanOptions {
  /** The `state` of every servlet. By default, servlets with folders keep state for each caller. */
  state?: Manifest["state"];
  /** Whether literal values of `env_vars` are written into the manifest. */
  literals: boolean;
  names: SecretNames;
}

const SKIPS = ["skip_tools", "skip_prompts", "skip_resources", "skip_resource_templates"] as const;

/** The plan for a plugin. Throws a `Refusal`. */
export function planPlugin(name: string, plugin: HyperPlugin, options: PlanOptions): Plan {
  const { description, runtime_config } = plugin;
  const runtime = runtime_config ?? {};
  const plan: Plan = { name, source: sourceOf(plugin), manifest: {}, secrets: [], unmapped: [] };
  const { manifest, unmapped } = plan;
  for (const key of [...unknownMembers.plugin(plugin), ...unknownMembers.runtime(runtime)]) {
    unmapped.push(undocumented(key));
  }
  if (typeof description === "string") manifest.description = description;
  manifest.prefix = name;
  mapHosts(plan, runtime.allowed_hosts ?? []);
  mapSecrets(plan, runtime.allowed_secrets ?? [], options);
  mapConfig(plan, runtime.env_vars ?? {}, options);
  mapMemory(plan, runtime.memory_limit ?? undefined);
  const folders = mappedPaths(runtime.allowed_paths ?? []);
  if (folders.paths.length > 0) manifest.allowed_paths = folders.paths;
  unmapped.push(...folders.unmapped);
  const state = options.state ?? (manifest.allowed_paths && "caller");
  if (state !== undefined) manifest.state = state;
  for (const key of SKIPS) {
    const patterns = runtime[key] ?? [];
    if (patterns.length > 0) manifest[key] = patterns.map(wholePattern);
  }
  const read = manifestSchema().safeParse(manifest);
  if (read.success) return plan;
  const messages = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Refusal(messages.join("; "));
}

function mapHosts({ manifest, unmapped }: Plan, hosts: readonly string[]): void {
  if (hosts.length > 0) manifest.allowed_hosts = [...hosts];
  for (const host of hosts) {
    const why = hostNote(host);
    if (why !== undefined) unmapped.push(`allowed_hosts: ${host}: ${why}`);
  }
}

function hostNote(host: string): string | undefined {
  if (/[[\]{}]/.test(host)) return "only * and ? are special in a pattern here";
  if (host.includes("*")) return "private and local hosts are not among them: name those in full";
  if (isPrivate(host)) return "a deployed Worker cannot reach your own network; npm run dev can";
  return undefined;
}

function mapSecrets(
  { manifest, secrets }: Plan,
  entries: readonly { service: string; user: string }[],
  { names }: PlanOptions,
): void {
  for (const { service, user } of entries) {
    const variable = names.ofEntry({ service, user });
    const entry = {
      service,
      user,
      ...(variable !== variableOf({ service, user }) && { variable }),
    };
    (manifest.allowed_secrets ??= []).push(entry);
    secrets.push({ variable, from: `the keyring's entry of ${service}, ${user}` });
  }
}

/** Maps `env_vars`, whose values become secrets because hyper-mcp does not say which are secret. */
function mapConfig(
  { name, manifest, secrets, unmapped }: Plan,
  config: Readonly<Record<string, string>>,
  { names, literals }: PlanOptions,
): void {
  /** The name of the variable that stands for a reference. */
  const rename = (reference: string) => {
    const variable = names.ofVariable(reference);
    secrets.push({ variable, from: `the environment variable ${reference}` });
    return variable;
  };
  const values = Object.entries(config).map(([key, text]) => {
    const reference = onlyReference(text);
    if (literals) return [key, renameReferences(text, rename)];
    if (reference === undefined || reference.fallback !== undefined) {
      const what = reference === undefined ? "value" : "default";
      unmapped.push(
        `env_vars.${key}: its ${what} is not copied, as it may be secret: set the secret, or import with --literals`,
      );
    }
    if (reference !== undefined) return [key, `\${${rename(reference.name)}}`];
    const variable = names.ofValue(name, key);
    secrets.push({ variable, from: `env_vars.${key} of the config` });
    return [key, `\${${variable}}`];
  });
  if (values.length > 0) manifest.env_vars = Object.fromEntries(values);
}

function mapMemory({ manifest, unmapped }: Plan, limit: string | undefined): void {
  if (limit === undefined) return;
  const isHuge = /^[\d.]+\s*[tp]i?b?$/i.test(limit.trim());
  if (!isHuge && (memoryBytes(limit) ?? 0) <= limits.memoryBytes) manifest.memory_limit = limit;
  else {
    const most = `${limits.memoryBytes / 1024 ** 2}Mi`;
    unmapped.push(
      `memory_limit: ${limit} is more than an instance may have, so the limit is ${most}`,
    );
  }
}

/**
 * Converts hyper-mcp's `allowed_paths` to those of `servlet.json`. In hyper-mcp, a host is a folder of the machine;
 * here, it is the name of an initially empty store. `unmapped` has a line with the reason for each path that was left
 * out.
 */
function mappedPaths(given: readonly string[]): { paths: string[]; unmapped: string[] } {
  const paths: string[] = [];
  const unmapped: string[] = [];
  for (const text of given) {
    const path = mappedPath(text.trim());
    const problem = path === undefined ? WINDOWS : problemOfPaths([...paths, path]);
    if (problem === undefined) paths.push(path!);
    else unmapped.push(`allowed_paths: ${text.trim()}: ${problem}`);
  }
  if (paths.length > 0) unmapped.push(`allowed_paths: ${EMPTY}`);
  return { paths, unmapped };
}

const WINDOWS = "a Windows path cannot be mapped: write HOST:PLUGIN, with / in both";
const EMPTY = `the folders begin empty, and no other servlet sees them: put initial files into a folder beside servlet.json (${DOCS}/state.md)`;

/** A path in the form `HOST:PLUGIN`; undefined for a Windows path. */
function mappedPath(text: string): string | undefined {
  if (/^([A-Za-z]:[\\/]|\\\\)/.test(text)) return undefined;
  const [, first = "", second = ""] = /^([^:]*):?([^]*)$/.exec(text) ?? [];
  const plugin = second.trim() || first.trim();
  // `ro:` means read-only here, but a host named ro in hyper-mcp.
  const host = first.trim() === "ro" ? "./ro" : first.trim();
  return host === plugin ? host : `${host}:${plugin}`;
}

/** Why these cannot be `allowed_paths`; undefined if they can. */
export function problemOfPaths(paths: readonly string[]): string | undefined {
  try {
    parseMounts(paths);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^allowed_paths: /, "");
  }
}

/** The members outside of plugins that have no counterpart, with the reasons. */
export function unmappedOf(config: HyperConfig): string[] {
  const { auths, dynamic_loading: isDynamic, oci } = config;
  const unmapped = unknownMembers.config(config).map(undocumented);
  for (const [url, { type }] of Object.entries(auths ?? {})) {
    const remedy =
      "download such a plugin yourself, and give its path as url; registries of oci:// take those of docker login";
    unmapped.push(`auths: ${withoutUser(url)} (${type}): credentials are not copied: ${remedy}`);
  }
  if (isDynamic) {
    unmapped.push("dynamic_loading: clients cannot load plugins: add them with npm run servlets");
  }
  if (oci === undefined) return unmapped;
  const trust = "signatures are checked against Sigstore's own keys";
  for (const key of ["fulcio_certs", "rekor_pub_keys"] as const) {
    if (typeof oci[key] === "string") unmapped.push(`oci.${key}: ${trust}`);
  }
  if (oci.use_sigstore_tuf_data === false) unmapped.push(`oci.use_sigstore_tuf_data: ${trust}`);
  return [...unmapped, ...unknownMembers.oci(oci).map((key) => undocumented(`oci.${key}`))];
}

const undocumented = (member: string) => `${member}: hyper-mcp does not document it`;

const withoutUser = (url: string) => url.replace(/\/\/[^/]*@/, "//");
