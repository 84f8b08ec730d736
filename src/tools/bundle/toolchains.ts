/** Finds plugins that authors build with their own compilers, and warns of stale plugins. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BuildCommand, Language, Toolchain } from "./language.ts";

/** A built servlet in the folder `place`. */
interface Built {
  place: string;
  source: { kind: string; files: readonly string[] };
}

/** Smaller differences of time do not count, because a checkout writes sources and plugins in any order. */
const CHECKOUT_MS = 2000;

const toolchainsOf = (languages: readonly Language[]): Toolchain[] =>
  languages.flatMap((language) => ("toolchain" in language ? language.toolchain : []));

/** The build command for the sources in a folder with these file names; undefined if there is none. */
export function buildCommandOf(
  names: readonly string[],
  languages: readonly Language[],
): BuildCommand | undefined {
  return toolchainsOf(languages)
    .flatMap(({ builds }) => builds)
    .find(({ sign }) => names.includes(sign));
}

/** The command that builds the servlet in `folder`, for the project's folder as working directory. */
export const commandIn = (folder: string, { command }: BuildCommand) =>
  `(cd ${folder} && ${command})`;

const toolchainOf = (names: readonly string[], languages: readonly Language[]) =>
  toolchainsOf(languages).find(({ builds }) => builds.some(({ sign }) => names.includes(sign)));

/** A warning if a source of this servlet is newer than the plugin that was built from it. */
export async function buildWarnings(
  { place, source }: Built,
  languages: readonly Language[],
): Promise<string[]> {
  const [plugin] = source.files;
  if (source.kind !== "wasm" || plugin === undefined || plugin === place) return [];
  const names = await readdir(place);
  const build = buildCommandOf(names, languages);
  if (build === undefined) return [];
  const inSrc = await readdir(join(place, "src"), { recursive: true }).catch(() => []);
  const files = [...names, ...inSrc.map((name) => join("src", name))];
  const { mtimeMs: builtAt } = await stat(plugin);
  const toolchain = toolchainOf(names, languages);
  for (const name of files.filter((one) => toolchain?.sources.test(one))) {
    const path = join(place, name);
    // Editors make broken links.
    const state = await stat(path).catch(() => undefined);
    if (state === undefined || state.mtimeMs < builtAt + CHECKOUT_MS) continue;
    return [`${path} is newer than ${plugin}: ${commandIn(place, build)} builds it again`];
  }
  return [];
}

/** Plugins that builds have written into subfolders of this folder. */
export async function builtIn(
  folder: string,
  names: readonly string[],
  languages: readonly Language[],
): Promise<string[]> {
  const found = (toolchainOf(names, languages)?.outputs ?? []).map(async (output) => {
    const inside = await readdir(join(folder, output)).catch(() => []);
    return inside
      .filter((name) => name.endsWith(".wasm"))
      .map((name) => join(folder, output, name));
  });
  return (await Promise.all(found)).flat();
}
