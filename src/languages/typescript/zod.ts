/**
 * Reduces the size of zod in servlets. The common exports of zod 4 are loaded into the interpreter once, as the `packages` patch of
 * every servlet that uses nothing else of zod. Other servlets bundle the exports that they use.
 */
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import type { StartedInterpreter } from "../../tools/bundle/language.ts";
import type { Cached } from "../../tools/bundle/wasm/prepare.ts";
import { snapshot } from "../../tools/bundle/wasm/snapshot.ts";
import { packageOf } from "./packages.ts";

/** `import { z } from "zod"`, perhaps with other names, and `import z from "zod"`, where a line begins. */
const IMPORT =
  /^([ \t]*)import\s+(?:\{([^{}"']{0,2000})\}|z)\s+from\s*(["'])(zod(?:\/v[34]|\/mini|\/v4-mini|\/v4\/mini)?)\3/gm;

/**
 * The text with `z` imported as a namespace, which has the same members: of it alone the bundler leaves out what the text does
 * not use. The lines stay. Text within backticks is left alone.
 */
export const withNamespace = (text: string): string =>
  text.replaceAll(
    IMPORT,
    (whole, indent: string, list: string | undefined, _quote, from: string, offset: number) => {
      const names = (list ?? "z")
        .replaceAll(/\/\/.*|\/\*[^]*?\*\//g, "")
        .split(",")
        .map((name) => name.trim());
      if (!names.includes("z") || isInTemplate(text, offset)) return whole;
      const rest = names.filter((name) => name !== "z" && name !== "");
      const also = rest.length === 0 ? "" : `; import { ${rest.join(", ")} } from "${from}"`;
      const lines = "\n".repeat(whole.split("\n").length - 1);
      return `${indent}import * as z from "${from}"${also}${lines}`;
    },
  );

/** True if an odd number of backticks stands before an offset. */
const isInTemplate = (text: string, offset: number): boolean =>
  (text.slice(0, offset).match(/(?<!\\)`/g)?.length ?? 0) % 2 === 1;

const LOADERS = { ts: "ts", tsx: "tsx", js: "js", jsx: "jsx" } as const;

export const smallZod: Plugin = {
  name: "small zod",
  setup(on) {
    let usesLocales = false;
    on.onStart(() => void (usesLocales = false));
    // The messages of zod 4 in fifty languages are half of it.
    on.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path }) =>
      usesLocales
        ? undefined
        : { contents: 'export { default as en } from "./en.js";', resolveDir: dirname(path) },
    );
    on.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, async ({ path }) => {
      if (packageOf(path) !== undefined) return undefined;
      const text = await readFile(path, "utf8");
      usesLocales ||= /\blocales\b/.test(text);
      const contents = withNamespace(text);
      if (contents === text) return undefined;
      const [, extension] = /\.[cm]?([jt]sx?)$/.exec(path)!;
      return {
        contents,
        loader: LOADERS[extension as keyof typeof LOADERS],
        resolveDir: dirname(path),
      };
    });
  },
};

/** Large exports of zod 4 that few servlets use. */
const UNSHARED = new Set([
  "z",
  "default",
  "core",
  "util",
  "locales",
  "regexes",
  "fromJSONSchema",
  "compile",
  "withParser",
]);

/** Import paths of zod 4 whose exports are shared. */
const SHARED_MODULES = /^zod(\/v4)?$/;
/** The class of `zod/v4/core` that the stand-ins for SDKs use. */
const CORE_CLASS = "$ZodObject";
/** The module of the kit that has what the stand-ins for SDKs need of a servlet's zod. */
export const OF_SERVLET = "edge-servlets/zod-of-servlet";

/** The zod that a servlet shares with others: where it is, and its exports. */
export interface SharedZod {
  folder: string;
  names: readonly string[];
}

/** By folder and version. */
const sharedZods = new Map<string, Promise<SharedZod>>();

/** The zod that modules in this folder import; undefined if it is missing or older than version 4. */
export async function sharedZod(folder: string): Promise<SharedZod | undefined> {
  let found: string;
  try {
    found = createRequire(join(resolve(folder), "x.js")).resolve("zod/package.json");
  } catch {
    return undefined;
  }
  const { version } = JSON.parse(await readFile(found, "utf8")) as { version: string };
  if (Number.parseInt(version) !== 4) return undefined;
  const zod = dirname(found);
  return sharedZods.getOrInsertComputed(`${zod} ${version}`, async () => ({
    folder: zod,
    names: await exportsOf(zod),
  }));
}

async function exportsOf(folder: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [join(folder, "index.js")],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    outfile: "zod.js",
    logLevel: "silent",
  });
  return metafile.outputs["zod.js"]!.exports;
}

/** Replaces imports of zod by the interpreter's copy. Adds to `others` the paths of imports that it cannot replace. */
export const zodOfInterpreter = ({ folder, names }: SharedZod, others: Set<string>): Plugin => ({
  name: "zod of the interpreter",
  setup(on) {
    on.onResolve({ filter: /^zod(\/|$)/ }, async (asked) => {
      const { path, namespace, resolveDir, kind, pluginData } = asked;
      if (pluginData !== undefined) return undefined;
      // The stand-ins for SDKs take from its core only what is shared.
      if (namespace === OF_SERVLET && path === "zod/v4/core")
        return { path: "zod", namespace: NAMESPACE };
      const { path: file } = await on.resolve(path, { resolveDir, kind, pluginData: ASKED });
      if (packageOf(file)?.folder === folder && SHARED_MODULES.test(path))
        return { path: "zod", namespace: NAMESPACE };
      others.add(path);
      return undefined;
    });
    on.onLoad({ filter: /^/, namespace: NAMESPACE }, () => ({
      contents: [CORE_CLASS, ...names].map((name, at) => exportOf(name, at)).join("\n"),
    }));
  },
});

const ASKED = Symbol("already asked");
const NAMESPACE = "zod";

/** An export, marked pure so that the bundler omits unused ones. */
const exportOf = (name: string, at: number): string =>
  `const z${at} = /* @__PURE__ */ __kit.zod(${JSON.stringify(name)}); export { z${at} as ${name} };`;

/** What a script that was bundled with `zodOfInterpreter` uses of zod. */
export function zodUse(text: string): "none" | "shared" | "unshared" {
  const names = [...text.matchAll(/__kit\.zod\("([^"]+)"\)/g)].map(([, name]) => name!);
  if (names.length === 0) return "none";
  return names.some((name) => UNSHARED.has(name)) ? "unshared" : "shared";
}

/**
 * The patch that loads this zod into an interpreter that has the kit. Servlets with the same zod share it. `options` are those of
 * their scripts.
 */
export async function zodPatch(
  { interpreter, base }: StartedInterpreter,
  { folder, names }: SharedZod,
  options: BuildOptions,
  cache: string,
): Promise<Cached> {
  const members = names.filter((name) => !UNSHARED.has(name));
  const { outputFiles } = await build({
    ...options,
    minify: true,
    stdin: {
      contents: `import * as z from "./index.js"; import { ${CORE_CLASS} } from "./v4/core/index.js";
const members = { ${CORE_CLASS}, ${members.map((name) => `${JSON.stringify(name)}: z.${name}`).join(", ")} };
__kit.zod = (name) => members[name];`,
      resolveDir: folder,
    },
    plugins: [smallZod],
  });
  const script = { name: "", text: outputFiles![0]!.text };
  return (await snapshot(interpreter, script, cache, [base])).patch;
}
