/**
 * Makes a project from a template: the files of `template/`, which all projects have, and those of `starters/NAME`. Imports
 * no npm package, because `create-edge-servlets` has none.
 */
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { VERSION } from "../../server/kernel/core/version.ts";
import { argumentsIn } from "../bundle/arguments.ts";
import { OWN_FOLDER } from "../bundle/own.ts";
import { Refusal } from "../bundle/refusal.ts";

/** Names of Workers: https://developers.cloudflare.com/workers/wrangler/configuration/#inheritable-keys */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Files that a new repository may already have. */
const HARMLESS = new Set([".git", ".gitignore", "LICENSE", "README.md", ".DS_Store"]);
const EXPECTED = "Expected one argument, the folder of the new project: my-server";

/**
 * Makes a project in a new or empty folder; returns the text to print. Throws a `Refusal` if the folder is not empty, its
 * name is not valid for a Worker, or there is no such template. `own` has the folders of the templates;
 * `environment` has the options that npm took for its own.
 */
export async function init(
  args: string[],
  own = OWN_FOLDER,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const starters = join(own, "starters");
  const known = (await readdir(starters)).toSorted();
  const options = { template: { type: "string" } } as const;
  const { values, positionals } = argumentsIn(
    { args, options, allowPositionals: true },
    `${EXPECTED} [--template NAME]\n\nTemplates: ${known.join(", ")}; without --template, plain`,
  );
  // npm reads the options before -- itself: `npm create edge-servlets my-server --template=team`.
  if (values.template === undefined && environment["npm_config_template"] !== undefined) {
    throw new Refusal(
      "npm took --template for an option of its own. Write -- before it: npm create edge-servlets my-server -- --template team",
    );
  }
  const { template = "plain" } = values;
  const [given, ...others] = positionals;
  if (given === undefined || others.length > 0) throw new Refusal(EXPECTED);
  const folder = resolve(given);
  const name = basename(folder).toLowerCase();
  if (!NAME.test(name)) {
    throw new Refusal(
      `"${name}" cannot be the name of a server. Expected 1 to 63 letters a-z, digits and -, without - at either end. Name another folder.`,
    );
  }
  if (!known.includes(template))
    throw new Refusal(`There is no template "${template}". Take one of ${known.join(", ")}.`);
  const inTheWay = (await filesIn(folder)).find((file) => !HARMLESS.has(file));
  if (inTheWay !== undefined) {
    throw new Refusal(`${given} is not empty: it has ${inTheWay}. Name a new folder.`);
  }
  const files = await filesOf([join(own, "template"), join(starters, template)]);
  for (const [path, text] of files) {
    // npm leaves out or renames some dotfiles, so their names begin with _ in the template.
    const to = join(folder, path).replace(/(^|[/\\])_(?=[^/\\]+$)/, "$1.");
    const filled = text.replaceAll("{{name}}", name).replaceAll("{{version}}", VERSION);
    await mkdir(dirname(to), { recursive: true });
    // Files that the repository already has stay as they are.
    await writeFile(to, filled, { flag: "wx" }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      if (basename(to) === ".gitignore") await addLines(to, filled);
    });
  }
  const local = `
  npm run local    starts what it needs on this machine, in another terminal`;
  return `${given} is made.

  cd ${given}
  npm install${files.has("local.js") ? local : ""}
  npm run dev      serves it at http://localhost:8787/mcp
  npm test         runs the test of its servlet`;
}

/** Files of a template that add to those of the same path. */
const JOINED: Partial<Record<string, (before: string, added: string) => string>> = {
  "package.json": merged,
  "README.md": (readme, about) => readme.replace("{{about}}\n", () => about),
};

/** The files of the folders by their paths; those of a later folder replace others of the same path, or are merged with them. */
async function filesOf(folders: readonly string[]): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const folder of folders) {
    for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const from = join(file.parentPath, file.name);
      const path = relative(folder, from);
      const text = await readFile(from, "utf8");
      const before = files.get(path);
      files.set(path, (before !== undefined && JOINED[path]?.(before, text)) || text);
    }
  }
  return files;
}

/** A manifest of npm with the members that another adds to its objects. */
function merged(manifest: string, added: string): string {
  const own = JSON.parse(manifest) as Record<string, object>;
  for (const [key, value] of Object.entries(JSON.parse(added) as Record<string, object>))
    own[key] = { ...own[key], ...value };
  return `${JSON.stringify(own, null, 2)}\n`;
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
