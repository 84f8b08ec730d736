/** Makes a project from the template. Imports no npm package, because `create-edge-servlets` has none. */
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { VERSION } from "../../server/kernel/core/version.ts";
import { OWN_FOLDER } from "../bundle/own.ts";
import { Refusal } from "../bundle/refusal.ts";

const TEMPLATE = join(OWN_FOLDER, "template");
/** Names of Workers: https://developers.cloudflare.com/workers/wrangler/configuration/#inheritable-keys */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Files that a new repository may already have. */
const HARMLESS = new Set([".git", ".gitignore", "LICENSE", "README.md", ".DS_Store"]);

/**
 * Makes a project in a new or empty folder; returns the text to print. Throws a `Refusal` if the folder is not empty,
 * or its name is not valid for a Worker.
 */
export async function init(args: string[], template = TEMPLATE): Promise<string> {
  const [given, ...others] = args;
  if (given === undefined || others.length > 0 || given.startsWith("-")) {
    throw new Refusal("Expected one argument, the folder of the new project: init my-server");
  }
  const folder = resolve(given);
  const name = basename(folder).toLowerCase();
  if (!NAME.test(name)) {
    throw new Refusal(
      `"${name}" cannot be the name of a server. Expected 1 to 63 letters a-z, digits and -, without - at either end. Name another folder.`,
    );
  }
  const inTheWay = (await filesIn(folder)).find((file) => !HARMLESS.has(file));
  if (inTheWay !== undefined) {
    throw new Refusal(`${given} is not empty: it has ${inTheWay}. Name a new folder.`);
  }
  for (const file of await readdir(template, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const from = join(file.parentPath, file.name);
    // npm leaves out or renames some dotfiles, so their names begin with _ in the template.
    const to = join(folder, relative(template, from)).replace(/(^|[/\\])_(?=[^/\\]+$)/, "$1.");
    const text = (await readFile(from, "utf8"))
      .replaceAll("{{name}}", name)
      .replaceAll("{{version}}", VERSION);
    await mkdir(dirname(to), { recursive: true });
    // Files that the repository already has stay as they are.
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

/** Adds the missing lines of a text to a file: a .gitignore must list the files with secrets. */
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
