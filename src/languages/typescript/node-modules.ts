/** Modules of Node that a servlet may import, each with what stands in for it. */
import { readdir, readFile, stat } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Plugin } from "esbuild";
import { absentModule, type AbsentExports } from "./absent.ts";
import { readablePath } from "../../tools/bundle/readable-files.ts";
import { instead } from "./messages.ts";
import { packageOf, type Packages } from "./packages.ts";
import { standIn } from "./stand-in.ts";

/** Those that unenv has in plain JavaScript. */
const UNENV = new Set(
  "assert assert/strict async_hooks buffer diagnostics_channel events os path path/posix perf_hooks punycode querystring string_decoder timers/promises tty url util/types".split(
    " ",
  ),
);

/** Those that the kit has itself. */
const OWN: Readonly<Record<string, string>> = {
  crypto: "crypto",
  fs: "fs",
  "fs/promises": "fs-promises",
  http: "node-http",
  https: "node-http",
  module: "module",
  process: "process",
  timers: "node-timers",
  util: "util",
  zlib: "zlib",
};

const unenv = dirname(createRequire(import.meta.url).resolve("unenv/package.json"));

/** The file of a module of Node that servlets have; undefined for others. */
export function nodeFile(name: string): string | undefined {
  const own = OWN[name];
  if (own !== undefined) return standIn(own);
  return UNENV.has(name) ? join(unenv, "dist/runtime/node", `${name}.mjs`) : undefined;
}

const ABSENT = "absent module of Node";
/** Packages may import what they do not use: it throws where it is used. */
const ABSENT_IN_PACKAGE = "absent module of Node in a package";
/** A module of Node with exports that its stand-in lacks. */
const EXTENDED = "module of Node with absent exports";

/**
 * Resolves the modules of Node for the author's files, and for packages that have no build for browsers. What servlets lack
 * is an error where it is imported at the top; where a branch imports it, it throws there.
 */
export const nodeModules = (packages: Packages, lacks: AbsentExports): Plugin => ({
  name: "node modules",
  setup(on) {
    on.onResolve({ filter: /^[a-z]/ }, ({ path, importer, kind }) => {
      if (!isBuiltin(path) || path.startsWith("node:test")) return undefined;
      const name = path.replace(/^node:/, "");
      const owner = packageOf(importer);
      const isOurs = owner === undefined || owner.folder === unenv;
      if (!isOurs && !packages.hasNode(owner.folder)) return undefined;
      const file = nodeFile(name);
      if (file !== undefined && lacks.has(file)) return { path: file, namespace: EXTENDED };
      if (file !== undefined) return { path: file, sideEffects: false };
      if (!isOurs) return { path: name, namespace: ABSENT_IN_PACKAGE };
      return kind === "dynamic-import" || kind === "require-call"
        ? { path: name, namespace: ABSENT }
        : undefined;
    });
    on.onLoad({ filter: /^/, namespace: ABSENT_IN_PACKAGE }, ({ path }) =>
      absentModule(`"${path}" of Node`, instead(path)),
    );
    on.onLoad({ filter: /^/, namespace: EXTENDED }, ({ path }) => ({
      contents: `export * from ${JSON.stringify(path)};
export { default } from ${JSON.stringify(path)};
${lacks.exportsOf(path, "a module of Node")}`,
      resolveDir: dirname(path),
    }));
    on.onLoad({ filter: /^/, namespace: ABSENT }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`"${path}" is a module of Node. ${instead(path)}`)});`,
    }));
  },
});

/** The most bytes of a package's files that are part of its script. */
const FILES_BYTES = 1 << 20;

/**
 * The files of the package that texts name, in base64, by their path below the folder: a folder that is named is there with all
 * that is in it. Code is not, nor is what is hidden.
 */
export async function namedFiles(
  folder: string,
  texts: ReadonlyMap<string, string>,
): Promise<Record<string, string>> {
  const found = new Set<string>();
  for (const [file, text] of texts) {
    for (const [, , literal] of text.matchAll(/(["'`])((?:(?!\1)[^\\\n$])+)\1/g)) {
      if (!/^[\w@.][\w@./ -]*$/.test(literal!) || !/\w/.test(literal!)) continue;
      for (const from of [dirname(file), folder]) {
        const path = resolve(
          from,
          literal!.replace(/^(\.\.?\/)+/, (up) => (from === folder ? "" : up)),
        );
        if (!path.startsWith(join(resolve(folder), sep))) continue;
        for (const one of await filesAt(path)) found.add(one);
      }
    }
  }
  const files: Record<string, string> = {};
  let bytes = 0;
  for (const path of [...found].toSorted()) {
    if (!(await isReadable(folder, path))) continue;
    const { size } = await stat(path);
    if (bytes + size > FILES_BYTES) continue;
    bytes += size;
    files[relative(resolve(folder), path).replaceAll("\\", "/")] = await readFile(path, "base64");
  }
  return files;
}

const isReadable = (folder: string, path: string): Promise<boolean> =>
  readablePath(folder, path, { asData: true }).then(
    (real) => real !== undefined,
    () => false,
  );

const CODE = /\.[cm]?[jt]sx?$/;

async function filesAt(path: string): Promise<string[]> {
  const state = await stat(path).catch(() => undefined);
  if (state?.isFile() === true) return CODE.test(path) ? [] : [path];
  if (state?.isDirectory() !== true || /[\\/]node_modules([\\/]|$)/.test(path)) return [];
  const names = await readdir(path, { recursive: true, withFileTypes: true });
  return names
    .filter(
      (one) => one.isFile() && !CODE.test(one.name) && !one.parentPath.includes("node_modules"),
    )
    .map((one) => join(one.parentPath, one.name));
}
