import { shared } from "./work.ts";
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export function contentHash(...parts: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(String(part.length)).update(":").update(part);
  return hash.digest("hex");
}

/** Writes a file atomically, even while other processes write it. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(unfinished, content);
  await rename(unfinished, path);
}

export async function readIfThere(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(path));
  } catch {
    return undefined;
  }
}

/** Writes a file atomically if its content changes. An unnecessary write would wake file watchers. */
export async function writeIfNew(path: string, content: string | Uint8Array): Promise<void> {
  const old = await readIfThere(path);
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (old === undefined || Buffer.compare(old, bytes) !== 0) await writeWhole(path, bytes);
}

/** Everything that a build's output depends on, apart from the contents of files. */
export const buildRecipe = (
  language: string,
  compiler: string,
  flags: readonly string[],
  files: readonly string[],
): string => JSON.stringify({ language, compiler, flags, files });

/** The output of a build, and every file that it read. */
export interface Built {
  output: Uint8Array<ArrayBuffer>;
  inputs: string[];
}

/**
 * Returns a build's output from the cache, or builds it if a file that the build read has changed. The output is not
 * cached if such a file changes during the build. `recipe` identifies everything else that the output depends on.
 */
export function cachedBuild(
  folder: string,
  recipe: string,
  build: () => Promise<Built>,
): Promise<Uint8Array<ArrayBuffer>> {
  const note = join(folder, `${contentHash(recipe).slice(0, 32)}.json`);
  return shared(note, () => builtAt(note, folder, build));
}

async function builtAt(
  note: string,
  folder: string,
  build: () => Promise<Built>,
): Promise<Uint8Array<ArrayBuffer>> {
  const known = await readIfThere(note);
  const outputAt = (digest: string) =>
    join(folder, `${contentHash(basename(note), digest).slice(0, 32)}.wasm`);
  if (known !== undefined) {
    const { inputs, digest } = JSON.parse(new TextDecoder().decode(known));
    const output = await readIfThere(outputAt(digest));
    if (output !== undefined && (await filesDigest(inputs)) === digest) return output;
  }
  const begin = await fileTime(folder);
  const { output, inputs } = await build();
  const digest = await filesDigest(inputs);
  if (await haveChanged(inputs, begin)) return output;
  await writeWhole(outputAt(digest), output);
  await writeWhole(note, JSON.stringify({ inputs, digest }));
  return output;
}

/** The current time by the clock of a folder's file system, in ns. */
export async function fileTime(folder: string): Promise<bigint> {
  const path = join(folder, `time.${process.pid}.${Math.random().toString(36).slice(2)}`);
  await mkdir(folder, { recursive: true });
  await writeFile(path, "");
  const { ctimeNs } = await stat(path, { bigint: true });
  await rm(path);
  return ctimeNs;
}

/**
 * True if one of these files has changed since a `fileTime`, or is missing. Call it after taking the digest of the
 * files, to be sure that the digest is of the contents that the compiler read.
 */
export async function haveChanged(files: readonly string[], since: bigint): Promise<boolean> {
  const isChanged = async (file: string) => {
    const state = await stat(file, { bigint: true }).catch(() => undefined);
    return state === undefined || state.ctimeNs > since;
  };
  return (await Promise.all(files.map(isChanged))).includes(true);
}

/** The digest of the contents of files; some of them may be missing. */
export async function filesDigest(files: string[]): Promise<string> {
  const contents = await Promise.all(files.map((file) => readIfThere(file)));
  return contentHash(...files.flatMap((file, at) => [file, contents[at] ?? "missing"])).slice(
    0,
    32,
  );
}
