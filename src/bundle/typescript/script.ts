/** Makes one script of a servlet in TypeScript: checked, bundled, with a table of its lines' places in the source. */
import { execFile } from "node:child_process";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { decode } from "@jridgewell/sourcemap-codec";
import { build, formatMessages, type BuildFailure, type BuildOptions, type Plugin } from "esbuild";
import { readIfThere, sha256, writeWhole } from "../cache.ts";
import { Refusal } from "../refusal.ts";

const run = promisify(execFile);
const sdk = resolve(import.meta.dirname, "../..", "sdk");
const GLOBALS = join(sdk, "globals.ts");
const GLOBAL_NAMES = Object.keys(await import("../../sdk/globals.ts"));
const GLOBALS_MODULE = "edge-servlets/globals";
const tsc = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);

/** Names the functions of the engine for scripts; engine.wat says what each does. */
const PRELUDE = (await readFile(join(import.meta.dirname, "prelude.js"), "utf8")).replace(
  /PRELUDE_LINES/,
  (_name, _at, whole: string) => String(whole.split("\n").length - 1),
);

export interface Script {
  text: string;
  /** Every file that went into it. */
  inputs: string[];
}

/**
 * Bundles a servlet's script. Plain JavaScript packages may be used; what needs Node or a browser may not.
 *
 * Throws a `Refusal` with the file, the line and what is wrong there.
 */
export async function bundleScript(entry: string): Promise<Script> {
  try {
    const built = await build({
      ...OPTIONS,
      stdin: startOf(entry),
      inject: [GLOBALS],
      plugins: [ownPackage, globalsPlugin(await globalsOf(entry))],
      format: "iife",
    });
    const text = built.outputFiles.find(({ path }) => path.endsWith(".js"))!.text;
    const map = built.outputFiles.find(({ path }) => path.endsWith(".map"))!.text;
    const lines = lineTable(JSON.parse(map) as SourceMap);
    return {
      text: `${PRELUDE.replace("__SOURCES__", () => JSON.stringify(lines))}${text}`,
      inputs: Object.keys(built.metafile.inputs).filter(
        (path) => !path.endsWith(START) && !path.startsWith(`${GLOBALS_MODULE}:`),
      ),
    };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    const messages = await formatMessages(error.errors, { kind: "error", color: false });
    throw new Refusal(`${entry}: it could not be bundled:\n${messages.join("").trim()}`);
  }
}

const OPTIONS = {
  bundle: true,
  write: false,
  outfile: "servlet.js",
  target: "es2023",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["worker", "browser"],
  minifySyntax: true,
  sourcemap: "external",
  metafile: true,
  legalComments: "none",
  logLevel: "silent",
} satisfies BuildOptions;

const START = "<start>";

const startOf = (entry: string) => ({
  contents: `import "${GLOBALS_MODULE}";
import servlet from ${JSON.stringify(resolve(entry))};
if (globalThis.__servlet === undefined || servlet === undefined) {
  throw new Error("it has no servlet: export default defineServlet({ … })");
}
__host.output(JSON.stringify(__servlet.exports));`,
  resolveDir: dirname(resolve(entry)),
  sourcefile: START,
});

/**
 * The kit's globals that a servlet or its packages may look for on `globalThis`: those that they mention, if
 * they mention it, too. All of them would double what a small servlet adds to the engine; those that are
 * called by their names alone are injected.
 */
async function globalsOf(entry: string): Promise<string[]> {
  const { outputFiles } = await build({
    ...OPTIONS,
    entryPoints: [entry],
    external: ["edge-servlets/*"],
    format: "esm",
    sourcemap: false,
  });
  const words = new Set(outputFiles[0]!.text.match(/[\w$]+/g));
  const looks = ["globalThis", "self", "window", "global"].some((name) => words.has(name));
  return looks ? GLOBAL_NAMES.filter((name) => words.has(name)) : [];
}

/** Makes these globals of the kit properties of `globalThis`. */
const globalsPlugin = (names: readonly string[]): Plugin => ({
  name: GLOBALS_MODULE,
  setup(on) {
    const filter = new RegExp(`^${GLOBALS_MODULE}$`);
    on.onResolve({ filter }, ({ path }) => ({ path, namespace: GLOBALS_MODULE }));
    on.onLoad({ filter, namespace: GLOBALS_MODULE }, () => ({
      contents: names
        .map(
          (name) => `import { ${name} } from ${JSON.stringify(GLOBALS)};
Object.defineProperty(globalThis, "${name}", { value: ${name}, writable: true, configurable: true });`,
        )
        .join("\n"),
      resolveDir: sdk,
    }));
  },
});

const isBuildFailure = (error: unknown): error is BuildFailure =>
  error instanceof Error && "errors" in error;

/** `edge-servlets/servlet` is this project's kit, wherever the servlet lies. */
const ownPackage: Plugin = {
  name: "edge-servlets",
  setup(on) {
    on.onResolve({ filter: /^edge-servlets\/(servlet|files)$/ }, ({ path }) => ({
      path: join(sdk, `${basename(path)}.ts`),
    }));
    // Its schemas cannot tell their JSON Schema by themselves; the kit's version of it can.
    on.onResolve({ filter: /^zod\/mini$/ }, () => ({ path: join(sdk, "zod-mini.ts") }));
  },
};

interface SourceMap {
  sources: string[];
  mappings: string;
}

/**
 * Where each line of a bundle comes from, for the prelude to read: the sources, and for each line the
 * number of its source and its line there, as the difference to those of the line before. `n` alone
 * stands for n lines that each follow the one before.
 */
function lineTable({ sources, mappings }: SourceMap): { files: string[]; lines: string } {
  let before = { source: 0, line: 0 };
  let following = 0;
  const steps: string[] = [];
  const flush = () => {
    if (following > 0) steps.push(String(following));
    following = 0;
  };
  for (const segments of decode(mappings)) {
    const [, source, line] = segments.find(({ length }) => length > 1) ?? [];
    const here = source === undefined || line === undefined ? before : { source, line };
    if (here.source === before.source && here.line === before.line + 1) following++;
    else {
      flush();
      steps.push(`${here.source - before.source},${here.line - before.line}`);
    }
    before = here;
  }
  flush();
  return { files: sources.map((file) => relative(".", resolve(file))), lines: steps.join(";") };
}

/**
 * Checks the types of servlets, all in one go. What has been checked before is not checked again.
 *
 * Throws a `Refusal` with the compiler's messages.
 */
export async function checkTypes(
  entries: readonly { entry: string; inputs: readonly string[] }[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  const contents = await Promise.all(
    entries
      .flatMap(({ inputs }) => inputs)
      .map(async (path) => [path, await readIfThere(path)] as const),
  );
  const digest = sha256(...contents.flatMap(([path, bytes]) => [path, bytes ?? ""]));
  const note = join(cache, `${digest.slice(0, 32)}.types`);
  if (entries.length === 0 || (await readIfThere(note)) !== undefined) return;
  progress(`checking the types of ${entries.map(({ entry }) => entry).join(", ")}`);
  await mkdir(cache, { recursive: true });
  // A name of its own: another check may be under way.
  const config = join(cache, `tsconfig.${digest.slice(0, 32)}.json`);
  await writeFile(config, JSON.stringify(typesConfig(entries.map(({ entry }) => entry))));
  try {
    await run(process.execPath, [tsc, "-p", config, "--pretty", "false"]);
  } catch (error) {
    const output =
      error instanceof Error && "stdout" in error ? String(error.stdout) : String(error);
    throw new Refusal(`The servlet's types are not right. Correct these errors:\n${output.trim()}`);
  }
  await writeWhole(note, "");
}

function typesConfig(entries: string[]): object {
  const root = resolve(import.meta.dirname, "../../..");
  return {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      module: "preserve",
      moduleResolution: "bundler",
      moduleDetection: "force",
      lib: ["esnext"],
      types: [],
      // This project's own rules; authors of servlets need not follow them.
      noPropertyAccessFromIndexSignature: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      paths: {
        "edge-servlets/servlet": [join(sdk, "servlet.ts")],
        "edge-servlets/files": [join(sdk, "files.ts")],
      },
    },
    files: [join(sdk, "ambient.d.ts"), ...entries.map((entry) => resolve(entry))],
  };
}
