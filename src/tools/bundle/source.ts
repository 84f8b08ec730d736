/** Finds the source of a servlet in its folder, and builds its Wasm. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { buildRecipe, cachedBuild } from "./cache.ts";
import type { BuiltLanguage, InterpretedLanguage, Language } from "./language.ts";
import { readablePath } from "./readable-files.ts";
import { Refusal } from "./refusal.ts";
import { assemble, FEATURES, version } from "./wasm/binaryen.ts";
import { pinnedWasm } from "./sources/pinned.ts";
import { builtIn } from "./toolchains.ts";

export interface Source {
  /** `wasm` for a plugin, `wat` for its text format, `pinned` for a fetched plugin, else the kind of its language. */
  kind: string;
  /** The language that builds it, if any. */
  language?: BuiltLanguage | InterpretedLanguage;
  /** The main file, and others that are built with it; the manifest of a pinned servlet. */
  files: string[];
  /** The `source` of a pinned servlet. */
  origin?: string;
}

/** True for a servlet whose code is loaded into a shared interpreter. */
export const isInterpreted = (
  source: Source,
): source is Source & { language: InterpretedLanguage } =>
  source.language !== undefined && "read" in source.language;

/**
 * The source of a servlet in a folder; undefined if there is none. Throws a `Refusal` for files that a servlet may not
 * read.
 */
export async function sourceIn(
  folder: string,
  languages: readonly Language[],
): Promise<Source | undefined> {
  const source = await foundIn(folder, languages);
  for (const file of source?.files ?? []) await readablePath(folder, file);
  return source;
}

async function foundIn(
  folder: string,
  languages: readonly Language[],
): Promise<Source | undefined> {
  const names = (await readdir(folder)).toSorted();
  for (const kind of ["wasm", "wat"]) {
    const files = names.filter((name) => name.endsWith(`.${kind}`));
    if (files.length > 0) return { kind, files: onlyOne(pathsOf(files, folder), folder, kind) };
  }
  for (const language of languages) {
    if (!("build" in language)) continue;
    const { kind } = language;
    const files = await (language.detect?.(folder, names) ?? firstOf(language, folder, names));
    if (files.length > 0) return { kind, language, files };
  }
  const built = await builtIn(folder, names, languages);
  if (built.length > 0) return { kind: "wasm", files: onlyOne(built, folder, "wasm") };
  await refuseMisnamed(folder, names, languages);
  return undefined;
}

const pathsOf = (names: readonly string[], folder: string) =>
  names.map((name) => join(folder, name));

const firstOf = ({ files }: BuiltLanguage, folder: string, names: readonly string[]) =>
  pathsOf(names.filter((name) => files.includes(name)).slice(0, 1), folder);

function onlyOne(files: string[], folder: string, kind: string): string[] {
  if (files.length === 1) return files;
  throw new Refusal(
    `${folder}: it has more than one .${kind} (${files.join(", ")}): leave one, and give each other a folder of its own`,
  );
}

/** Throws a `Refusal` for a servlet in an interpreted language whose file has the wrong name, and would be ignored. */
export async function refuseMisnamed(
  folder: string,
  names: readonly string[],
  languages: readonly Language[],
): Promise<void> {
  for (const name of names.filter((one) => !/\.(d|test)\./.test(one))) {
    const right = `servlet${extname(name)}`;
    const language = languages.find(
      (one): one is InterpretedLanguage => "defines" in one && one.files.includes(right),
    );
    if (language === undefined) continue;
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    if (!language.defines.test(text)) continue;
    throw new Refusal(
      `${join(folder, name)}: it is a servlet, but only ${right} is read as one: rename it`,
    );
  }
}

/** The plugin's wasm, built if necessary. Calls `progress` before a slow step. Throws a `Refusal` with build errors. */
export async function build(
  { kind, language, files, origin }: Source,
  cache: string,
  progress: (doing: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  if (language !== undefined) return language.build(files, cache, progress);
  const [first] = files as [string];
  if (origin !== undefined) return pinnedWasm(dirname(first), origin, cache, progress);
  if (kind === "wasm") return new Uint8Array(await readFile(first));
  return cachedBuild(cache, buildRecipe(kind, await version(), FEATURES, files), async () => ({
    output: await assemble(first),
    inputs: files,
  }));
}
