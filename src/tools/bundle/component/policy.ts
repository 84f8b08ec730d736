/**
 * Reads a policy of wassette, which says what a component may use: https://github.com/microsoft/wassette
 * Its hosts, folders, variables and memory become members of servlet.json.
 */
import { readdir, readFile } from "node:fs/promises";
import { z } from "zod";
import { limits } from "../../../server/kernel/core/limits.ts";
import { memoryBytes } from "../../../server/kernel/core/text.ts";
import type { Manifest } from "../../../server/kernel/servlets/manifest.ts";
import { isServersOwn } from "../../../server/kernel/settings/own-names.ts";
import { parseConfig } from "../hyper-mcp/parse.ts";
import { problemOfPaths } from "../hyper-mcp/plan.ts";
import { Refusal } from "../refusal.ts";

const listOf = <T extends z.ZodType>(entry: T) =>
  z
    .looseObject({ allow: z.array(entry).nullish(), deny: z.array(z.unknown()).nullish() })
    .nullish();

const schema = z.looseObject({
  permissions: z
    .looseObject({
      storage: listOf(
        z.strictObject({
          uri: z.string(),
          access: z.array(z.enum(["read", "write"])).check(z.minLength(1)),
        }),
      ),
      network: listOf(
        z.union([z.strictObject({ host: z.string() }), z.strictObject({ cidr: z.string() })]),
      ),
      environment: listOf(z.strictObject({ key: z.string() })),
      resources: z
        .looseObject({
          memory: z.string().nullish(),
          limits: z.looseObject({ memory: z.string().nullish() }).nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

export interface PolicyManifest {
  manifest: Manifest;
  /** Lines for the report: what was not mapped, or has another meaning here, with the reason. */
  unmapped: string[];
}

/** Members of servlet.json for the policy in a file. Throws a `Refusal`. */
export async function readPolicy(file: string): Promise<PolicyManifest> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new Refusal(`${file}: there is no such file: give the path of a policy.yaml`);
  });
  const read = schema.safeParse(parseConfig(file, text) ?? {});
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Refusal([file, issue!.path.join("."), issue!.message].filter(Boolean).join(": "));
  }
  const { storage, network, environment, resources, ...others } = read.data.permissions ?? {};
  const unmapped = [
    ...namesBeside(read.data, ["version", "description", "permissions"]),
    ...Object.keys(others),
    ...namesBeside(storage, ["allow", "deny"], "storage."),
    ...namesBeside(network, ["allow", "deny"], "network."),
    ...namesBeside(environment, ["allow", "deny"], "environment."),
    ...namesBeside(resources, ["memory", "limits"], "resources."),
    ...namesBeside(resources?.limits, ["memory"], "resources.limits."),
  ].map((name) => `${name}: there is nothing like it here`);
  for (const [name, part] of Object.entries({ storage, network, environment })) {
    if ((part?.deny ?? []).length > 0)
      unmapped.push(
        `${name}.deny: only what is allowed is allowed here; see that no pattern allows it`,
      );
  }
  const allowed_hosts = granted(network).flatMap((one) => {
    if ("host" in one) return [hostOf(one.host, unmapped)];
    unmapped.push(`network: ${one.cidr}: hosts are allowed by name here: name them`);
    return [];
  });
  const allowed_paths = folders(granted(storage), unmapped);
  const env_vars = variables(granted(environment), unmapped);
  const memory_limit = memory(
    resources?.limits?.memory ?? resources?.memory ?? undefined,
    unmapped,
  );
  return {
    manifest: {
      ...(allowed_hosts.length > 0 && { allowed_hosts: [...new Set(allowed_hosts)] }),
      ...(allowed_paths.length > 0 && { allowed_paths, state: "caller" as const }),
      ...(Object.keys(env_vars).length > 0 && { env_vars }),
      ...(memory_limit !== undefined && { memory_limit }),
    },
    unmapped,
  };
}

/** The names of a part of a policy that are not among these. */
const namesBeside = (part: object | null | undefined, known: string[], prefix = ""): string[] =>
  Object.keys(part ?? {}).flatMap((name) => (known.includes(name) ? [] : [prefix + name]));

/** A warning about a policy in the folder of a component, where nothing reads it. */
export async function policyWarnings(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  if (!names.includes("policy.yaml")) return [];
  return [
    "policy.yaml in its folder is not read: move the folder elsewhere, and run `npm run servlets -- add FILE.wasm --policy policy.yaml` there, which makes servlet.json of it",
  ];
}

/** The allowed entries but those that are denied in the same words. */
function granted<T extends object>(
  part: { allow?: T[] | null | undefined; deny?: unknown[] | null | undefined } | null | undefined,
): T[] {
  const denied = new Set((part?.deny ?? []).map(subjectOf));
  return (part?.allow ?? []).filter((one) => !denied.has(subjectOf(one)));
}

/** What an entry allows or denies. */
function subjectOf(entry: unknown): unknown {
  const { uri, host, cidr, key } = Object(entry) as Record<string, unknown>;
  return uri ?? host ?? cidr ?? key;
}

/** The host in an entry, which may be a URL. */
function hostOf(given: string, unmapped: string[]): string {
  if (!given.includes("://")) return given;
  const url = URL.parse(given);
  if (!url?.hostname) throw new Refusal(`network: ${given} has no host: write the host's name`);
  if (!["", "/"].includes(url.pathname))
    unmapped.push(`network: ${given}: all paths of ${url.host} are allowed`);
  return url.host;
}

function folders(
  allowed: readonly { uri: string; access: readonly string[] }[],
  unmapped: string[],
): string[] {
  const paths: string[] = [];
  for (const { uri, access } of allowed) {
    const folder = /^fs:\/\/(.+?)(?:\/\*\*?)?\/?$/.exec(uri)?.[1];
    const path = `${access.includes("write") ? "" : "ro:"}${folder ?? ""}`;
    const problem =
      folder === undefined || folder.includes("*")
        ? "write fs://FOLDER"
        : problemOfPaths([...paths, path]);
    if (problem !== undefined) unmapped.push(`storage: ${uri}: ${problem}`);
    else {
      paths.push(path);
      if (/\/\*\/?$/.test(uri))
        unmapped.push(`storage: ${uri}: the folders in it are allowed, too`);
      if (!access.includes("read"))
        unmapped.push(`storage: ${uri}: what may be written may be read, too`);
    }
  }
  if (paths.length > 0)
    unmapped.push(
      "storage: the folders begin empty, and each caller has their own: put initial files beside servlet.json",
    );
  return paths;
}

/** Each variable from the Worker's variable or secret of the same name; absent where that is not set. */
function variables(
  allowed: readonly { key: string }[],
  unmapped: string[],
): Record<string, string> {
  return Object.fromEntries(
    allowed.flatMap(({ key }) => {
      if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(key) && !isServersOwn(key))
        return [[key, `\${${key}:-}`]];
      unmapped.push(
        `environment: ${key}: it is no name of a variable, or one of the server's own: name another in env_vars`,
      );
      return [];
    }),
  );
}

/** A limit in bytes with a unit, or in megabytes. */
function memory(limit: string | undefined, unmapped: string[]): string | undefined {
  if (limit === undefined) return undefined;
  const size = /^\d+$/.test(limit) ? `${limit}Mi` : limit;
  const bytes = memoryBytes(size);
  if (bytes !== undefined && bytes > 0 && bytes <= limits.memoryBytes) return size;
  const why = bytes === undefined || bytes === 0 ? "no amount" : "more than an instance may have";
  unmapped.push(
    `resources: ${limit} of memory is ${why}, so the limit is ${limits.memoryBytes / 1024 ** 2}Mi`,
  );
  return undefined;
}
