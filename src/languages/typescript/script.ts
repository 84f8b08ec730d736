/** Bundles a servlet in TypeScript and its packages into one script with a source table. */
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { build, type BuildFailure, type BuildOptions, type Plugin } from "esbuild";
import { DOCS, OWN_EXTENSION } from "../../tools/bundle/own.ts";
import { readableFiles } from "../../tools/bundle/readable-files.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import type { Loaded } from "../../tools/bundle/wasm/snapshot.ts";
import { bundleFailure, loadFailure, scopeWarnings, START_MODULE } from "./messages.ts";
import { Packages, packageOf } from "./packages.ts";
import { SourceLocations } from "./places.ts";
import { localeWarnings } from "./sources.ts";
import { sharedZod, smallZod, zodUse, zodOfInterpreter, type SharedZod } from "./zod.ts";

export const sdk = resolve(import.meta.dirname, "../../kit");

export interface ServletScript {
  text: string;
  /** The zod that the interpreter must have. */
  zod?: SharedZod | undefined;
  /** The message for an exception while loading the script. */
  explain(thrown: string): string;
  /** A variant of the script that returns the uses of time and randomness at module scope instead of its exports. */
  watched: string;
  /** Warnings for these uses. */
  warningsFor(asked: unknown): string[];
  /** Warnings for what has no meaning in a servlet. */
  warnings: string[];
}

/**
 * Bundles a servlet's script. Packages must be plain JavaScript. If a package needs Node, its browser build is used.
 *
 * Throws a `Refusal` with the file, the line and the error.
 */
export async function bundleScript(entry: string): Promise<ServletScript> {
  const folder = dirname(entry);
  const packages = new Packages(folder);
  const sources = new Map<string, string>();
  const options = {
    ...OPTIONS,
    // As in servlets.tsconfig.json, and independent of the author's tsconfig.json.
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    stdin: await startOf(entry),
    plugins: [readableFiles(folder), ownPackage, textsOf(sources), smallZod, packages.plugin],
  };
  for (;;) {
    try {
      const { text, places, zod } = await builtWithZod(options, folder);
      const check = text.includes("Intl") ? await intlCheck(options) : "";
      const table = prologueOf(text, places);
      return {
        zod,
        text: `${table} try {\n${text}${check}${AT_END}`,
        explain: (thrown) => loadFailure(thrown, places),
        watched: `${table} ${WATCH} try {\n${text}__host.output(JSON.stringify(__asked));${AT_END}`,
        warnings: localeWarnings(sources),
        warningsFor: (asked) => scopeWarnings(asked, places, text.split("\n")),
      };
    } catch (error) {
      if (!isBuildFailure(error)) throw error;
      if (await packages.preferBrowsers(error.errors)) continue;
      throw new Refusal(await bundleFailure(entry, error.errors, packages));
    }
  }
}

/** Keeps the texts of the author's modules. */
const textsOf = (sources: Map<string, string>): Plugin => ({
  name: "texts",
  setup(on) {
    on.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, async ({ path }) => {
      if (packageOf(path) === undefined && !path.startsWith(sdk))
        sources.set(relative(".", path), await readFile(path, "utf8"));
      return undefined;
    });
  },
});

/** The statements with which a script begins, in one line. */
export const prologueOf = (text: string, places: SourceLocations): string =>
  `__sources(${JSON.stringify(places.table())}); __kit.make(${JSON.stringify(lazyModulesIn(text))});`;

/** The end of the script. It passes an exception and its stack trace to the bundle step as text. */
const AT_END =
  "} catch (error) { throw error?.stack === undefined ? __kit.messageOf(error) : `${error}\\n${error.stack}`; }";

/** Records uses of time and randomness. In one line, because the source table counts lines. */
const WATCH = `{
  globalThis.__asked = [];
  const known = new Set();
  const note = (what) => {
    const { stack } = new Error();
    if (known.has(stack) || known.size > 500) return;
    known.add(stack);
    __asked.push({ what, stack });
  };
  const [Original, random] = [Date, Math.random];
  const now = () => (note("Date.now()"), Original.now());
  globalThis.Date = new Proxy(Original, {
    get: (of, key) => (key === "now" ? now : Reflect.get(of, key)),
    apply: (of, self, args) => (note("Date()"), Reflect.apply(of, self, args)),
    construct: (of, args, made) => {
      if (args.length === 0) note("new Date()");
      return Reflect.construct(of, args, made === Date ? of : made);
    },
  });
  Math.random = () => (note("Math.random()"), random());
}`.replaceAll("\n", " ");

interface BundledScript {
  text: string;
  places: SourceLocations;
  /** The zod that the interpreter must have; absent if the script has its own or none. */
  zod?: SharedZod;
}

/** Bundles; uses of globals that packages prefer to `fetch` are written so that they do not find them. */
export async function built(options: BuildOptions): Promise<BundledScript> {
  const define = { ...options.define, ...Object.fromEntries(UNTRIED) };
  const { outputFiles = [] } = await build({ ...options, define, sourcemap: "external" });
  const textOf = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))!.text;
  let text = textOf(".js");
  for (const [name, marked] of UNTRIED) {
    text = text.replaceAll(new RegExp(`(typeof )?\\b${marked}\\b`, "g"), (found, asks?: string) =>
      asks === undefined ? name : found,
    );
  }
  return { text, places: new SourceLocations(textOf(".map")) };
}

/** Bundles, and takes zod from the interpreter if all that the script uses of it is shared. */
export async function builtWithZod(options: BuildOptions, folder: string): Promise<BundledScript> {
  const zod = await sharedZod(folder);
  if (zod === undefined) return built(options);
  const others = new Set<string>();
  const plugins = [zodOfInterpreter(zod, others), ...options.plugins!];
  const made = await built({ ...options, plugins });
  const use = zodUse(made.text);
  if (use === "none") return made;
  return use === "unshared" || others.size > 0 ? built(options) : { ...made, zod };
}

/**
 * Classes of `src/kit/globals/absent.ts` that packages prefer to `fetch` if they find them. Each has an undefined name
 * of the same length for use in `typeof` expressions, so that packages do not find the class.
 */
const UNTRIED = ["EventSource", "SharedWorker", "Worker", "XMLHttpRequest"].map(
  (name) => [name, `${name.slice(0, -1)}_`] as const,
);

/**
 * Code at the end of the script that throws if the author's code uses `Intl` without a package that provides it. Files
 * with `typeof Intl` are exempt.
 */
export async function intlCheck(options: BuildOptions): Promise<string> {
  const marked = await built({ ...options, define: { ...OPTIONS.define, Intl: INTL } });
  const uses = marked.text.split("\n").flatMap((line, number) =>
    [...line.matchAll(new RegExp(`(typeof )?\\b${INTL}\\b`, "g"))].map(({ index, 1: asks }) => ({
      place: marked.places.at(number, index + (asks?.length ?? 0)) ?? "",
      asks: asks !== undefined,
    })),
  );
  const fileOf = (place: string) => place.replace(/:\d+:\d+$/, "");
  const careful = new Set(uses.filter(({ asks }) => asks).map(({ place }) => fileOf(place)));
  const own = uses
    .map(({ place }) => place)
    .filter((place) => packageOf(place) === undefined && !careful.has(fileOf(place)));
  if (own.length === 0) return "";
  const message = `${own[0]}: there is no Intl in a servlet: format by a package, such as date-fns or dayjs, or import one that brings Intl (${DOCS}/packages.md)`;
  return `if (typeof Intl === "undefined") throw ${JSON.stringify(message)};\n`;
}

/** Replaces `Intl` in a bundle that is only searched for its uses. */
const INTL = "Intl_of_the_author";

export const OPTIONS = {
  bundle: true,
  write: false,
  outfile: "servlet.js",
  target: "es2023",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["worker", "browser"],
  minifySyntax: true,
  format: "iife",
  legalComments: "none",
  logLevel: "silent",
  logLimit: 0,
  define: { "process.env.NODE_ENV": '"production"' },
} satisfies BuildOptions;

const startOf = async (entry: string) => ({
  contents: `import servlet from ${JSON.stringify(resolve(entry))};
if (servlet === undefined || servlet !== globalThis.__servlet) {
  throw ${JSON.stringify(`${await placeOfDefault(entry)}: the default export is not what defineServlet returns: write export default defineServlet({ … })`)};
}
if (__servlet.misuse() !== undefined) throw __servlet.misuse();
__host.output(JSON.stringify({ exports: __servlet.exports, manifest: __servlet.manifest }));`,
  resolveDir: dirname(resolve(entry)),
  sourcefile: START_MODULE,
});

/** The `file:line:column` of a servlet's default export, for messages. */
async function placeOfDefault(entry: string): Promise<string> {
  const text = await readFile(entry, "utf8");
  const before = text.slice(0, Math.max(0, text.search(/\bexport\s+default\b|\bas\s+default\b/)));
  const lines = before.split("\n");
  return `${entry}:${lines.length}:${lines[lines.length - 1]!.length + 1}`;
}

let kit: Promise<Loaded> | undefined;

/** The kit, which the interpreter loads before any servlet. */
export function kitScript(): Promise<Loaded> {
  kit ??= bundleKit();
  return kit;
}

async function bundleKit(): Promise<Loaded> {
  const prelude = await readFile(join(import.meta.dirname, "prelude.js"), "utf8");
  const minified = async (options: BuildOptions) => {
    const { outputFiles = [] } = await build({ ...OPTIONS, ...options, minify: true });
    return outputFiles[0]!.text;
  };
  const lazy = Object.keys(BYTECODE).map(async (module) => {
    const contents = `globalThis.__lazily = require("./${module}${OWN_EXTENSION}");`;
    const stdin = { contents, resolveDir: join(sdk, "globals") };
    return [`LAZY_${module}`, await minified({ stdin, plugins: [sharedModules] })];
  });
  const text = await minified({ entryPoints: [join(sdk, `kit${OWN_EXTENSION}`)] });
  const within = Object.fromEntries(await Promise.all(lazy)) as Record<string, string>;
  return { name: "", text: `${prelude}${text}`, within };
}

const SHARED = "shared";

const { BYTECODE, NAMES } = await import("../../kit/globals/lazy.ts");

/** Lets the lazy modules of the kit share one another and the modules of the kit that have state. */
const sharedModules: Plugin = {
  name: SHARED,
  setup(on) {
    const filter = new RegExp(`/(bytes|host|timers|${Object.keys(BYTECODE).join("|")})\\.[jt]s$`);
    on.onResolve({ filter }, ({ path, kind }) =>
      kind === "require-call"
        ? undefined
        : { path: basename(path, extname(path)), namespace: SHARED },
    );
    on.onLoad({ filter: /^/, namespace: SHARED }, ({ path }) => ({
      contents: `module.exports = ${path in BYTECODE ? `__kit.lazy("${path}")` : `__kit.shared.${path}`};`,
    }));
  },
};

/** Patterns of a lazy module's uses other than by a global, by module name. */
const USES: Readonly<Record<string, string>> = {
  blob: "\\.blob\\(",
  encodings: "\\bTextDecoder\\(\\s*[^\\s)]",
  forms: "\\.formData\\(",
  streams: "\\.body\\b|\\.stream\\(",
  subtle: "\\.subtle\\b",
};

/** The kit's lazy modules that a script may use. They are loaded when the servlet is built, not in each call. */
function lazyModulesIn(text: string): string[] {
  const all = new Set([...Object.keys(NAMES), ...Object.keys(USES)]);
  return [...all].filter((module) => {
    const names: readonly string[] = (NAMES as Record<string, readonly string[]>)[module] ?? [];
    const ways = [...names.map((name) => `\\b${name}\\b`), USES[module] ?? []].flat();
    return new RegExp(ways.join("|")).test(text);
  });
}

export const isBuildFailure = (error: unknown): error is BuildFailure =>
  error instanceof Error && "errors" in error;

/** Modules that are bundled with each servlet that imports them, by import name. */
const OWN_MODULES: Readonly<Record<string, string>> = {
  "zod/mini": join(sdk, `zod-mini${OWN_EXTENSION}`),
  "edge-servlets/api": join(sdk, `api${OWN_EXTENSION}`),
  "edge-servlets/remote": join(sdk, `remote${OWN_EXTENSION}`),
};
const KIT = "kit";

/** The exports of each module of the kit, by its place in the global `__kit`; sorted, as a bundle must not depend on who makes it. */
const KIT_NAMES: Readonly<Record<string, string[]>> = {
  servlet: [...Object.keys(await import("../../kit/servlet.ts")), "convertWith"].toSorted(),
  files: Object.keys(await import("../../kit/files.ts")).toSorted(),
  "shared.answers": Object.keys(await import("../../kit/answers.ts")).toSorted(),
  "shared.context": Object.keys(await import("../../kit/context.ts")).toSorted(),
  "shared.host": Object.keys(await import("../../kit/host.ts")).toSorted(),
  "shared.json": Object.keys(await import("../../kit/json.ts")).toSorted(),
  "shared.random": Object.keys(await import("../../kit/random.ts")).toSorted(),
  "shared.run": Object.keys(await import("../../kit/run.ts")).toSorted(),
  "shared.schema": Object.keys(await import("../../kit/schema.ts")).toSorted(),
  "shared.templates": Object.keys(await import("../../kit/templates.ts")).toSorted(),
};

/** Resolves `edge-servlets/servlet` to the kit in the interpreter, independent of the servlet's folder. */
export const ownPackage: Plugin = {
  name: "edge-servlets",
  setup(on) {
    // Schemas of zod/mini cannot be converted to JSON Schema; those of the kit's zod-mini.ts can.
    on.onResolve({ filter: /^(zod\/mini|edge-servlets\/(api|remote))$/ }, ({ path }) => ({
      path: OWN_MODULES[path]!,
    }));
    // Those modules share what the kit has in the interpreter: its errors are the kit's own.
    on.onResolve({ filter: /^\.\/(schema|run|context)\.[jt]s$/ }, ({ path, importer }) =>
      dirname(importer) === sdk
        ? { path: `shared.${basename(path, OWN_EXTENSION)}`, namespace: KIT }
        : undefined,
    );
    // The modules of `servers/` are part of a script, and share those beside them with the kit.
    on.onResolve({ filter: /^\.\.\/\w+\.[jt]s$/ }, ({ path, importer }) => {
      const name = `shared.${basename(path, OWN_EXTENSION)}`;
      return dirname(importer) === join(sdk, "servers") && name in KIT_NAMES
        ? { path: name, namespace: KIT }
        : undefined;
    });
    on.onResolve({ filter: /^edge-servlets(\/|$)/ }, ({ path }) =>
      /^edge-servlets\/(servlet|files)$/.test(path)
        ? { path: basename(path), namespace: KIT }
        : {
            errors: [
              {
                text: `A servlet has edge-servlets/servlet, edge-servlets/files, edge-servlets/api and edge-servlets/remote; "${path}" is not for it`,
              },
            ],
          },
    );
    on.onLoad({ filter: /^/, namespace: KIT }, ({ path }) => ({
      contents: `export const { ${KIT_NAMES[path]!.join(", ")} } = __kit.${path};`,
    }));
  },
};
