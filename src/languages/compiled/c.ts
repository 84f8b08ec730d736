/** C: `servlet.c` and the files beside it, compiled by clang. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Tree } from "@yowasp/clang";
import { buildRecipe, cachedBuild, type Built } from "../../tools/bundle/cache.ts";
import type { BuiltLanguage } from "../../tools/bundle/language.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { packageVersion } from "./compilers.ts";

export const c: BuiltLanguage = {
  name: "C",
  kind: "c",
  files: ["servlet.c"],
  template: {
    word: "c",
    folders: [
      ["templates/any", "."],
      ["templates/c", "."],
    ],
    main: "servlet.c",
  },
  async detect(folder, names) {
    if (!names.includes("servlet.c")) return [];
    // All files of the folder, so that a new file is compiled, too.
    return (await filesIn(folder, names)).map((name) => join(folder, name));
  },
  async build(files, cache, progress) {
    const compiler = await packageVersion("@yowasp/clang", "../../package.json");
    return cachedBuild(cache, buildRecipe("c", compiler, FLAGS, files), () => {
      progress("compiling C");
      return compile(files);
    });
  },
};

/** The names of regular, visible files, without folders and the broken links that some editors create. */
async function filesIn(folder: string, names: readonly string[]): Promise<string[]> {
  const states = await Promise.all(
    names.map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return names.filter((name, at) => states[at]?.isFile() && !name.startsWith("."));
}

const FLAGS = [
  "--target=wasm32-wasip1",
  "-mexec-model=reactor",
  "-Os",
  "-std=gnu23",
  "-Wall",
  "-Wl,--strip-debug",
  "-Wl,--stack-first",
  "-Wl,-z,stack-size=1048576",
];

async function compile(files: readonly string[]): Promise<Built> {
  const { clang } = (await import("@yowasp/clang")).commands;
  // Load the compiler first: during a compilation, it would write the progress of loading to the console.
  await clang(undefined, {}, { fetchProgress() {} });
  const decoder = new TextDecoder();
  let diagnostics = "";
  const tree: Tree = {};
  // The compiler has its own file system. Use the same paths there, because its messages contain them.
  const inside = (file: string) => file.replaceAll("\\", "/").replace(/^\//, "");
  for (const file of files) {
    place(tree, inside(file).split("/"), new Uint8Array(await readFile(file)));
  }
  const sources = files.filter((file) => file.endsWith(".c")).map(inside);
  try {
    const made = await clang([...FLAGS, ...sources, "-o", "servlet.wasm"], tree, {
      decodeASCII: false,
      fetchProgress() {},
      stdout() {},
      stderr: (bytes: Uint8Array | null) => {
        if (bytes !== null) diagnostics += decoder.decode(bytes, { stream: true });
      },
    });
    const output = made?.["servlet.wasm"];
    if (output instanceof Uint8Array) return { output: new Uint8Array(output), inputs: [...files] };
  } catch {
    // The diagnostics from stderr are in the `Refusal`.
  }
  throw new Refusal(`${files[0]}: clang did not compile it:\n${diagnostics.trim()}`);
}

/** Adds a file to a tree of folders. */
function place(tree: Tree, [head = "", ...rest]: string[], content: Uint8Array): void {
  if (rest.length === 0) tree[head] = content;
  else place((tree[head] ??= {}) as Tree, rest, content);
}
