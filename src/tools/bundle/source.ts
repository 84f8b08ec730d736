/** Builds a servlet's wasm from what lies in its folder. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join, relative, resolve } from "node:path";
import { cachedBuild, type Built } from "./cache.ts";
import { readablePath, readableText } from "./readable-files.ts";
import { Refusal } from "./refusal.ts";
import { assemble, FEATURES, version } from "./wasm/binaryen.ts";
import { pythonPlugin } from "../../languages/python/engine.ts";
import { pinnedWasm } from "./sources/pinned.ts";
import { builtIn } from "./toolchains.ts";
import { interpreterPlugin } from "../../languages/typescript/engine.ts";
import type { Tree } from "@yowasp/clang";

export interface Source {
  kind: "wasm" | "wat" | "assemblyscript" | "c" | "typescript" | "python" | "pinned";
  /** The file to start from; for C, every file of the folder; for a pinned one, the manifest. */
  files: string[];
  /** Where a pinned one is from. */
  origin?: string;
}

/** True for a servlet whose code is loaded into an interpreter that it shares with others. */
export const isInterpreted = ({ kind }: Source): boolean =>
  kind === "typescript" || kind === "python";

/** The source of a servlet in a folder; undefined if there is none. Throws a `Refusal` for files that it may not take. */
export async function sourceIn(folder: string): Promise<Source | undefined> {
  const source = await foundIn(folder);
  for (const file of source?.files ?? []) await readablePath(folder, file);
  return source;
}

async function foundIn(folder: string): Promise<Source | undefined> {
  const names = (await readdir(folder)).toSorted();
  const paths = (wanted: string[]) => wanted.map((name) => join(folder, name));
  for (const kind of ["wasm", "wat"] as const) {
    const files = paths(names.filter((name) => name.endsWith(`.${kind}`)));
    if (files.length > 0) return { kind, files: onlyOne(files, folder, kind) };
  }
  if (names.includes("assembly")) {
    const inside = await readdir(join(folder, "assembly"));
    if (inside.includes("index.ts")) {
      return { kind: "assemblyscript", files: [join(folder, "assembly", "index.ts")] };
    }
  }
  const script = names.find((name) => name === "servlet.ts" || name === "servlet.js");
  if (script !== undefined) return { kind: "typescript", files: [join(folder, script)] };
  if (names.includes("servlet.py")) return { kind: "python", files: paths(["servlet.py"]) };
  if (names.includes("servlet.c")) return { kind: "c", files: paths(await filesIn(folder, names)) };
  const built = await builtIn(folder, names);
  if (built.length > 0) return { kind: "wasm", files: onlyOne(built, folder, "wasm") };
  await refuseMisnamed(folder, names);
  return undefined;
}

function onlyOne(files: string[], folder: string, kind: string): string[] {
  if (files.length === 1) return files;
  throw new Refusal(
    `${folder}: it has more than one .${kind} (${files.join(", ")}): leave one, and give each other a folder of its own`,
  );
}

/** Recognises the source of a servlet, whatever the file's name is. */
const DEFINES = {
  script: /^export\s+default\s+defineServlet\b/m,
  python:
    /^(?:from|import)\s+(?:edge_servlets|fastmcp|mcp)\b[^]*^@(?:\w+\.)?(?:tool|resource|prompt)\b/m,
};

/** Throws a `Refusal` for a servlet in TypeScript or Python whose file has another name: nobody would read it. */
export async function refuseMisnamed(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names.filter((one) => /^(?!.*\.(d|test)\.).+\.([jt]s|py)$/.test(one))) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    if (!DEFINES[name.endsWith(".py") ? "python" : "script"].test(text)) continue;
    const right = `servlet${extname(name)}`;
    throw new Refusal(
      `${join(folder, name)}: it is a servlet, but only ${right} is read as one: rename it`,
    );
  }
}

/** The names of regular files that are not hidden, without folders and broken links, which some editors create. */
async function filesIn(folder: string, names: string[]): Promise<string[]> {
  const states = await Promise.all(
    names.map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return names.filter((name, at) => states[at]?.isFile() && !name.startsWith("."));
}

/**
 * The plugin's wasm, built where it has to be; for TypeScript and Python, the interpreter. Calls `progress` before a slow step.
 *
 * Throws a `Refusal` with the compiler's message.
 */
export async function build(
  source: Source,
  cache: string,
  progress: (doing: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const [first] = source.files as [string, ...string[]];
  switch (source.kind) {
    case "wasm":
      return new Uint8Array(await readFile(first));
    case "pinned":
      return pinnedWasm(dirname(first), source.origin!, cache, progress);
    case "wat":
      return cachedBuild(cache, recipe("wat", await version(), FEATURES, [first]), async () => ({
        output: await assemble(first),
        inputs: [first],
      }));
    case "assemblyscript": {
      // Folders that are links to one another are built once.
      const real = relative(".", await realpath(first));
      const made = recipe(
        "assemblyscript",
        await versionOf("assemblyscript/package.json"),
        ASC_FLAGS,
        [real],
      );
      return cachedBuild(cache, made, () => {
        progress("compiling AssemblyScript");
        return compileAssemblyScript(first);
      });
    }
    case "typescript":
      return interpreterPlugin(cache, progress);
    case "python":
      return pythonPlugin(cache);
    case "c": {
      // All its files: a new one beside them is compiled, too.
      const made = recipe(
        "c",
        await versionOf("@yowasp/clang", "../../package.json"),
        C_FLAGS,
        source.files,
      );
      return cachedBuild(cache, made, () => {
        progress("compiling C");
        return compileC(source.files);
      });
    }
  }
}

/** All that a build's output depends on but the contents of files. */
const recipe = (
  language: string,
  compiler: string,
  flags: readonly string[],
  files: readonly string[],
): string => JSON.stringify({ language, compiler, flags, files });

/** The version of the package at a path that `require` resolves; `manifest` is the way from there to its package.json. */
async function versionOf(path: string, manifest = "."): Promise<string> {
  const resolved = createRequire(import.meta.url).resolve(path);
  return JSON.parse(await readFile(resolve(resolved, manifest), "utf8")).version;
}

const ASC_FLAGS = ["-O3", "--runtime", "stub", "--outFile", "servlet.wasm"];

async function compileAssemblyScript(entry: string): Promise<Built> {
  const { default: asc } = await import("assemblyscript/asc");
  const folder = dirname(dirname(entry));
  const inputs = new Set<string>();
  let refused: unknown;
  let output: Uint8Array | undefined;
  let diagnostics = "";
  const { error } = await asc.main([relative(".", entry), ...ASC_FLAGS], {
    readFile: async (name, baseDir) => {
      const path = join(baseDir, name);
      const text = await readableText(folder, path).catch((reason: unknown) => {
        refused ??= reason;
      });
      if (text !== undefined) inputs.add(path);
      return text ?? null;
    },
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") output = contents;
    },
    listFiles: () => null,
    stderr: {
      write: (chunk: string | Uint8Array) => {
        diagnostics += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      },
    },
  });
  if (refused !== undefined) throw refused;
  if (error !== null || output === undefined) {
    throw new Refusal(`${entry}: AssemblyScript did not compile it:\n${diagnostics.trim()}`);
  }
  // They are read side by side: in an order of their own, so that the same sources give the same note.
  return { output: new Uint8Array(output), inputs: [...inputs].toSorted() };
}

const C_FLAGS = [
  "--target=wasm32-wasip1",
  "-mexec-model=reactor",
  "-Os",
  "-std=gnu23",
  "-Wall",
  "-Wl,--strip-debug",
  "-Wl,--stack-first",
  "-Wl,-z,stack-size=1048576",
];

async function compileC(files: string[]): Promise<Built> {
  const { clang } = (await import("@yowasp/clang")).commands;
  // The compiler itself is loaded first: only then does it not write its progress to the console.
  await clang(undefined, {}, { fetchProgress() {} });
  const decoder = new TextDecoder();
  let diagnostics = "";
  const tree: Tree = {};
  // The compiler has a file system of its own; paths in it, and so in messages, are those outside.
  const inside = (file: string) => file.replaceAll("\\", "/").replace(/^\//, "");
  for (const file of files) {
    place(tree, inside(file).split("/"), new Uint8Array(await readFile(file)));
  }
  const sources = files.filter((file) => file.endsWith(".c")).map(inside);
  try {
    const made = await clang([...C_FLAGS, ...sources, "-o", "servlet.wasm"], tree, {
      decodeASCII: false,
      fetchProgress() {},
      stdout() {},
      stderr: (bytes: Uint8Array | null) => {
        if (bytes !== null) diagnostics += decoder.decode(bytes, { stream: true });
      },
    });
    const output = made?.["servlet.wasm"];
    if (output instanceof Uint8Array) return { output: new Uint8Array(output), inputs: files };
  } catch {
    // The compiler's message is on stderr.
  }
  throw new Refusal(`${files[0]}: clang did not compile it:\n${diagnostics.trim()}`);
}

/** Puts a file into a tree of folders. */
function place(tree: Tree, [head = "", ...rest]: string[], content: Uint8Array): void {
  if (rest.length === 0) tree[head] = content;
  else place((tree[head] ??= {}) as Tree, rest, content);
}
