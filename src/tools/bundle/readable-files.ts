/**
 * Decides which files a servlet may include. A servlet may come from a stranger, and its files are served to callers,
 * so its links and imports must not reach private files on the machine that bundles it.
 */
import { access, readdir, readFile, realpath } from "node:fs/promises";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import type { Plugin } from "esbuild";
import { OWN_FOLDER } from "./own.ts";
import { Refusal } from "./refusal.ts";

/** Extensions of code files. Every other file is data. The extension is that of the real path, not of a link. */
const CODE = new Set(
  ".c .css .cjs .cts .h .js .jsx .mjs .mts .py .ts .tsx .wasm .wat .whl".split(" "),
);

/** True if the path is the folder or lies below it. Both are real paths. */
const isBelow = (path: string, folder: string) => `${path}${sep}`.startsWith(`${folder}${sep}`);

/**
 * The real path of a file that the servlet in this folder may include; undefined if there is no such file. Throws a
 * `Refusal` for a file that the servlet may not include. With `asData`, a code file counts as data.
 */
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
  const subject =
    real === resolve(path) ? shown : `${shown} is a link to ${relative(".", real)}, which`;
  if (root === undefined) {
    throw new Refusal(
      isCode
        ? `${subject} is outside of the servlet's project: copy the file into the project, or install it as a package`
        : `${subject} is outside of the servlet's folder: only code may be elsewhere, so copy the file into the folder`,
    );
  }
  // Package managers use folders such as node_modules/.pnpm.
  const inside = relative(root, real).replace(/^.*[\\/]node_modules[\\/]|^node_modules[\\/]/, "");
  if (inside.split(sep).some((part) => part.startsWith(".")))
    throw new Refusal(
      `${subject} is hidden (a name in its path begins with a dot), and servlets do not include hidden files: rename it`,
    );
  return real;
}

/** The text of a file, as `readablePath`; undefined if there is no such file. Throws a `Refusal`. */
export async function readableText(
  servlet: string,
  path: string,
  use: { asData?: boolean } = {},
): Promise<string | undefined> {
  const real = await readablePath(servlet, path, use);
  return real && readFile(real, "utf8").catch(() => undefined);
}

/** The project (for code only) or package that permits a file outside the servlet's folder; undefined without one. */
async function rootOf(real: string, folder: string, isCode: boolean): Promise<string | undefined> {
  const project = await projectOf(folder);
  if (isCode && isBelow(real, project)) return project;
  const [installed] = /^.*[\\/]node_modules[\\/]/.exec(real) ?? [];
  const owners = [...ancestorsOf(folder), OWN_FOLDER];
  if (installed !== undefined) {
    for (const owner of owners) {
      const packages = join(owner, "node_modules");
      // The servlet's own links are not trusted.
      const store = owner === folder ? packages : await realpath(packages).catch(() => packages);
      if (installed.startsWith(join(store, sep))) return installed;
    }
  }
  // The kit's own sources.
  if (isCode && isBelow(real, join(OWN_FOLDER, "src"))) return OWN_FOLDER;
  for (const owner of owners) {
    const linked = owner === folder ? [] : await linkedPackages(join(owner, "node_modules"));
    const found = linked.find((one) => isBelow(real, one));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The servlet's project: the working directory if it contains the servlet, or the nearest folder with package.json. */
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

/** The folder and all its ancestors, the nearest first. */
function ancestorsOf(folder: string): string[] {
  const above = dirname(folder);
  return [folder, ...(above === folder ? [] : ancestorsOf(above))];
}

/** The real folders of linked packages in a `node_modules` folder, as created by workspaces and `npm link`. */
async function linkedPackages(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) found.push(await realpath(path).catch(() => path));
    else if (entry.name.startsWith("@")) found.push(...(await linkedPackages(path)));
  }
  return found;
}

/** An esbuild plugin that rejects files that the servlet in this folder may not include. */
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
