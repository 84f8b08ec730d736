import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as z from "zod";
import { limits } from "../../server/kernel/core/limits.ts";
import type { Lists, ToolDefinition } from "../../server/kernel/core/model.ts";
import { define } from "../../server/features/otc/definitions.ts";
import {
  clashRemedy,
  merge,
  overlapsIn,
  type Catalog,
} from "../../server/kernel/servlets/catalog.ts";
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
import { checkManifest, scan, type FoundServlet } from "./scan.ts";
import { bundleScript, kitScript, type ServletScript } from "../../languages/typescript/script.ts";
import { checkTypes, checkViewTypes } from "../../languages/typescript/types.ts";
import { pythonWith } from "../../languages/python/engine.ts";
import { chanceWarnings, loadPython } from "../../languages/python/servlet.ts";
import { snapshot, type Snapshot } from "./wasm/snapshot.ts";
import { build, isInterpreted } from "./source.ts";
import { viewDocuments, viewScripts, type ViewDocument } from "./views.ts";
import { skillsIn, type SkillArchive } from "./skills.ts";
import { buildWarnings } from "./toolchains.ts";
import { inTurns } from "./work.ts";
import {
  codeMayAsk,
  pluginMayAsk,
  pluginNeverWaits,
  pythonNeverWaits,
  scriptNeverWaits,
} from "./waits.ts";

/** One servlet of the bundle, and the facts for its row of the table. */
export interface Member {
  found: FoundServlet;
  dialect: DialectName;
  prepared: Prepared;
  /** The digests of its code, and the hash of them, by which a waiting call knows it. */
  parts: PartDigests;
  hash: string;
  /** The files that its folders begin with. */
  archives: Archived[];
  /** The documents of its views. */
  views: ViewDocument[];
  skills?: SkillArchive;
  /** Bytes of the plugin as it was found or built, and of the prepared wasm, gzipped. */
  size: { before: number; gzip: number };
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce: boolean;
  /** True if no call of it waits for a person, or for long. */
  neverWaits: boolean;
  /** True if its code can ask the user; undefined where that is not known. */
  mayAsk: boolean | undefined;
  /** Host services that its start functions use if they run in each call; empty if they run once. */
  startAsks: string[];
  /** Its lists; absent if they are dynamic. */
  lists?: Lists;
  /** As Open Tool Calling describes its tools, by their own names. */
  definitions?: Record<string, ToolDefinition>;
  /** Says how to build it, if it was built as a program. */
  remedy?: string;
  warnings: string[];
}

export interface Options {
  folders: readonly string[];
  /** Where earlier results are kept. */
  cache: string;
  /** Reports a slow step and its servlet. */
  progress(what: string): void;
  /** False leaves out the optimiser, but for the interpreter that most servlets in TypeScript share: see `PrepareOptions`. */
  optimise?: boolean;
}

export type Making = Omit<Options, "folders">;

/**
 * Finds, builds, prepares, asks and checks all servlets of these folders.
 *
 * Throws a `Refusal` that names, for each servlet that is refused, the file, what is wrong and what to do.
 */
export async function makeBundle(options: Options): Promise<Member[]> {
  const refusals = new Refusals();
  const found = await scan(options.folders, refusals);
  let early = refusals.messages;
  // The first slow step is reported after the faults that are known before it.
  const progress = (what: string) => {
    for (const message of early) options.progress(message);
    early = [];
    options.progress(what);
  };
  return bundleAll(found, { ...options, progress }, refusals);
}

/** Builds, prepares, asks and checks these servlets; `refusals` has those of others. Throws as `makeBundle`. */
export async function bundleAll(
  all: readonly FoundServlet[],
  options: Making,
  refusals = new Refusals(),
): Promise<Member[]> {
  const { cache, progress } = options;
  await unpackPrepared(cache);
  const scripts = await bundleScripts(all, refusals);
  const checked = refusals.collect(async () => {
    await checkTypes(typed(scripts), cache, progress);
    return true;
  });
  const made = new Map<FoundServlet, Ready>();
  const make = (found: FoundServlet) =>
    refusals.collect(async () => {
      refuseUnkept(found);
      const ready = makeReady(found, scripts.get(found), options);
      made.set(found, await ready.catch(refusedAt(found.source.files[0]!)));
    });
  // Servlets in TypeScript wait for their interpreter, whose preparation takes longest: others are made meanwhile.
  await Promise.all([
    inTurns([...scripts.keys()], make),
    inTurns(
      all.filter(({ source }) => source.kind !== "typescript"),
      make,
    ),
  ]);
  const ready = all.flatMap((found) => made.get(found) ?? []);
  const scriptsOfViews = ready.flatMap(({ found }) => viewScripts(found));
  const viewsChecked = refusals.collect(async () => {
    // Faults of a servlet are also found from its views.
    if (await checked) await checkViewTypes(scriptsOfViews, typed(scripts), cache, progress);
  });
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
      ...(await buildWarnings(member.found)),
    ];
    members.push({ ...member, warnings });
  }
  await viewsChecked;
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

/** The scripts of the servlets in TypeScript. */
async function bundleScripts(
  all: readonly FoundServlet[],
  refusals: Refusals,
): Promise<Map<FoundServlet, ServletScript>> {
  const wanted = all.filter(({ source }) => source.kind === "typescript");
  const made = await inTurns(wanted, ({ source }) =>
    refusals.collect(() => bundleScript(source.files[0]!)),
  );
  return new Map(
    wanted.flatMap((found, at) => (made[at] === undefined ? [] : [[found, made[at]]])),
  );
}

/** The files of those servlets whose types are to be checked. */
const typed = (scripts: ReadonlyMap<FoundServlet, ServletScript>) =>
  [...scripts.keys()]
    .map(({ source }) => source.files[0]!)
    .filter((entry) => entry.endsWith(".ts"));

async function makeReady(
  found: FoundServlet,
  script: ServletScript | undefined,
  { cache, progress, optimise = true }: Making,
): Promise<Ready> {
  const preparation = preparationOf(found.manifest, { optimise });
  const isShared = isInterpreted(found.source) && preparation.memoryBytes === limits.memoryBytes;
  const advice = isShared && !isInstalled ? `, as prepared.bin is stale: \`npm run prepared\`` : "";
  const tell = (doing: string) => progress(`${found.name}: ${doing}${advice}`);
  const plugin = await build(found.source, cache, tell);
  const how = { ...preparation, optimise: optimise || isShared };
  const prepared = await prepare(plugin, how, cache, tell);
  if (keepsState(found.manifest) && prepared.unrestorable !== undefined) {
    throw new Refusal(
      `its state cannot be kept, as ${prepared.unrestorable}: build it without, or remove "state" from servlet.json`,
    );
  }
  if (script !== undefined) return await makeTypeScript(found, prepared, script, cache);
  if (found.source.kind === "python") return await makePython(found, prepared, cache, tell);
  const { remedy, warnings } = lookedInto(plugin, found.manifest);
  const dialect = found.manifest.dialect ?? dialectOf(prepared.exports);
  if (dialect === undefined || dialectOf(prepared.exports) === undefined) {
    throw new Refusal(
      `it is not a servlet: it exports neither call_tool or list_tools, nor call and describe. Export one of these interfaces${remedy === undefined ? "" : `. ${remedy}`}`,
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
    warnings,
    neverWaits: pluginNeverWaits({ wasm, dialect }, found.manifest),
    mayAsk: pluginMayAsk(wasm),
    ...(remedy !== undefined && { remedy }),
  };
}

/** Throws a `Refusal` for a promise that this server does not keep. */
function refuseUnkept({ place, manifest }: FoundServlet): void {
  if (manifest.on_new_build !== "keep-calls-on-old") return;
  throw new Refusal(
    `${place}: "on_new_build": "keep-calls-on-old" cannot be: a call that goes on would need the memory of the old build, which that of the new one replaces. Write "anew" or leave it out: then memory begins anew with each new build, files stay, and callers of calls that wait are told to call again`,
  );
}

/** Returns the servlet with dynamic lists, if it keeps state and imports a function that tells of changed lists. */
function withStateLists(found: FoundServlet, plugin: Uint8Array<ArrayBuffer>): FoundServlet {
  const { manifest } = found;
  if (!keepsState(manifest) || manifest.lists !== undefined) return found;
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(plugin));
  const isTold = imports.some(({ name }) => /^notify_\w+_list_changed$/.test(name));
  return isTold ? { ...found, manifest: { ...manifest, lists: "dynamic" } } : found;
}

/** Warns of entries of `allowed_hosts` that no host can fit: URLs, paths, and names in other letters than ASCII. */
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

/** A servlet with the skills beside it. A lone file has none. */
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

/** Says what the imports and exports of a plugin show: that it was built as a program, and that it fetches in vain. */
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

/** Compressed sizes of cached files, by path, which is a digest: `dev` needs all of them each time one servlet is saved. */
const packedSizes = new Map<string, number>();

const gzipBytes = ({ path, bytes }: Cached) =>
  packedSizes.getOrInsertComputed(path, () => gzipSync(bytes, { level: 9 }).length);

/** A servlet in TypeScript: the interpreter with its script loaded. */
async function makeTypeScript(
  found: FoundServlet,
  interpreter: Prepared,
  { text, explain, watched, warningsFor }: ServletScript,
  cache: string,
): Promise<Ready> {
  const { patch: base } = await snapshot(interpreter, await kitScript(), cache);
  const loaded = snapshot(interpreter, { name: "servlet.js", text }, cache, base);
  const { patch, output } = await loaded.catch((error: unknown) => {
    throw error instanceof Refusal ? new Refusal(explain(error.message)) : error;
  });
  const mayAsk = /\b(?:Date|random|performance)\b/.test(text);
  const asked =
    mayAsk && (await snapshot(interpreter, { name: "servlet.js", text: watched }, cache, base));
  return loadedServlet(found, { interpreter, base, patch, output }, cache, {
    neverWaits: scriptNeverWaits(text, found.manifest),
    mayAsk: codeMayAsk(text),
    bytes: Buffer.byteLength(text),
    warnings: asked ? warningsFor(asked.output) : [],
  });
}

/** A servlet in Python: the interpreter with its modules loaded. */
async function makePython(
  found: FoundServlet,
  interpreter: Prepared,
  cache: string,
  progress: (doing: string) => void,
): Promise<Ready> {
  const engine = await pythonWith(interpreter, cache);
  const loaded = await loadPython(found.source.files[0]!, engine, cache, progress);
  return loadedServlet(found, { ...engine, ...loaded }, cache, {
    neverWaits: pythonNeverWaits(loaded, found.manifest),
    mayAsk: codeMayAsk(loaded.text, loaded.hasPackages),
    bytes: Buffer.byteLength(loaded.text),
    warnings: [...loaded.warnings, ...chanceWarnings(loadedIn(loaded.output).asked)],
  });
}

/** A servlet in TypeScript or Python, from the patch that loading it has made on top of the base. */
async function loadedServlet(
  found: FoundServlet,
  {
    interpreter,
    base,
    patch,
    output,
  }: Snapshot & { interpreter: Prepared; base: NonNullable<Prepared["base"]> },
  cache: string,
  {
    neverWaits,
    mayAsk,
    bytes,
    warnings,
  }: Pick<Member, "neverWaits" | "mayAsk"> & { bytes: number; warnings: string[] },
): Promise<Ready> {
  const { exports, manifest } = loadedIn(output);
  const shown = withManifest(found, manifest);
  return {
    found: shown,
    dialect: "hyper-v2",
    archives: await archivesOf(found, cache),
    views: await viewDocuments(shown, cache),
    prepared: {
      ...interpreter,
      exports,
      hash: contentHash(interpreter.hash, base.bytes, patch.bytes),
      base,
      patch,
    },
    neverWaits,
    mayAsk,
    size: { before: bytes, gzip: gzipBytes(patch) },
    warnings,
  };
}

const manifestPart = z.record(z.string(), z.looseObject({}));
const loadedSchema = z.object({
  exports: z.array(z.string()),
  manifest: z.object({ views: manifestPart, tools: manifestPart }),
  /** Uses of time and chance at module scope; of a servlet in Python only. */
  asked: z.array(z.object({ what: z.string(), path: z.string(), line: z.number() })).default([]),
});

/** The kit's description of a loaded servlet. Throws a `Refusal` if it is not one, because the servlet changed the kit. */
function loadedIn(output: unknown): z.infer<typeof loadedSchema> {
  const read = loadedSchema.safeParse(output);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Refusal(
    `its module scope changed the kit, which could not describe the servlet: ${issue!.path.join(".")} ${issue!.message}. Leave the kit's own modules as they are`,
  );
}

/** The servlet with the views that its script defines. Throws a `Refusal`. */
function withManifest(
  found: FoundServlet,
  { views, tools }: z.infer<typeof loadedSchema>["manifest"],
): FoundServlet {
  const { manifest, place } = found;
  const twice = Object.keys(views).find((name) => Object.hasOwn(manifest.views ?? {}, name));
  if (twice !== undefined)
    throw new Refusal(`${place}: servlet.json has a view ${twice} as well: leave it out there`);
  if (Object.keys(views).length + Object.keys(tools).length === 0) return found;
  const merged = {
    ...manifest,
    views: { ...manifest.views, ...views },
    tools: Object.fromEntries(
      Object.keys({ ...tools, ...manifest.tools }).map((name) => [
        name,
        { ...tools[name], ...manifest.tools?.[name] },
      ]),
    ),
  };
  return { ...found, manifest: checkManifest("defineServlet", merged) };
}

/** Adds the patch of the warmed-up instance, in which its calls begin. */
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
      ...(others!.length === 0
        ? [`it offers nothing${remedy === undefined ? "" : `. ${remedy}`}`]
        : empty!.map((kind) => `it can be asked for its ${KIND_NAMES[kind]}, but lists none`)),
    ],
  };
}

/** Throws a `Refusal` for a view of a tool that there is not, or that another view shows. */
function demandTools({ manifest: { views = {} }, place }: FoundServlet, { tools }: Lists): void {
  const shown = new Map<string, string>();
  for (const [view, { tools: names = [] }] of Object.entries(views)) {
    for (const name of names) {
      if (!tools.some((tool) => tool.name === name)) {
        const known = tools.map((tool) => tool.name).join(", ");
        throw new Refusal(
          `${place}: the view ${view} is for the tool ${name}, which it lacks: write one of ${known}`,
        );
      }
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
 * The catalog of these servlets, under the names that clients see. Throws a `Refusal` if two servlets have
 * an entry of the same name.
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
  return merge(servlets, ({ kind, name, servlets: [first, second] }) => {
    if (first === second) {
      throw new Refusal(
        `${places.get(first)}: two of its ${kind} are listed as ${name}: rename one of them in the servlet`,
      );
    }
    throw new Refusal(
      `${places.get(second)}: ${places.get(first)} also has ${name} (${kind}): ${clashRemedy(kind)}`,
    );
  });
}
