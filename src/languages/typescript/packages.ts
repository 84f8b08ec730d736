/** The npm packages of a servlet. If the default build of a package needs Node, its browser build is used. */
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, posix, relative, resolve } from "node:path";
import { readableText } from "../../tools/bundle/readable-files.ts";
import type {
  ImportKind,
  Message,
  OnLoadResult,
  OnResolveResult,
  Plugin,
  PluginBuild,
} from "esbuild";

/** A package's `browser` field: the replacement of each file in browsers, by path; `false` for an empty module. */
type Replacements = ReadonlyMap<string, string | false>;

interface Package {
  name: string;
  folder: string;
}

/** The package that a file belongs to; undefined for the author's own files. */
export function packageOf(file: string): Package | undefined {
  const found = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file);
  return found === null ? undefined : { folder: found[0], name: found[1]!.replaceAll("\\", "/") };
}

/** The module of Node that esbuild could not resolve; undefined for other errors. */
export function nodeModuleOf({ text }: Message): string | undefined {
  const [, name] = /^Could not resolve "(.+)"$/.exec(text) ?? [];
  return name !== undefined && isBuiltin(name) ? name.replace(/^node:/, "") : undefined;
}

const NODES_GLOBALS = /\b(?:process|Buffer|setImmediate|__dirname)\b(?!\.env\.NODE_ENV)/;
const DOM = /\b(?:document|window)\b/;
const RESOLVING = Symbol("already asked");
const EMPTY = "empty in browsers";

export class Packages {
  readonly #servlet: string;
  /** The files that import each package, by package name. */
  readonly #importers = new Map<string, Set<string>>();
  /** The `browser` field of each package, by package folder. */
  readonly #fields = new Map<string, Promise<Replacements | undefined>>();
  /** The replacements of each package whose browser build is used, by package folder. */
  readonly #inBrowsers = new Map<string, Replacements>();

  /** The folders of packages that have modules of Node, as they have no build for browsers. */
  readonly #withNode = new Set<string>();

  /** `servlet` is the servlet's folder. */
  constructor(servlet: string) {
    this.#servlet = servlet;
  }

  /** Resolves imports as browser bundlers do: https://github.com/defunctzombie/package-browser-field-spec */
  readonly plugin: Plugin = {
    name: "packages",
    setup: (on) => {
      on.onResolve({ filter: /^/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === RESOLVING) return undefined;
        const name = /^(?:@[^/]+\/)?[^./][^/]*/.exec(path)?.[0];
        if (name !== undefined) this.#noteImport(name, importer);
        if (this.#inBrowsers.size === 0) return undefined;
        const asked = { importer, kind, resolveDir, pluginData: RESOLVING };
        const own = packageOf(importer);
        const inside = own && this.#inBrowsers.get(own.folder)?.get(path);
        if (own !== undefined && inside !== undefined) return replaced(on, own, inside, kind);
        const found = await on.resolve(path, asked);
        const of = packageOf(found.path);
        const replacements = of && this.#inBrowsers.get(of.folder);
        if (of === undefined || replacements === undefined) return undefined;
        const file = `./${relative(of.folder, found.path).replaceAll("\\", "/")}`;
        const by =
          (path === of.name ? replacements.get(".") : undefined) ??
          replacements.get(file) ??
          replacements.get(file.replace(/\.\w+$/, "")) ??
          replacements.get(file.replace(/(\/index)?\.\w+$/, ""));
        return by === undefined ? undefined : replaced(on, of, by, kind);
      });
      on.onLoad({ filter: /^/, namespace: EMPTY }, () => ({ contents: "module.exports = {};" }));
      on.onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, ({ path }) =>
        this.#inBrowser(path),
      );
    },
  };

  /** The browser replacement of a file that uses Node globals; undefined if there is none, or if it uses the DOM. */
  async #inBrowser(path: string): Promise<OnLoadResult | undefined> {
    const of = packageOf(path);
    if (of === undefined || this.#inBrowsers.has(of.folder)) return undefined;
    const known = await this.#fields.getOrInsertComputed(of.folder, () => browserField(of));
    const by = known?.get(`./${relative(of.folder, path).replaceAll("\\", "/")}`);
    if (typeof by !== "string") return undefined;
    const file = join(of.folder, by);
    const read = async (from: string) => (await readableText(this.#servlet, from)) ?? "";
    const [text, contents] = await Promise.all([read(path), read(file)]);
    const isBetter = NODES_GLOBALS.test(text) && contents !== "" && !DOM.test(contents);
    return isBetter ? { contents, resolveDir: dirname(file) } : undefined;
  }

  #noteImport(name: string, importer: string): void {
    this.#importers.getOrInsertComputed(name, () => new Set()).add(importer);
  }

  /**
   * Switches packages that need Node, according to these errors, to their browser builds. If a package has no browser
   * build, switches the packages that import it. Returns false if no package was switched.
   */
  async preferBrowsers(errors: readonly Message[]): Promise<boolean> {
    let isBetter = false;
    const seen = new Set<string>();
    const files = errors
      .filter((error) => nodeModuleOf(error) !== undefined)
      .map(({ location }) => resolve(location?.file ?? ""));
    for (const file of files) {
      const one = packageOf(file);
      if (one === undefined || seen.has(one.folder)) continue;
      seen.add(one.folder);
      const replacements = this.#inBrowsers.has(one.folder) ? undefined : await browserField(one);
      if (replacements === undefined) files.push(...(this.#importers.get(one.name) ?? []));
      else {
        this.#inBrowsers.set(one.folder, replacements);
        isBetter = true;
      }
    }
    return isBetter;
  }

  /** True for the folder of a package whose modules of Node are to be resolved. */
  hasNode(folder: string): boolean {
    return this.#withNode.has(folder);
  }

  /** Lets packages have the modules of Node that they lack, according to these errors. False if none had to. */
  takeNode(errors: readonly Message[]): boolean {
    const before = this.#withNode.size;
    for (const error of errors) {
      const name = nodeModuleOf(error);
      const of = packageOf(resolve(error.location?.file ?? ""));
      if (name !== undefined && of !== undefined) this.#withNode.add(of.folder);
    }
    return this.#withNode.size > before;
  }

  /** The author's file that imports the package of `file`, directly or through packages not in `without`. */
  importedFrom(file: string, without: Iterable<string> = []): string | undefined {
    const files = [file];
    const seen = new Set(without);
    for (const one of files) {
      const of = packageOf(one);
      if (of === undefined) return one;
      if (seen.has(of.name)) continue;
      seen.add(of.name);
      files.push(...(this.#importers.get(of.name) ?? []));
    }
    return undefined;
  }
}

async function browserField({ folder }: Package): Promise<Replacements | undefined> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
  const { browser, main } = JSON.parse(text) as { browser?: unknown; main?: unknown };
  if (typeof browser === "string") {
    const whole = `./${posix.normalize(browser)}`;
    const usual = posix.normalize(typeof main === "string" ? main : "index");
    return new Map([".", `./${usual.replace(/\.js$/, "")}.js`].map((from) => [from, whole]));
  }
  if (typeof browser !== "object" || browser === null) return undefined;
  const isReplacement = (one: [string, unknown]): one is [string, string | false] =>
    typeof one[1] === "string" || one[1] === false;
  return new Map(Object.entries(browser).filter(isReplacement));
}

async function replaced(
  on: PluginBuild,
  { folder }: Package,
  by: string | false,
  kind: ImportKind,
): Promise<OnResolveResult | undefined> {
  if (by === false) return { path: folder, namespace: EMPTY };
  const { path, errors, sideEffects } = await on.resolve(by, {
    kind,
    resolveDir: folder,
    importer: join(folder, "package.json"),
    pluginData: RESOLVING,
  });
  return errors.length > 0 ? { errors } : { path, sideEffects };
}
