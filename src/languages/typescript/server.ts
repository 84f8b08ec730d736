/** Servers that were written for another SDK: where their entry is, and how they are loaded into the interpreter. */
import { access, readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import * as z from "zod";
import type { Load } from "../../tools/bundle/language.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { valueOfJson } from "../../tools/bundle/scan.ts";
import { snapshot } from "../../tools/bundle/wasm/snapshot.ts";
import { keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import { REFERENCE, variableOf } from "../../server/kernel/servlets/variables.ts";
import { sdkOf } from "./sdks.ts";
import { warningsFor } from "./sources.ts";
import type { Cached } from "../../tools/bundle/wasm/prepare.ts";
import { OPTIONS } from "./script.ts";
import { bundleServer, type ServerScript } from "./server-script.ts";
import { zodPatch } from "./zod.ts";
import { isXmcp } from "./xmcp.ts";

/** Where an entry is, if the package does not say so: the first that is there counts. */
const USUAL = ["index", "server", "main", "app", "mcp"].flatMap((name) =>
  ["", "src/"].flatMap((folder) =>
    ["ts", "mts", "tsx", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`),
  ),
);

/** True for a servlet whose modules import the SDK of a server, and not the kit. */
export async function isServer(entry: string): Promise<boolean> {
  if (isXmcp(entry)) return true;
  const text = await readFile(entry, "utf8").catch(() => "");
  return !/\bdefineServlet\b/.test(text) && (await sdkOf(entry)) !== undefined;
}

/** The entry of a server in a folder; undefined if there is none. */
export async function serverIn(
  folder: string,
  names: readonly string[],
): Promise<string | undefined> {
  const xmcp = names.find(isXmcp);
  if (xmcp !== undefined) return join(folder, xmcp);
  const named = names.includes("package.json") ? await namedIn(folder) : [];
  const routes = names.includes("package.json") ? await routesIn(folder) : [];
  for (const path of new Set([...named, ...USUAL, ...routes])) {
    const file = join(folder, path);
    if ((await isThere(file)) && (await sdkOf(file)) !== undefined) return file;
  }
  return undefined;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const packageSchema = z.looseObject({
  main: z.optional(z.string()),
  module: z.optional(z.string()),
  bin: z.optional(z.union([z.string(), z.record(z.string(), z.string())])),
});

/** The sources of what package.json and wrangler's settings name: they may name what is built of them. */
async function namedIn(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
  const read = packageSchema.safeParse(await valueOfJson(join(folder, "package.json"), text));
  if (!read.success) return [];
  const { main, module, bin = {} } = read.data;
  const bins = typeof bin === "string" ? [bin] : Object.values(bin);
  const worker = await workerIn(folder);
  return [...worker, ...bins, main, module].flatMap((path) =>
    path === undefined ? [] : sourcesOf(posix.normalize(path)),
  );
}

/** The `main` of wrangler's settings. */
async function workerIn(folder: string): Promise<string[]> {
  for (const name of ["wrangler.jsonc", "wrangler.json", "wrangler.toml"]) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    const [, main] = /(?:^|[{,])\s*"?main"?\s*[:=]\s*"([^"]+)"/m.exec(text) ?? [];
    if (main !== undefined) return [main];
  }
  return [];
}

/** A file, and the source that it is built of: `dist/index.js` of `src/index.ts`. */
function sourcesOf(path: string): string[] {
  const [, rest, extension] = /^(.*?)\.([cm]?jsx?|[cm]?tsx?)$/.exec(path) ?? [];
  if (rest === undefined) return [];
  const bases = [
    rest,
    rest.replace(/^(dist|build|lib|out)\//, "src/"),
    rest.replace(/^(dist|build|lib|out)\//, ""),
  ];
  return bases.flatMap((base) => [
    `${base}.ts`,
    `${base}.mts`,
    `${base}.tsx`,
    `${base}.${extension}`,
  ]);
}

/** Routes of Next, and Vercel's functions. */
async function routesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, path), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const inner = posix.join(path, entry.name);
      if (entry.isDirectory() && depth < 8) await walk(inner, depth + 1);
      else if (/(^|\/)api\/.*\.[jt]s$|(^|\/)route\.[jt]s$/.test(inner)) found.push(inner);
    }
  };
  for (const root of ["api", "app", "src/app", "pages/api"]) await walk(root, 0);
  return found.toSorted();
}

const learntSchema = z.object({
  exports: z.array(z.string()),
  lists: z.record(z.string(), z.string()),
  read: z.array(z.string()),
  manifest: z.looseObject({}),
});

/**
 * The environments with which lists are learnt, tried in order: all variables; secrets alone; none. Each also has the variables
 * with a default in the manifest. Other values have the form that the variable's name suggests.
 */
function placeholdersOf({
  env_vars = {},
  allowed_secrets = [],
}: Manifest): Record<string, string>[] {
  const given = Object.entries(env_vars).map(([name, text]) => [
    name,
    text.replace(REFERENCE, (_whole, _name, otherwise = "") => otherwise as string),
  ]);
  const known = Object.fromEntries(given.filter(([, value]) => value !== "")) as Record<
    string,
    string
  >;
  const formed = (names: readonly string[]) =>
    Object.fromEntries(
      names.flatMap((name) =>
        /(?:FILE|PATH|DIR)$/i.test(name) ? [] : [[name, placeholder(name)]],
      ),
    );
  const secrets = formed(allowed_secrets.map(variableOf));
  const all = { ...formed(Object.keys(env_vars)), ...secrets, ...known };
  const isEmpty = Object.keys(all).length === 0;
  return isEmpty ? [all] : [all, { ...secrets, ...known }, known];
}

function placeholder(name: string): string {
  if (/(?:URL|URI|ENDPOINT|ORIGIN)(?:_|$)/i.test(name)) return "https://placeholder.invalid";
  if (/(?:^|_)(?:PORT|MS|SECONDS|TIMEOUT|LIMIT|COUNT|SIZE|MAX|MIN)$/i.test(name)) return "1";
  return "placeholder";
}

/** Advice for a server that cannot be run without the world. */
function adviceOn(
  message: string,
  { variables, secrets }: { variables: readonly string[]; secrets: object },
): string {
  if (message.includes("fetch() works only inside a handler"))
    return '\nIf a list makes requests, set "lists": "dynamic" in servlet.json: it is asked for at run time then.';
  return variables.length + Object.keys(secrets).length === 0
    ? ""
    : '\nValues of variables are not known while the bundle is made. If it checks their form, give env_vars in servlet.json a default that fits, such as "${NAME:-sk_test_0}".';
}

/** Bundles the server in this file. Throws a `Refusal` with file and line. */
export async function readServer(
  entry: string,
  { place, manifest }: { place: string; manifest: Manifest },
): Promise<Load> {
  const { env_vars = {}, allowed_secrets = [], lists } = manifest;
  const server = {
    entry,
    folder: place,
    variables: Object.keys(env_vars),
    secrets: Object.fromEntries(allowed_secrets.map((secret) => [variableOf(secret), secret])),
    keepsState: keepsState(manifest),
    isDynamic: lists === "dynamic",
    zods: new Set<string>(),
  };
  const [first, ...others] = placeholdersOf(manifest);
  const learning = await bundleServer(server, undefined, first);
  return async (started, cache) => {
    const { interpreter, base } = started;
    const load = ({ text, explain }: ServerScript, packages: readonly Cached[] = []) =>
      snapshot(interpreter, { name: "servlet.js", text }, cache, [base, ...packages]).catch(
        (error: unknown) => {
          throw error instanceof Refusal ? new Refusal(explain(error.message)) : error;
        },
      );
    const learnFrom = async (): Promise<unknown> => {
      try {
        return (await load(learning)).output;
      } catch (thrown) {
        // It may check the form of a value, or do without.
        const errors = [thrown];
        for (const placeholders of others) {
          const another = await bundleServer(server, undefined, placeholders);
          const loaded = await load(another).catch((error: unknown) => void errors.push(error));
          if (loaded !== undefined) return loaded.output;
        }
        // With secrets alone it is most like what it will be.
        const error = errors[1] ?? thrown;
        throw error instanceof Refusal
          ? new Refusal(error.message + adviceOn(error.message, server))
          : error;
      }
    };
    const output = await learnFrom();
    const { data: learnt } = learntSchema.safeParse(output);
    if (learnt === undefined) {
      throw new Refusal(
        `${entry}: it could not be loaded: its module scope changes globals that the servlet needs`,
      );
    }
    const script = await bundleServer(server, learnt);
    const packages = script.zod && (await zodPatch(started, script.zod, OPTIONS, cache));
    const loaded = await load(script, packages && [packages]);
    return {
      ...loaded,
      ...(packages && { packages }),
      text: script.text,
      warnings: warningsFor(script.sources, manifest),
    };
  };
}
