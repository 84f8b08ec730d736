/** Makes one script of a servlet in TypeScript: checked, bundled, with a table of its lines' places in the source. */
import { execFile } from "node:child_process";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { decode } from "@jridgewell/sourcemap-codec";
import { build, formatMessages, type BuildFailure, type BuildOptions, type Plugin } from "esbuild";
import { readIfThere, sha256, writeWhole } from "../cache.ts";
import { isInstalled, OWN_EXTENSION, OWN_FOLDER } from "../own.ts";
import { Refusal } from "../refusal.ts";
import type { Loaded } from "../wasm/snapshot.ts";

const run = promisify(execFile);
const sdk = resolve(import.meta.dirname, "../..", "sdk");
/** The extension of the types of its modules. */
const TYPES = isInstalled ? ".d.ts" : ".ts";
const tsc = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
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
      plugins: [ownPackage],
      sourcemap: "external",
      metafile: true,
    });
    const text = built.outputFiles.find(({ path }) => path.endsWith(".js"))!.text;
    const map = built.outputFiles.find(({ path }) => path.endsWith(".map"))!.text;
    const lines = lineTable(JSON.parse(map) as SourceMap);
    return {
      text: `__sources(${JSON.stringify(lines)});\n${text}`,
      inputs: Object.keys(built.metafile.inputs).filter(
        (path) => !path.endsWith(START) && !path.startsWith(`${KIT}:`),
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
  format: "iife",
  legalComments: "none",
  logLevel: "silent",
} satisfies BuildOptions;

const START = "<start>";

const startOf = (entry: string) => ({
  contents: `import servlet from ${JSON.stringify(resolve(entry))};
if (globalThis.__servlet === undefined || servlet === undefined) {
  throw new Error("it has no servlet: export default defineServlet({ … })");
}
__host.output(JSON.stringify(__servlet.exports));`,
  resolveDir: dirname(resolve(entry)),
  sourcefile: START,
});

/** The kit, which is loaded into the engine before any servlet. */
export async function kitScript(): Promise<Loaded> {
  const [prelude, { outputFiles }] = await Promise.all([
    readFile(join(import.meta.dirname, "prelude.js"), "utf8"),
    build({ ...OPTIONS, entryPoints: [join(sdk, `kit${OWN_EXTENSION}`)], minify: true }),
  ]);
  return { name: "kit.js", text: `${prelude}${outputFiles[0]!.text}` };
}

const isBuildFailure = (error: unknown): error is BuildFailure =>
  error instanceof Error && "errors" in error;

const zodMini = join(sdk, `zod-mini${OWN_EXTENSION}`);
const KIT = "kit";
/** The names that each module of the kit exports. */
const KIT_NAMES: Readonly<Record<string, string[]>> = {
  servlet: [...Object.keys(await import("../../sdk/servlet.ts")), "convertWith"].toSorted(),
  files: Object.keys(await import("../../sdk/files.ts")).toSorted(),
};

/** `edge-servlets/servlet` is the kit that the engine has, wherever the servlet lies. */
const ownPackage: Plugin = {
  name: "edge-servlets",
  setup(on) {
    on.onResolve({ filter: /^edge-servlets\/(servlet|files)$/ }, ({ path }) => ({
      path: basename(path),
      namespace: KIT,
    }));
    on.onLoad({ filter: /^/, namespace: KIT }, ({ path }) => ({
      contents: `export const { ${KIT_NAMES[path]!.join(", ")} } = __kit.${path};`,
    }));
    // Its schemas cannot tell their JSON Schema by themselves; the kit's version of it can.
    on.onResolve({ filter: /^zod\/mini$/ }, () => ({ path: zodMini }));
    on.onResolve({ filter: /^\.\/schema\.[jt]s$/ }, ({ importer }) =>
      importer === zodMini ? { path: "servlet", namespace: KIT } : undefined,
    );
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
  return {
    extends: join(OWN_FOLDER, "tsconfig.base.json"),
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
        "edge-servlets/servlet": [join(sdk, `servlet${TYPES}`)],
        "edge-servlets/files": [join(sdk, `files${TYPES}`)],
      },
    },
    files: [join(sdk, "ambient.d.ts"), ...entries.map((entry) => resolve(entry))],
  };
}
