/** Makes a project: what is the user's own of a server, and no more. Needs no package. */
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { VERSION } from "../../version.ts";
import { OWN_FOLDER } from "../own.ts";
import { Refusal } from "../refusal.ts";

const TEMPLATE = join(OWN_FOLDER, "template");
/** Names of Workers: https://developers.cloudflare.com/workers/wrangler/configuration/#inheritable-keys */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Files that may be in the folder already: what a new repository has. */
const HARMLESS = new Set([".git", ".gitignore", "LICENSE", "README.md", ".DS_Store"]);

/**
 * Makes a project in this folder, which is new or empty; gives what to tell.
 *
 * Throws a `Refusal` for a folder that has something, or whose name cannot be a Worker's.
 */
export async function init(args: string[], template = TEMPLATE): Promise<string> {
  const [given, ...others] = args;
  if (given === undefined || others.length > 0 || given.startsWith("-")) {
    throw new Refusal("Give the folder of the new project, and nothing more: init my-server");
  }
  const folder = resolve(given);
  const name = basename(folder).toLowerCase();
  if (!NAME.test(name)) {
    throw new Refusal(
      `"${name}" cannot be the name of a server: take letters a-z, digits and -, at most 63`,
    );
  }
  const inTheWay = (await filesIn(folder)).find((file) => !HARMLESS.has(file));
  if (inTheWay !== undefined) {
    throw new Refusal(`${given} is not empty: it has ${inTheWay}. Name a new folder`);
  }
  for (const file of await readdir(template, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const from = join(file.parentPath, file.name);
    // npm leaves out and renames some files whose names begin with a dot.
    const to = join(folder, relative(template, from)).replace(/(^|[/\\])_(?=[^/\\]+$)/, "$1.");
    const text = (await readFile(from, "utf8"))
      .replaceAll("{{name}}", name)
      .replaceAll("{{version}}", VERSION);
    await mkdir(dirname(to), { recursive: true });
    // What a repository began with stays.
    await writeFile(to, text, { flag: "wx" }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      if (basename(to) === ".gitignore") await addLines(to, text);
    });
  }
  return `${given} is made.

  cd ${given}
  npm install
  npm run dev      serves it at http://localhost:8787/mcp
  npm test         runs the test of its servlet`;
}

/** Adds the lines of a text that a file lacks: of a .gitignore, those with secrets must be there. */
async function addLines(path: string, text: string): Promise<void> {
  const own = await readFile(path, "utf8");
  const has = new Set(own.split(/\r?\n/));
  const lacking = text.split("\n").filter((line) => line !== "" && !has.has(line));
  const begin = own === "" || own.endsWith("\n") ? "" : "\n";
  if (lacking.length > 0) await appendFile(path, `${begin}${lacking.join("\n")}\n`);
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    throw new Refusal(`${folder} cannot be used: ${code === "ENOTDIR" ? "it is a file" : code}`);
  }
}
