import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { limits } from "../../server/kernel/core/limits.ts";
import type { Lists, ToolDefinition } from "../../server/kernel/core/model.ts";
import { define } from "../../server/features/otc/definitions.ts";
import {
  clashRemedy,
  merge,
  overlapsIn,
  type Catalog,
  type Clash,
} from "../../server/kernel/servlets/catalog.ts";
import { viewsContributor } from "../../server/features/views/views.ts";
import { concernsOf } from "../../server/kernel/servlets/concerns.ts";
import { dialectOf, dialects, type DialectName } from "../../server/kernel/servlets/dialects.ts";
import { describeFailure, KIND_NAMES, NO_ENTRIES } from "../../server/kernel/servlets/servlet.ts";
import { fuelOf, keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import { BUNDLE_FUEL } from "./wasm/fuel.ts";
import { askServlets, type ListAnswer } from "./wasm/ask.ts";
import { inspectLists } from "./inspect.ts";
import { contentHash, writeIfNew } from "./cache.ts";
import { refuseNameClashes } from "./clashes.ts";
import { identified } from "./digests.ts";
import type { PartDigests } from "../../server/kernel/servlets/bundle.ts";
import { preparationOf } from "./preparation.ts";
import { unpackPrepared } from "./prepared.ts";
import { prepare, type Cached, type Prepared } from "./wasm/prepare.ts";
import { parseMounts } from "../../server/kernel/files/mounts.ts";
import { archivesOf, type Archived } from "./servlet-files.ts";
import { isInstalled } from "./own.ts";
import { Refusal, refusedAt, Refusals } from "./refusal.ts";
import { scan, type FoundServlet, type Places } from "./scan.ts";
import { loadInterpreted } from "./interpreted.ts";
import type { Language, Load } from "./language.ts";
import { isComponent } from "./component/component.ts";
import { asPlugin, componentWarnings } from "./component/plugin.ts";
import { build, isInterpreted } from "./source.ts";
import { viewDocuments, viewScripts, type ViewDocument } from "./views.ts";
import { skillsIn, type SkillArchive } from "./skills.ts";
import { buildWarnings } from "./toolchains.ts";
import { inTurns } from "./work.ts";
import { pluginMayAsk, pluginNeverWaits } from "./waits.ts";

/** One servlet of the bundle, with the facts that reports show. */
export interface Member {
  found: FoundServlet;
  dialect: DialectName;
  prepared: Prepared;
  /** The digests of its code. `hash` is computed from them, and identifies the build of a waiting call. */
  parts: PartDigests;
  hash: string;
  /** The initial files of its folders. */
  archives: Archived[];
  /** The documents of its views. */
  views: ViewDocument[];
  skills?: SkillArchive;
  /** Sizes in bytes: the plugin as found or built, and the prepared wasm, gzipped. */
  size: { before: number; gzip: number };
  /** True if its start functions run once for all calls, and not in each call. */
  startsOnce: boolean;
  /** True if its calls never suspend. */
  neverWaits: boolean;
  /** True if its code can ask the user; undefined if unknown. */
  mayAsk: boolean | undefined;
  /** Host services that its start functions use if they run in each call; empty if they run once. */
  startAsks: string[];
  /** Its lists; absent if they are dynamic. */
  lists?: Lists;
  /** Open Tool Calling definitions of its tools, by tool name. */
  definitions?: Record<string, ToolDefinition>;
  /** How to build it as a library, if it was built as a program. */
  remedy?: string;
  warnings: string[];
}

export interface Options extends Places {
  /** Folder of cached results. */
  cache: string;
  /** Reports a slow step and its servlet. */
  progress(what: string): void;
  /** False skips the optimiser, except for the interpreter of TypeScript: see `PrepareOptions`. */
  optimise?: boolean;
}

export type Making = Omit<Options, "folders">;

/**
 * Finds, builds, prepares, asks and checks all servlets of these folders.
 *
 * Throws a `Refusal` that lists all refused servlets, each with the file, the problem and the remedy.
 */
export async function makeBundle(options: Options): Promise<Member[]> {
  const refusals = new Refusals();
  const found = await scan(options, refusals);
  let early = refusals.messages;
  // Print the refusals of the scan before the first slow step.
  const progress = (what: string) => {
    for (const message of early) options.progress(message);
    early = [];
    options.progress(what);
  };
  return bundleAll(found, { ...options, progress }, refusals);
}

/** Builds, prepares, asks and checks these servlets; `refusals` has earlier refusals. Throws like `makeBundle`. */
export async function bundleAll(
  all: readonly FoundServlet[],
  options: Making,
  refusals = new Refusals(),
): Promise<Member[]> {
  const { cache, languages, progress } = options;
  await unpackPrepared(cache);
  const read = await readAll(all, refusals);
  const entriesIn = (language: Language) =>
    [...read.keys()]
      .filter(({ source }) => source.language === language)
      .map(({ source }) => source.files[0]!);
  const views = Promise.withResolvers<readonly string[]>();
  const checks = languages.map((language) =>
    refusals.collect(async () => {
      if (!("read" in language)) return;
      await language.check?.(entriesIn(language), views.promise, cache, progress);
    }),
  );
  const made = new Map<FoundServlet, Ready>();
  const make = (found: FoundServlet) =>
    refusals.collect(async () => {
      refuseUnkept(found);
      const ready = makeReady(found, read.get(found), options);
      made.set(found, await ready.catch(refusedAt(found.source.files[0]!)));
    });
  // One queue for each interpreter: its preparation is the slowest step, and servlets of other languages need not wait
  // for it.
  const queues = Map.groupBy(
    all.filter((found) => !isInterpreted(found.source) || read.has(found)),
    ({ source }) => (isInterpreted(source) ? source.language : undefined),
  );
  await Promise.all([...queues.values()].map((queue) => inTurns(queue, make)));
  const ready = all.flatMap((found) => made.get(found) ?? []);
  views.resolve(ready.flatMap(({ found }) => viewScripts(found)));
  const answers = await askServlets(
    ready.map(({ found, prepared, dialect, archives }) => ({
      name: found.name,
      prepared,
      dialect,
      idsAsGiven: found.manifest.request_ids === "as-given",
      allowedHosts: found.manifest.allowed_hosts ?? [],
      isRestorable: prepared.unrestorable === undefined,
      listed: found.manifest.lists !== "dynamic",
      warm: found.manifest.warm ?? [],
      startOnce: found.manifest.start === "once",
      fuel: fuelOf(found.manifest) ?? BUNDLE_FUEL,
      folders: found.manifest.allowed_paths?.length
        ? { mounts: parseMounts(found.manifest.allowed_paths), archives }
        : undefined,
    })),
    cache,
  );
  const members: Member[] = [];
  for (const [at, one] of ready.entries()) {
    const answer = answers[at]!;
    const member = await refusals.collect(async () =>
      withAnswer(
        await withSkills(await identified(await warmed(one, answer, cache)), cache),
        answer,
      ),
    );
    if (member === undefined) continue;
    const warnings = [
      ...member.warnings,
      ...hostWarnings(member.found.manifest),
      ...(await buildWarnings(member.found, languages)),
    ];
    members.push({ ...member, warnings });
  }
  await Promise.all(checks);
  refusals.throwAll();
  const catalog = catalogOf(members);
  refuseNameClashes(members, catalog);
  for (const {
    servlets: [name],
    text,
  } of overlapsIn(catalog))
    members.find(({ found }) => found.name === name)!.warnings.push(text);
  for (const entry of catalog.versions)
    members
      .find(({ found }) => found.name === entry.servlet.name)!
      .warnings.push(...concernsOf(entry));
  return members;
}

type Ready = Omit<Member, "parts" | "hash" | "startsOnce" | "startAsks" | "lists" | "definitions">;

/** Reads the servlets in interpreted languages. */
async function readAll(
  all: readonly FoundServlet[],
  refusals: Refusals,
): Promise<Map<FoundServlet, Load>> {
  const read = await inTurns(all, async (found) => {
    const { source } = found;
    if (!isInterpreted(source)) return [];
    const load = await refusals.collect(() => source.language.read(source.files[0]!, found));
    return load === undefined ? [] : [[found, load] as const];
  });
  return new Map(read.flat());
}

/** The optimiser takes five seconds for a mebibyte. */
const SLOW_BYTES = 5 << 20;

async function makeReady(
  found: FoundServlet,
  load: Load | undefined,
  { cache, progress, optimise = true }: Making,
): Promise<Ready> {
  const preparation = preparationOf(found.manifest, { optimise });
  const isShared = isInterpreted(found.source) && preparation.memoryBytes === limits.memoryBytes;
  const advice = isShared && !isInstalled ? `, as prepared.bin is stale: \`npm run prepared\`` : "";
  const tell = (doing: string) => progress(`${found.name}: ${doing}${advice}`);
  const built = await build(found.source, cache, tell);
  const plugin = await asPlugin(built, found.manifest, cache, tell);
  const how = { ...preparation, optimise: optimise || isShared };
  const isSlow = how.optimise && plugin.length > SLOW_BYTES;
  const slow = isSlow ? `, which takes minutes for ${plugin.length >> 20} MiB, once` : "";
  const prepared = await prepare(plugin, how, cache, (doing) => tell(`${doing}${slow}`));
  if (keepsState(found.manifest) && prepared.unrestorable !== undefined) {
    throw new Refusal(
      `its state cannot be kept, as ${prepared.unrestorable}: build it without, or remove "state" from servlet.json`,
    );
  }
  if (isInterpreted(found.source) && load !== undefined) {
    const made = { language: found.source.language, interpreter: prepared, load };
    const { bytes, ...one } = await loadInterpreted(found, made, cache, tell);
    return {
      ...one,
      dialect: "hyper-v2",
      archives: await archivesOf(found, cache),
      views: await viewDocuments(one.found, cache),
      size: { before: bytes, gzip: gzipBytes(one.prepared.patch) },
    };
  }
  const { remedy, warnings } = lookedInto(plugin, found.manifest);
  const dialect = found.manifest.dialect ?? dialectOf(prepared.exports);
  if (dialect === undefined || dialectOf(prepared.exports) === undefined) {
    throw new Refusal(
      `it is not a servlet: it exports neither call_tool, list_tools or receive_webhook, nor call and describe. Export one of these interfaces${remedy === undefined ? "" : `. ${remedy}`}`,
    );
  }
  const { wasm } = prepared;
  const size = { before: plugin.length, gzip: gzipBytes({ path: prepared.path, bytes: wasm }) };
  const archives = await archivesOf(found, cache);
  const views = await viewDocuments(found, cache);
  return {
    found: withStateLists(found, plugin),
    dialect,
    prepared,
    size,
    archives,
    views,
    warnings: [
      ...warnings,
      ...(isComponent(built) ? await componentWarnings(built, found.place) : []),
    ],
    neverWaits: pluginNeverWaits({ wasm, dialect }, found.manifest),
    mayAsk: pluginMayAsk(wasm),
    ...(remedy !== undefined && { remedy }),
  };
}

/** Throws a `Refusal` for a manifest that demands what this server does not support. */
function refuseUnkept({ place, manifest }: FoundServlet): void {
  if (manifest.on_new_build !== "keep-calls-on-old") return;
  throw new Refusal(
    `${place}: "on_new_build": "keep-calls-on-old" cannot be: a call that goes on would need the memory of the old build, which that of the new one replaces. Write "anew" or leave it out: then memory begins anew with each new build, files stay, and callers of calls that wait are told to call again`,
  );
}

/** Makes the lists of a servlet dynamic if it keeps state and imports a function that announces changed lists. */
function withStateLists(found: FoundServlet, plugin: Uint8Array<ArrayBuffer>): FoundServlet {
  const { manifest } = found;
  if (!keepsState(manifest) || manifest.lists !== undefined) return found;
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(plugin));
  const isTold = imports.some(({ name }) => /^notify_\w+_list_changed$/.test(name));
  return isTold ? { ...found, manifest: { ...manifest, lists: "dynamic" } } : found;
}

/** Warnings about entries of `allowed_hosts` that match no host: URLs, paths and names with non-ASCII letters. */
function hostWarnings({ allowed_hosts = [] }: Manifest): string[] {
  return allowed_hosts
    .filter((entry) => /[^!-~]|[/@#]|\.$/.test(entry))
    .map((entry) => {
      const url = entry.includes("://") ? entry : `https://${entry}`;
      const meant = URL.parse(url.trim())?.host.replace(/\.$/, "");
      const hint =
        meant === undefined ? "a host name, such as api.example.com" : JSON.stringify(meant);
      return `allowed_hosts has ${JSON.stringify(entry)}, which no host fits: write ${hint}`;
    });
}

/** Adds the skills in the servlet's folder. A servlet that is a single file has none. */
async function withSkills<T extends Ready>(one: T, cache: string): Promise<T> {
  const { place, source } = one.found;
  if (source.files[0] === place) return one;
  const { archive, warnings } = await skillsIn(place, cache).catch(refusedAt(place));
  return {
    ...one,
    warnings: [...one.warnings, ...warnings],
    ...(archive !== undefined && { skills: archive }),
  };
}

/** Finds mistakes in a plugin's imports and exports: built as a program, or requests without allowed hosts. */
function lookedInto(plugin: Uint8Array<ArrayBuffer>, manifest: Manifest) {
  const module = new WebAssembly.Module(plugin);
  const has = (all: readonly { name: string; kind: string }[], name: string) =>
    all.some((one) => one.kind === "function" && one.name === name);
  const exports = WebAssembly.Module.exports(module);
  const isProgram = has(exports, "_start") && !has(exports, "_initialize");
  const fetches = ["http_request", "http_fetch"].find((name) =>
    has(WebAssembly.Module.imports(module), name),
  );
  const isClosed = (manifest.allowed_hosts ?? []).length === 0;
  const vain = `it imports ${fetches}, but each request is refused, as its servlet.json allows no hosts: name them in "allowed_hosts"`;
  return {
    ...(isProgram && { remedy: PROGRAM }),
    warnings: fetches !== undefined && isClosed ? [vain] : [],
  };
}

const PROGRAM =
  "It was built as a program: it exports _start and no _initialize, so its runtime is not started before its functions are called. Build it as a library. In Go: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o servlet.wasm . In TinyGo: tinygo build -target=wasip1 -buildmode=c-shared -o servlet.wasm . In Rust: crate-type cdylib. In C and Zig: -mexec-model=reactor";

/** Compressed sizes of cached files, by path. Cached because `dev` needs all of them whenever one servlet is saved. */
const packedSizes = new Map<string, number>();

const gzipBytes = ({ path, bytes }: Cached) =>
  packedSizes.getOrInsertComputed(path, () => gzipSync(bytes, { level: 9 }).length);

/** Adds the patch of the warmed-up instance from which calls start. */
async function warmed(one: Ready, { patch, refusal }: ListAnswer, cache: string): Promise<Ready> {
  const { prepared, found } = one;
  if (refusal !== undefined) {
    throw new Refusal(`${found.place}: "warm" and "start" cannot be had: ${refusal}`);
  }
  if (patch === undefined) return one;
  const bytes = Uint8Array.fromBase64(patch);
  const hash = contentHash(prepared.hash, bytes);
  const path = join(cache, `${hash.slice(0, 32)}.warm.bin`);
  await writeIfNew(path, bytes);
  const warm = { path, bytes };
  const gzip = one.size.gzip + (isInterpreted(found.source) ? 0 : gzipBytes(warm));
  return {
    ...one,
    prepared: { ...prepared, hash, patch: warm },
    size: { ...one.size, gzip },
  };
}

function withAnswer(one: Ready & Pick<Member, "parts" | "hash">, answer: ListAnswer): Member {
  const { place, manifest } = one.found;
  const { remedy } = one;
  const { unrestorable } = one.prepared;
  const startsOnce = answer.startsOnce && unrestorable === undefined;
  const startAsks = one.prepared.patch === undefined ? answer.startAsks : [];
  const anew =
    unrestorable === undefined
      ? []
      : [`each call has a new instance, which is slower: ${unrestorable}`];
  if (manifest.lists === "dynamic" && answer.error === undefined) {
    const failures = (answer.failures ?? []).map(
      (failure) => `it ${describeFailure(failure)}${remedy === undefined ? "" : ` ${remedy}`}`,
    );
    const warnings = [...one.warnings, ...new Set(failures), ...anew];
    return { ...one, startsOnce, startAsks, warnings };
  }
  const hint = 'If its lists depend on the outside, set "lists": "dynamic" in servlet.json';
  if (answer.lists === undefined) {
    const logs = answer.logs.length > 0 ? `\n  its log: ${answer.logs.join("\n  ")}` : "";
    throw new Refusal(
      `${place}: it could not be asked for its lists: ${answer.error} ${remedy ?? `${hint}.`}${logs}`,
    );
  }
  const { lists, warnings } = inspectLists(answer.lists, place);
  demandTools(one.found, lists);
  const { definitions, warnings: undefinable } = define(one.found, lists);
  const calls =
    answer.calls.length > 0 ? [`it calls ${answer.calls.join(", ")} while it lists. ${hint}`] : [];
  const { exports } = one.prepared;
  const servlet = dialects[one.dialect].connect({ exports, idsAsGiven: false, run: neverRun });
  const [empty, others] = [true, false].map((isWanted) =>
    KINDS.filter((kind) => servlet.lists(kind) && (lists[kind].length === 0) === isWanted),
  );
  return {
    ...one,
    startsOnce,
    startAsks,
    lists,
    definitions,
    warnings: [
      ...one.warnings,
      ...warnings,
      ...undefinable,
      ...calls,
      ...anew,
      ...(others!.length === 0 &&
      manifest.schedules === undefined &&
      !exports.includes("receive_webhook")
        ? [`it offers nothing${remedy === undefined ? "" : `. ${remedy}`}`]
        : empty!.map((kind) => `it can be asked for its ${KIND_NAMES[kind]}, but lists none`)),
    ],
  };
}

/** Throws a `Refusal` for a view or snippets whose tool does not exist, and for a view whose tool has another view already. */
function demandTools(
  { manifest: { views = {}, snippets }, place }: FoundServlet,
  { tools }: Lists,
): void {
  const shown = new Map<string, string>();
  const demandTool = (name: string, what: string) => {
    if (tools.some((tool) => tool.name === name)) return;
    const known = tools.map((tool) => tool.name).join(", ");
    throw new Refusal(
      `${place}: ${what} for the tool ${name}, which it lacks: write one of ${known}`,
    );
  };
  if (snippets !== undefined) demandTool(snippets, '"snippets" is');
  for (const [view, { tools: names = [] }] of Object.entries(views)) {
    for (const name of names) {
      demandTool(name, `the view ${view} is`);
      if (shown.has(name))
        throw new Refusal(
          `${place}: the views ${shown.get(name)} and ${view} are both for the tool ${name}: take it from one of them`,
        );
      shown.set(name, view);
    }
  }
}

const KINDS = ["tools", "resources", "resourceTemplates", "prompts"] as const;
const neverRun = () => Promise.reject(new Error("Nothing is run for a warning."));

/**
 * The catalog of these servlets, by the names that clients see. Throws a `Refusal` if two entries have the same name.
 */
export function catalogOf(members: readonly Member[]): Catalog {
  const places = new Map(members.map(({ found }) => [found.name, found.place]));
  const servlets = members.map(({ found, lists, ...one }) => ({
    servlet: {
      name: found.name,
      dialect: one.dialect,
      hash: one.hash,
      exports: one.prepared.exports,
      manifest: found.manifest,
      ...(lists === undefined ? {} : { lists }),
    },
    lists: lists ?? NO_ENTRIES,
  }));
  const onClash = ({ kind, name, servlets: [first, second] }: Clash) => {
    if (first === second) {
      throw new Refusal(
        `${places.get(first)}: two of its ${kind} are listed as ${name}: rename one of them in the servlet`,
      );
    }
    throw new Refusal(
      `${places.get(second)}: ${places.get(first)} also has ${name} (${kind}): ${clashRemedy(kind)}`,
    );
  };
  return merge(servlets, onClash, { contributors: [viewsContributor] });
}
