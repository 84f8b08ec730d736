/** Bundles a server that was written for another SDK into the script of a servlet. */
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { readableFiles } from "../../tools/bundle/readable-files.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { AbsentExports } from "./absent.ts";
import { bundleFailure, loadFailure, START_MODULE } from "./messages.ts";
import { packageOf, Packages } from "./packages.ts";
import { built, builtWithZod, isBuildFailure, OPTIONS, ownPackage, prologueOf } from "./script.ts";
import { namedFiles, nodeModules } from "./node-modules.ts";
import { standIns } from "./sdks.ts";
import type { Sources } from "./sources.ts";
import { SERVERS, standIn } from "./stand-in.ts";
import { isXmcp, xmcpServer } from "./xmcp.ts";
import { smallZod, withNamespace, type SharedZod } from "./zod.ts";

/** A server's files, and the names that its manifest gives it. */
export interface Server {
  entry: string;
  /** The servlet's folder. */
  folder: string;
  variables: readonly string[];
  /** By the name of the variable that holds it. */
  secrets: Readonly<Record<string, { service: string; user: string }>>;
  keepsState: boolean;
  /** True if its lists are asked for at run time. */
  isDynamic: boolean;
  /** The modules of zod that it imports, which are noted here. */
  zods: Set<string>;
}

/** What running the script once, without the values of its environment, has shown. */
export interface Learnt {
  exports: readonly string[];
  /** Outputs of lists, by export. */
  lists: Readonly<Record<string, string>>;
  /** Names of the environment that module scope reads. */
  read: readonly string[];
  /** What it adds to its manifest. */
  manifest: object;
}

export interface ServerScript {
  text: string;
  /** The zod that the interpreter must have. */
  zod?: SharedZod | undefined;
  /** The author's modules, by the paths that messages name. */
  sources: Sources;
  /** The message for an exception while loading the script. */
  explain(thrown: string): string;
}

/**
 * The script of a server; the first time without `learnt`, to learn its lists and what its module scope reads: its environment is
 * `placeholders` then. Throws a `Refusal` with file and line.
 */
export async function bundleServer(
  server: Server,
  learnt?: Learnt,
  placeholders: Readonly<Record<string, string>> = {},
): Promise<ServerScript> {
  const { entry, folder, variables, secrets, isDynamic, zods } = server;
  const isLearning = learnt === undefined;
  const lists = isLearning || isDynamic ? {} : learnt.lists;
  const packages = new Packages(folder);
  const lacks = new AbsentExports();
  const texts = new Map<string, string>();
  const options: BuildOptions = {
    ...OPTIONS,
    format: "esm",
    stdin: await startOf(entry),
    loader: { ".svg": "text", ".md": "text", ".txt": "text", ".html": "text", ".css": "empty" },
    inject: [standIn("globals")],
    define: {
      ...OPTIONS.define,
      SERVLET_ENVIRONMENT: JSON.stringify({
        variables,
        secrets,
        ...(isLearning && { placeholders }),
      }),
      SERVLET_LISTS: JSON.stringify(lists),
      SERVLET_KEEPS_STATE: String(server.keepsState),
      // `globals.ts` has them for packages, `serverFiles` for the author's modules.
      "import.meta": "__meta",
      "require.main": "__main",
      SERVLET_FILES: "__files",
      SERVLET_ENTRY: JSON.stringify(placeOf(entry, folder)),
    },
    plugins: [
      readableFiles(folder),
      standIns({ folder, zods, lacks }, isLearning || isDynamic),
      ownPackage,
      nodeModules(packages, lacks),
      optionalPackages,
      serverFiles(server, texts),
      smallZod,
      packages.plugin,
    ],
  };
  for (;;) {
    try {
      const { text, places, zod } = isLearning
        ? await built(options)
        : await builtWithZod(options, folder);
      const later = learnt !== undefined && learnt.read.length > 0 ? lateOf(learnt, lists) : "";
      const files = text.includes("__files") ? await ownFiles(folder, texts) : {};
      const mode = `${isLearning && !isDynamic}${later}`;
      return {
        zod,
        sources: new Map([...texts].map(([path, source]) => [relative(".", path), source])),
        text: `${prologueOf(text, places)} ${await arriving()} __arrive.arrive(async () => { "use strict"; const __files = ${JSON.stringify(files)};\n${text}}, ${mode});`,
        explain: (thrown) => loadFailure(thrown, places),
      };
    } catch (error) {
      if (!isBuildFailure(error)) throw error;
      if (await packages.preferBrowsers(error.errors)) continue;
      if (packages.takeNode(error.errors)) continue;
      if (lacks.note(error.errors)) continue;
      throw new Refusal(await bundleFailure(entry, error.errors, packages));
    }
  }
}

/** The files of the package that its modules name, by their path as the modules see it. */
async function ownFiles(folder: string, texts: ReadonlyMap<string, string>) {
  const files = await namedFiles(folder, texts);
  return Object.fromEntries(
    Object.entries(files).map(([path, data]) => [`/servlet/${path}`, data]),
  );
}

const lateOf = ({ exports, manifest }: Learnt, lists: Learnt["lists"]): string =>
  `, ${JSON.stringify({ exports, lists, manifest })}`;

const startOf = async (entry: string) => ({
  contents: `${isXmcp(entry) ? await xmcpServer(entry) : `import * as server from ${JSON.stringify(resolve(entry))};`}
import { open } from ${JSON.stringify(standIn("start"))};
globalThis.__open = () => open(server);`,
  resolveDir: dirname(resolve(entry)),
  sourcefile: START_MODULE,
});

let arrive: Promise<string> | undefined;

/** The statements that define `__arrive`, in one line. */
function arriving(): Promise<string> {
  arrive ??= (async () => {
    const { outputFiles } = await build({
      ...OPTIONS,
      entryPoints: [standIn("arrive")],
      globalName: "__arrive",
      // Its texts stay as they are: `minifySyntax` writes line ends into them.
      minifyWhitespace: true,
      minifyIdentifiers: true,
      minifySyntax: false,
      plugins: [ownPackage],
    });
    return outputFiles[0]!.text.trim();
  })();
  return arrive;
}

/** Packages that others try to import, and that are not installed: as in Node, that fails where it is done. */
const optionalPackages: Plugin = {
  name: "optional packages",
  setup(on) {
    on.onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      const isOptional = kind === "dynamic-import" || kind === "require-call";
      if (!isOptional || pluginData !== undefined || packageOf(importer) === undefined)
        return undefined;
      const asked = { importer, kind, resolveDir, pluginData: OPTIONAL };
      const { errors } = await on.resolve(path, asked);
      return errors.length > 0 && !isBuiltin(path) ? { path, namespace: OPTIONAL } : undefined;
    });
    on.onLoad({ filter: /^/, namespace: OPTIONAL }, ({ path }) => ({
      contents: `throw Object.assign(new Error(${JSON.stringify(`The package "${path}" is not installed.`)}), { code: "ERR_MODULE_NOT_FOUND" });`,
    }));
  },
};
const OPTIONAL = "package that is not installed";

/** Where a file of the servlet is, as its modules see it. */
const placeOf = (file: string, folder: string): string =>
  join("/servlet", relative(resolve(folder), resolve(file))).replaceAll("\\", "/");

/** True if a module declares or imports a name itself. */
const declares = (text: string, name: string): boolean =>
  new RegExp(`\\b(?:(?:const|let|var)\\s+(?:\\{[^}]*)?|import\\s*\\{[^}]*)\\b${name}\\b`).test(
    text,
  );

/** Gives the author's modules their place, in the forms of ESM and of CommonJS. */
const serverFiles = ({ entry, folder }: Server, texts: Map<string, string>): Plugin => ({
  name: "server files",
  setup(on) {
    on.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      if (packageOf(path) !== undefined || dirname(path) === SERVERS) return undefined;
      const text = await readFile(path, "utf8");
      texts.set(path, text);
      if (!/\bimport\.meta\b|\b__dirname\b|\b__filename\b|\brequire\b|^#!/.test(text))
        return undefined;
      const place = placeOf(path, folder);
      const isMain = resolve(path) === resolve(entry);
      const meta = {
        url: `file://${place}`,
        filename: place,
        dirname: dirname(place),
        main: isMain,
      };
      const names = [
        /\bimport\.meta\b/.test(text) && `__meta = ${JSON.stringify(meta)}`,
        isMain &&
          /\brequire\.main\b/.test(text) &&
          !/^\s*(?:import|export)\b/m.test(text) &&
          "__main = module",
        /\b__dirname\b/.test(text) &&
          !declares(text, "__dirname") &&
          `__dirname = ${JSON.stringify(dirname(place))}`,
        /\b__filename\b/.test(text) &&
          !declares(text, "__filename") &&
          `__filename = ${JSON.stringify(place)}`,
      ].filter((one) => one !== false);
      const contents = withNamespace(text)
        .replace(/^#!/, "//")
        .replaceAll(/\bcreateRequire\(import\.meta\.url\)\(/g, "require(")
        .replace(
          /^[ \t]*(?:const|let|var)\s+require\s*=\s*createRequire\([^;\n]*\);?/m,
          // The bundler takes what is required by a constant name.
          (made) => (/\brequire\(\s*[^"'`\s]/.test(text) ? made : ""),
        );
      const extension = /\.[cm]?([jt]sx?)$/.exec(path)![1] as "ts" | "tsx" | "js" | "jsx";
      return {
        contents: names.length === 0 ? contents : `const ${names.join(", ")};${contents}`,
        loader: extension,
        resolveDir: dirname(path),
      };
    });
  },
});
