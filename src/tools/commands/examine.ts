/** Finds a servlet and examines it, even if the bundle step would refuse it. */
import { existsSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { limits } from "../../server/kernel/core/limits.ts";
import type { Lists } from "../../server/kernel/core/model.ts";
import { dialectOf, dialects, type DialectName } from "../../server/kernel/servlets/dialects.ts";
import { memoryBytes } from "../../server/kernel/core/text.ts";
import { Guest } from "../../server/kernel/wasm/guest.ts";
import { Journal } from "../../server/kernel/wasm/journal.ts";
import { instantiate, runExport } from "../../server/kernel/wasm/link.ts";
import { nobody } from "../../server/kernel/wasm/pool.ts";
import { liveWorld } from "../../server/kernel/wasm/world.ts";
import { outline, type Import, type Outline } from "../bundle/wasm/binary.ts";
import { bundleAll, catalogOf, type Making, type Member } from "../bundle/bundle.ts";
import type { Language } from "../bundle/language.ts";
import { isOffered } from "../bundle/wasm/check.ts";
import { prepare, type Prepared } from "../bundle/wasm/prepare.ts";
import { Refusal, Refusals } from "../bundle/refusal.ts";
import { scan, type FoundServlet, type Places } from "../bundle/scan.ts";
import { asPlugin } from "../bundle/component/plugin.ts";
import { build, isInterpreted } from "../bundle/source.ts";
import { costOf, type Cost } from "./cost.ts";
import { preparedBytes } from "./table.ts";

/** Facts about a servlet. A field is absent if it could not be determined. */
export interface Examined {
  found: FoundServlet;
  dialect?: DialectName;
  /** Bytes of the plugin as it was found or built; for TypeScript, of its script. */
  size?: number;
  /** Maximum memory of an instance, in bytes. */
  memoryLimit: number;
  outline?: Outline;
  /** The imports of `outline` that the host does not offer. */
  missing: ReadonlySet<Import>;
  /** The prepared module; for TypeScript, the interpreter with the servlet's patch. */
  prepared?: Prepared | undefined;
  /** Its lists as clients see them. */
  lists?: Lists;
  /** Set if the start functions run in each call: the host services that they use, and their time on this machine. */
  start?: { asks: string[]; ms: number };
  /** The cost of its calls, and the size that it adds to the Worker, in bytes; also gzipped. */
  cost?: Cost & { bytes: number; gzip: number };
  warnings: string[];
  /** Why it would not be bundled. */
  refusal?: string;
}

/**
 * The servlet of this name in these folders, or at this path. Throws a `Refusal` if there is none.
 */
export async function locate(what: string, { folders, languages }: Places): Promise<FoundServlet> {
  const extension = extname(what);
  if (extension === ".wasm" || extension === ".wat") {
    if (!existsSync(what)) throw new Refusal(`${what}: there is no such file: look at its path`);
    return (
      (await inItsFolder(what, languages)) ?? bare(what, extension === ".wasm" ? "wasm" : "wat")
    );
  }
  const refusals = new Refusals();
  const all = await scan({ folders, languages }, refusals);
  const named = all.find(({ name }) => name === what);
  if (named !== undefined) return named;
  const [there, ...others] = existsSync(what)
    ? await scan({ folders: [what], languages }, new Refusals())
    : [];
  if (there !== undefined && others.length === 0) return there;
  refusals.throwAll();
  const names = all.map(({ name }) => name).join(", ") || "none";
  throw new Refusal(
    `There is no servlet ${what} in ${folders.join(", ")}: those there are ${names}. Give one of them, or the path of a .wasm file.`,
  );
}

/** The servlet that has this file as its source, if there is a manifest beside it. */
async function inItsFolder(
  file: string,
  languages: readonly Language[],
): Promise<FoundServlet | undefined> {
  const folder = dirname(file);
  if (!existsSync(join(folder, "servlet.json"))) return undefined;
  const refusals = new Refusals();
  const found = await scan({ folders: [folder], languages }, refusals);
  refusals.throwAll();
  return found.find(({ source }) => resolve(source.files[0]!) === resolve(file));
}

const bare = (file: string, kind: "wasm" | "wat"): FoundServlet => ({
  name: basename(file, extname(file)),
  source: { kind, files: [file] },
  manifest: {},
  place: file,
});

/** Builds and prepares a servlet, and asks it for its lists, as far as these steps succeed. */
export async function examine(found: FoundServlet, options: Making): Promise<Examined> {
  const { cache, progress, optimise = true } = options;
  const { manifest, source } = found;
  const memoryLimit = memoryBytes(manifest.memory_limit ?? "") ?? limits.memoryBytes;
  const known: Examined = { found, memoryLimit, missing: new Set(), warnings: [] };
  const bundled = await attempt(() => bundleAll([found], options));
  const { refusal } = bundled;
  const [member] = bundled.value ?? [];
  // Without its script, only the interpreter could be examined, and that says nothing about this servlet.
  if (member === undefined && isInterpreted(source)) return { ...known, refusal };

  const tell = (doing: string) => progress(`${found.name}: ${doing}`);
  const { value: plugin } = await attempt(async () =>
    asPlugin(await build(source, cache, tell), manifest, cache, tell),
  );
  if (plugin === undefined) return { ...known, refusal };
  const read = readOutline(plugin);
  const offered = await Promise.all((read?.imports ?? []).map(isOffered));
  const all: Examined = {
    ...known,
    refusal,
    outline: read,
    missing: new Set(read?.imports.filter((_, at) => !offered[at])),
    size: plugin.length,
  };
  if (member === undefined) {
    const { value: prepared } = await attempt(() =>
      prepare(plugin, { memoryBytes: memoryLimit, optimise }, cache, tell),
    );
    const exports = read?.exports.map(({ name }) => name) ?? [];
    return { ...all, dialect: manifest.dialect ?? dialectOf(exports), prepared };
  }
  return {
    ...all,
    // With what its script adds to its manifest.
    found: member.found,
    size: member.size.before,
    dialect: member.dialect,
    prepared: member.prepared,
    lists: member.lists && catalogOf([member]).lists,
    ...(member.startAsks.length > 0 && {
      start: { asks: member.startAsks, ms: await startMs(member) },
    }),
    cost: {
      ...(await costOf(member)),
      bytes: preparedBytes(member.found, member.prepared),
      gzip: member.size.gzip,
    },
    warnings: member.warnings,
  };
}

/** Median time of the start functions in a new instance, in ms. */
async function startMs({ prepared, dialect }: Member): Promise<number> {
  const module = await WebAssembly.compile(prepared.wasm);
  const { userFunctions } = dialects[dialect];
  const took: number[] = [];
  for (let at = 0; at < 15; at++) {
    const journal = new Journal({ hash: "", input: "" }, liveWorld, undefined);
    const guest = new Guest({ ...nobody, world: liveWorld }, journal);
    const instance = instantiate({ module, userFunctions }, guest);
    guest.attach(instance.exports);
    const before = performance.now();
    await runExport(instance, "edge_start");
    took.push(performance.now() - before);
  }
  return took.toSorted((a, b) => a - b)[took.length >> 1]!;
}

/** The result of `work`, or the message of its `Refusal`. */
async function attempt<T>(work: () => Promise<T>): Promise<{ value?: T; refusal?: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.message };
    throw error;
  }
}

function readOutline(plugin: Uint8Array<ArrayBuffer>): Outline | undefined {
  try {
    return WebAssembly.validate(plugin) ? outline(plugin) : undefined;
  } catch {
    return undefined; // The preparation reports the error.
  }
}
