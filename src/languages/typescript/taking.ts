/** `servlets -- new NAME --from PATH`: makes a servlet of a server that was written for another SDK. */
import { readdir, readFile, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { isObject } from "../../server/kernel/core/model.ts";
import { parseJson } from "../../server/kernel/core/text.ts";
import { isServersOwn } from "../../server/kernel/settings/own-names.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { namedFiles, nodeFile } from "./node-modules.ts";
import { isStandIn, READING, sdkOf } from "./sdks.ts";
import { serverIn } from "./server.ts";
import {
  noMeaningIn,
  at,
  firstPlaces,
  keptIn,
  lineAt,
  matchesIn,
  OF_PROCESS,
  variablesRead,
  type SourceLine,
  type Sources,
} from "./sources.ts";
import { isXmcp, xmcpFiles } from "./xmcp.ts";

/** A servlet's files by their paths in its folder, and what its author is told. */
export interface Taken {
  files: Map<string, string | Uint8Array>;
  notes: string[];
}

/** Takes the server in this folder, or whose entry this file is. Throws a `Refusal` if there is none. */
export async function takeServer(path: string): Promise<Taken> {
  const { folder, entry } = await entryOf(path);
  const { sources, packages } = await readAll(folder, entry);
  const files = new Map<string, string | Uint8Array>(sources);
  const texts = new Map([...sources].map(([file, text]) => [join(folder, file), text]));
  for (const [name, data] of Object.entries(await namedFiles(folder, texts)))
    files.set(name, Buffer.from(data, "base64"));
  const own = await packageFolder(dirname(resolve(entry)));
  for (const name of SETTINGS) {
    const text = await readFile(join(own, name), "utf8").catch(() => undefined);
    if (text !== undefined) files.set(name, text);
  }
  const entryPoint = relative(resolve(folder), resolve(entry)).replaceAll("\\", "/");
  const found = await serverIn(folder, await readdir(folder)).catch(() => undefined);
  const isFound =
    found !== undefined && resolve(found) === resolve(entry) && resolve(own) === resolve(folder);
  const json = parseJson(String(files.get("package.json") ?? '{ "type": "module" }'));
  const described = isObject(json) ? json : {};
  if (!isFound || !files.has("package.json")) {
    files.set(
      "package.json",
      `${JSON.stringify({ ...described, main: entryPoint }, undefined, 2)}\n`,
    );
  }
  const example = await readFile(join(own, ".env.example"), "utf8").catch(() => "");
  const { manifest, notes } = manifestOf(sources, entryPoint, new Map([[".env.example", example]]));
  files.set("servlet.json", `${JSON.stringify(manifest, undefined, 2)}\n`);
  return { files, notes: [...notes, ...packageNotes(packages, described)] };
}

/** Files beside a server that say how it is built. */
const SETTINGS = [
  "package.json",
  "tsconfig.json",
  "wrangler.jsonc",
  "wrangler.json",
  "wrangler.toml",
];

/** The folder of a server, and its entry. */
async function entryOf(path: string): Promise<{ folder: string; entry: string }> {
  const state = await stat(path).catch(() => undefined);
  if (state === undefined) throw new Refusal(`${path}: there is no such folder or file`);
  if (state.isFile()) {
    if ((await sdkOf(path)) === undefined) throw new Refusal(`${path}: ${NO_SERVER}`);
    const folder = await packageFolder(dirname(resolve(path)));
    return { folder: commonFolder(folder, Object.keys(await importsOf([path]))), entry: path };
  }
  const entry = await serverIn(path, await readdir(path));
  if (entry === undefined) throw new Refusal(`${path}: ${NO_SERVER}`);
  return { folder: path, entry };
}

/** The folder that has this one and these files in it. */
function commonFolder(folder: string, files: readonly string[]): string {
  const isOutside = files.some((file) => relative(folder, resolve(file)).startsWith(".."));
  return isOutside && folder !== dirname(folder) ? commonFolder(dirname(folder), files) : folder;
}

const NO_SERVER =
  "it imports no SDK of MCP servers (@modelcontextprotocol/sdk, @modelcontextprotocol/server, agents/mcp, mcp-handler, fastmcp, xmcp). Name its entry, if it has one of another name";

/** The nearest folder above with a package.json; the given one if there is none. */
async function packageFolder(folder: string): Promise<string> {
  for (let one = folder; ; one = dirname(one)) {
    if (await stat(join(one, "package.json")).catch(() => undefined)) return one;
    if (one === dirname(one)) return folder;
  }
}

/** What the author's files are, and what each imports. */
async function importsOf(entries: readonly string[]) {
  const { metafile } = await build({
    entryPoints: [...entries],
    ...READING,
    loader: { ".svg": "text", ".css": "empty", ".md": "text", ".txt": "text", ".html": "text" },
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Refusal(`${entries[0]}: it cannot be read: ${why}`);
  });
  return metafile.inputs;
}

/** The author's files that the entry needs, and the packages that they import. */
async function readAll(folder: string, entry: string) {
  const inputs = await importsOf([entry, ...(isXmcp(entry) ? await xmcpFiles(entry) : [])]);
  const sources = new Map<string, string>();
  const packages = new Map<string, SourceLine>();
  for (const [path, { imports }] of Object.entries(inputs)) {
    const file = relative(resolve(folder), resolve(path)).replaceAll("\\", "/");
    if (file.startsWith("..")) {
      throw new Refusal(
        `${path}: it is outside of ${folder}: give the entry, or the folder that has both`,
      );
    }
    const text = await readFile(path, "utf8");
    sources.set(file, text);
    for (const { path: imported, external, original = imported } of imports) {
      if (external !== true || packages.has(imported)) continue;
      packages.set(imported, { file, line: lineAt(text, text.indexOf(original)) });
    }
  }
  return { sources, packages };
}

const SECRET = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE/i;
const URL_HOST = /["'`=]https?:\/\/([\w-]+(?:\.[\w-]+)+)(?::\d+)?(?=[/"'`?$\s]|$)/g;
/** Hosts of this machine, and of addresses that are names only. */
const NO_HOST =
  /^(localhost|127\.|0\.0\.0\.0|(www\.)?example\.|www\.w3\.org|json-schema\.org|github\.com)/;

type ManifestPart = Record<string, unknown>;

/** The manifest of a server, and what its author is told of it; `example` has the variables that its `.env.example` names. */
function manifestOf(sources: Sources, entry: string, example: Sources) {
  const parts = [hostsIn, environmentIn, stateIn, listsIn].map((read) => read(sources, example));
  const notes = [`${entry} is the entry; no file of it was changed`];
  for (const part of parts) notes.push(...part.notes);
  notes.push(...noMeaningIn(sources));
  const manifest: ManifestPart = { $schema: "" };
  for (const part of parts) Object.assign(manifest, part.manifest);
  return { manifest, notes };
}

interface Part {
  manifest: ManifestPart;
  notes: string[];
}

function hostsIn(sources: Sources, example: Sources): Part {
  const hosts = firstPlaces(new Map([...sources, ...example]), URL_HOST);
  for (const host of hosts.keys()) if (NO_HOST.test(host)) hosts.delete(host);
  if (hosts.size > 0) {
    const notes = hosts
      .entries()
      .map(([host, place]) => `${at(place)}: it reaches ${host}: allowed_hosts has it`);
    return { manifest: { allowed_hosts: [...hosts.keys()] }, notes: [...notes] };
  }
  const unknown = /\bfetch\(\s*(?!["'`]|req|c\.req)[^),]{1,40}|`https?:\/\/\$\{[^}]*\}/g;
  const notes = matchesIn(sources, unknown).map(
    ({ 0: text, place }) =>
      `${at(place)}: it makes a request whose host is not written there (${text.trim()}): add the host to allowed_hosts`,
  );
  return { manifest: {}, notes: [...notes] };
}

function environmentIn(sources: Sources, example: Sources): Part {
  const read = variablesRead(sources);
  for (const [name, place] of firstPlaces(example, /^(?:export\s+)?([A-Za-z_]\w*)\s*=/gm)) {
    if (!read.has(name) && !OF_PROCESS.has(name)) read.set(name, place);
  }
  for (const name of read.keys()) if (isServersOwn(name)) read.delete(name);
  const isSecret = ([name]: [string, SourceLine]) => SECRET.test(name);
  const [secrets, variables] = [
    [...read].filter(isSecret),
    [...read].filter((one) => !isSecret(one)),
  ];
  const told = (one: [string, SourceLine]) =>
    isSecret(one)
      ? "allowed_secrets has it, by its name: set it by `npx wrangler secret put`"
      : "env_vars has it: set it under [vars]";
  return {
    manifest: {
      ...(variables.length > 0 && {
        env_vars: Object.fromEntries(variables.map(([name]) => [name, `\${${name}:-}`])),
      }),
      ...(secrets.length > 0 && {
        allowed_secrets: secrets.map(([name]) => ({
          service: name.toLowerCase(),
          user: "server",
          variable: name,
        })),
      }),
    },
    notes: [...read].map(
      (one) =>
        `${at(one[1])}: it reads ${one[0]}: ${told(one)}, and in .dev.vars for \`npm run dev\``,
    ),
  };
}

function stateIn(sources: Sources): Part {
  const kept = keptIn(sources);
  if (kept === undefined) return { manifest: {}, notes: [] };
  const note = `${at(kept.place)}: ${kept.what} changes in handlers: "state": "session" keeps it for as long as a client's session. Without it each call begins anew, which is faster: remove the line if that is right`;
  return { manifest: { state: "session" }, notes: [note] };
}

/** The handler of a list by the low-level server: the name of a function, or the function. */
const LIST_HANDLER =
  /setRequestHandler\(\s*(?:List\w+RequestSchema|["'][\w/]+\/list["'])\s*,\s*(?:async\s*)?(?:(\w+)\s*\)|\([^)]*\)\s*=>[^;]*;)/g;

function listsIn(sources: Sources): Part {
  for (const found of matchesIn(sources, LIST_HANDLER)) {
    const { 0: whole, 1: name } = found;
    const text = name === undefined ? whole : functionIn(sources, name);
    if (!/\bawait\b|\bfetch\(/.test(text)) continue;
    const note = `${at(found.place)}: this list comes from a request: "lists": "dynamic" asks for it at run time`;
    return { manifest: { lists: "dynamic" }, notes: [note] };
  }
  return { manifest: {}, notes: [] };
}

/** The text of a function, as far as an empty line and a closing brace in the first column. */
function functionIn(sources: Sources, name: string): string {
  for (const text of sources.values()) {
    const [found] = new RegExp(`\\b(?:function|const)\\s+${name}\\b[^]*?\\n\\}`).exec(text) ?? [];
    if (found !== undefined) return found;
  }
  return "";
}

/** What is to be installed, and what cannot work; `described` is the server's package.json. */
function packageNotes(packages: ReadonlyMap<string, SourceLine>, described: object): string[] {
  const { dependencies, devDependencies } = described as Record<string, object | undefined>;
  const ranges = { ...devDependencies, ...dependencies } as Record<string, string>;
  const wanted = new Set<string>();
  const notes: string[] = [];
  for (const [imported, place] of packages) {
    if (isBuiltin(imported)) {
      const name = imported.replace(/^node:/, "");
      if (nodeFile(name) === undefined)
        notes.push(
          `${at(place)}: it imports "${name}" of Node, which a servlet does not have: remove what needs it`,
        );
    } else if (!isStandIn(imported)) {
      wanted.add(/^(?:@[^/]+\/)?[^/]+/.exec(imported)![0]);
    }
  }
  if (wanted.size > 0) {
    const all = [...wanted].map((name) => {
      const range = ranges[name];
      return range === undefined || /^(workspace|catalog|file|link):/.test(range)
        ? name
        : `"${name}@${range}"`;
    });
    notes.push(`Install what it needs, in this project: npm install ${all.join(" ")}`);
  }
  return notes;
}
