/**
 * Which files a servlet may be made of. Its folder may be anybody's, and what it takes is served to callers: so links and imports
 * give it no file of who bundles it that is not meant to be code.
 */
import { access, readdir, readFile, realpath } from "node:fs/promises";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import type { Plugin } from "esbuild";
import { OWN_FOLDER } from "./own.ts";
import { Refusal } from "./refusal.ts";

/** The endings of files of code, by the real names of these. Any other file is data. */
const CODE = new Set(
  ".c .css .cjs .cts .h .js .jsx .mjs .mts .py .ts .tsx .wasm .wat .whl".split(" "),
);

/** True if a path is that of the folder or lies below it. Both are real paths. */
const isBelow = (path: string, folder: string) => `${path}${sep}`.startsWith(`${folder}${sep}`);

/** The real path of a file that the servlet in this folder may take; undefined if there is no such file. */
export async function readablePath(
  servlet: string,
  path: string,
  { asData = false } = {},
): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return undefined;
  const folder = await realpath(servlet);
  const isCode = !asData && CODE.has(extname(real));
  const root = isBelow(real, folder) ? folder : await rootOf(real, folder, isCode);
  const shown = relative(".", path);
  const what = real === resolve(path) ? shown : `${shown} is a link to ${relative(".", real)}: it`;
  if (root === undefined) {
    throw new Refusal(
      isCode
        ? `${what} is outside of the servlet's project: copy it there, or install it as a package`
        : `${what} is outside of the servlet's folder, which has all its files but code: copy it there`,
    );
  }
  // Stores of packages have folders with a dot.
  const inside = relative(root, real).replace(/^.*[\\/]node_modules[\\/]|^node_modules[\\/]/, "");
  if (inside.split(sep).some((part) => part.startsWith(".")))
    throw new Refusal(
      `${what} is a file or in a folder whose name begins with a dot, which no servlet takes: rename it`,
    );
  return real;
}

/** The text of a file that the servlet in this folder may take; undefined if there is no such file. Throws a `Refusal`. */
export async function readableText(
  servlet: string,
  path: string,
  use: { asData?: boolean } = {},
): Promise<string | undefined> {
  const real = await readablePath(servlet, path, use);
  return real && readFile(real, "utf8").catch(() => undefined);
}

/** The folder that lets a servlet take a file beyond its own folder: its project, for code, or a package. */
async function rootOf(real: string, folder: string, isCode: boolean): Promise<string | undefined> {
  const project = await projectOf(folder);
  if (isCode && isBelow(real, project)) return project;
  const [installed] = /^.*[\\/]node_modules[\\/]/.exec(real) ?? [];
  const owners = [...ancestorsOf(folder), OWN_FOLDER];
  if (installed !== undefined) {
    for (const owner of owners) {
      const packages = join(owner, "node_modules");
      // Links that the servlet itself brings prove nothing.
      const store = owner === folder ? packages : await realpath(packages).catch(() => packages);
      if (installed.startsWith(join(store, sep))) return installed;
    }
  }
  // What comes with the kit.
  if (isCode && isBelow(real, join(OWN_FOLDER, "src"))) return OWN_FOLDER;
  for (const owner of owners) {
    const linked = owner === folder ? [] : await linkedPackages(join(owner, "node_modules"));
    const found = linked.find((one) => isBelow(real, one));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The folder with the code of whoever bundles: where the command runs if the servlet is there, else the nearest package. */
async function projectOf(folder: string): Promise<string> {
  const here = await realpath(".");
  if (isBelow(folder, here)) return here;
  for (const one of ancestorsOf(folder)) {
    const isPackage = await access(join(one, "package.json")).then(
      () => true,
      () => false,
    );
    if (isPackage && one !== folder) return one;
  }
  return folder;
}

/** A folder, the one that it is in, and so on. */
function ancestorsOf(folder: string): string[] {
  const above = dirname(folder);
  return [folder, ...(above === folder ? [] : ancestorsOf(above))];
}

/** The real folders of packages that are links in a folder `node_modules`, as workspaces and `npm link` have them. */
async function linkedPackages(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) found.push(await realpath(path).catch(() => path));
    else if (entry.name.startsWith("@")) found.push(...(await linkedPackages(path)));
  }
  return found;
}

/** Has esbuild read those files only that the servlet in this folder may take. */
export const readableFiles = (servlet: string): Plugin => ({
  name: "readable files",
  setup(on) {
    on.onLoad({ filter: /^/, namespace: "file" }, async ({ path, with: attributes }) => {
      try {
        await readablePath(servlet, path, { asData: attributes["type"] !== undefined });
        return undefined;
      } catch (error) {
        if (error instanceof Refusal) return { errors: [{ text: error.message }] };
        throw error;
      }
    });
  },
});
