/** Makes a new servlet from a template: one tool that works, its manifest, and a test. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Choice } from "../../languages/openapi/operations.ts";
import { VERSION } from "../../server/kernel/core/version.ts";
import { DOCS, isInstalled, OWN_FOLDER } from "../bundle/own.ts";
import { PACKAGE, pathOfPython } from "../../languages/python/engine.ts";
import { Refusal } from "../bundle/refusal.ts";
import { refuseName, refuseTaken } from "../bundle/servlet-name.ts";
import { commandIn, TOOLCHAINS, type Toolchain } from "../bundle/toolchains.ts";

const SCHEMA = join(import.meta.dirname, "../bundle/servlet.schema.json");

/** A language that servlets can be made in. */
interface Template {
  /** Folders to copy, and where to in the servlet's folder. Files of a later folder replace those of an earlier one. */
  folders: readonly [from: string, to: string][];
  /** The file with the tool. */
  main: string;
  /** The file with its view. */
  view?: string;
  /** How it is built; absent where the bundle step does it. */
  toolchain?: Toolchain;
}

const greeting = (name: string): [string, string][] => [
  ["templates/any", "."],
  [`templates/${name}`, "."],
];

const TEMPLATES: Readonly<Record<string, Template>> = {
  ts: { folders: [["templates/ts", "."]], main: "servlet.ts" },
  python: { folders: [["templates/python", "."]], main: "servlet.py" },
  rust: { folders: greeting("rust"), main: "src/lib.rs", toolchain: TOOLCHAINS.rust },
  go: { folders: greeting("go"), main: "main.go", toolchain: TOOLCHAINS.go },
  c: { folders: greeting("c"), main: "servlet.c" },
  zig: { folders: greeting("zig"), main: "servlet.zig", toolchain: TOOLCHAINS.zig },
  as: {
    folders: [...greeting("as"), ["plugins/lib/assembly", "assembly/lib"]],
    main: "assembly/index.ts",
  },
};

/** A servlet in TypeScript with a view. */
const WITH_VIEW: Template = {
  folders: [["templates/view", "."]],
  main: "servlet.ts",
  view: "words.tsx",
};

/** The languages that `--lang` accepts, for messages. */
export const LANGUAGES = Object.keys(TEMPLATES).join("|");

/** The prefix of tool names in templates. The servlet's name replaces it, so that tools of different servlets differ. */
const PREFIX = "my_servlet";

interface NewOptions extends Choice {
  lang?: string | undefined;
  view?: boolean | undefined;
  /** The file or the URL of an OpenAPI description, of which the tools are made. */
  openapi?: string | undefined;
}

/**
 * Makes the servlet in the first of these folders; returns the text to print.
 *
 * Throws a `Refusal` for a name that is not valid or is taken, for a language without a template, and for a description
 * of which no servlet can be made. Then nothing is written.
 */
export async function newServlet(
  name: string,
  folders: readonly [string, ...string[]],
  { lang: language = "ts", view = false, openapi, ...choice }: NewOptions = {},
): Promise<string> {
  refuseName(name, /^[a-z][a-z0-9-]*$/, "lower-case letters a-z, digits and -");
  const folder = join(folders[0], name);
  if (view && language !== "ts") {
    throw new Refusal(
      `--view makes a servlet in TypeScript. In other languages, write an HTML document beside the servlet and name it in servlet.json: ${DOCS}/views.md`,
    );
  }
  const known = Object.hasOwn(TEMPLATES, language) ? TEMPLATES[language] : undefined;
  const template = view ? WITH_VIEW : known;
  if (template === undefined) {
    throw new Refusal(`There is no template for the language "${language}": take ${LANGUAGES}`);
  }
  if (openapi !== undefined && (view || language !== "ts")) {
    throw new Refusal(
      "--openapi makes a servlet in TypeScript, without a view: leave out --lang and --view",
    );
  }
  if (openapi === undefined && (choice.only !== undefined || choice.tag !== undefined)) {
    throw new Refusal(
      "--only and --tag choose operations of a description: give --openapi FILE or URL too",
    );
  }
  refuseTaken(name, folders);
  if (openapi === undefined) {
    await writeWhole(folder, await filesOf(template, name));
    return instructions(folder, template, language === "python" ? await preparePython() : []);
  }
  // Formatter and validator take a moment to load.
  const { servletOf } = await import("../../languages/openapi/servlet.ts");
  const { files, notes } = await servletOf(name, openapi, choice);
  await writeWhole(folder, files);
  return [await instructions(folder, { ...template, main: "servlet.ts" }), "", ...notes].join("\n");
}

/** Writes the files of a servlet's folder, which appears whole or not at all. */
async function writeWhole(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const unfinished = join(dirname(folder), `.${basename(folder)}.${process.pid}`);
  try {
    for (const [name, text] of files) {
      const path = join(unfinished, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, name === "servlet.json" ? withSchema(text, folder) : text);
    }
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** The files of the new servlet, by their paths in its folder. */
async function filesOf({ folders }: Template, name: string) {
  const files = new Map<string, string>();
  // Names have no underscores, so two names cannot become the same prefix.
  const prefix = name.replaceAll("-", "_");
  for (const [from, to] of folders) {
    const inside = join(OWN_FOLDER, from);
    const entries = await readdir(inside, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const own = relative(inside, join(entry.parentPath, entry.name));
      const text = (await readFile(join(inside, own), "utf8")).replaceAll(PREFIX, prefix);
      // npm leaves .gitignore files out of packages.
      files.set(join(to, own === "gitignore" ? ".gitignore" : own), text);
    }
  }
  return files;
}

/** A manifest with the way from its folder to the schema of manifests. */
function withSchema(manifest: string, folder: string): string {
  const schema = relative(folder, SCHEMA).replaceAll("\\", "/");
  return manifest.replace(/"\$schema": "[^"]*"/, () => `"$schema": ${JSON.stringify(schema)}`);
}

/**
 * Writes a `pyrightconfig.json` with the path of the kit, so that editors find it, unless one or a `pyproject.toml` exists.
 * Returns the commands that the user has to run before the bundle step.
 */
async function preparePython(): Promise<string[]> {
  if (isInstalled && !existsSync("pyproject.toml") && !existsSync("pyrightconfig.json")) {
    const config = { extraPaths: [`node_modules/${PACKAGE}`], pythonVersion: "3.14" };
    await writeFile("pyrightconfig.json", `${JSON.stringify(config, null, 2)}\n`);
  }
  if (pathOfPython() !== undefined) return [];
  return [`npm install -D ${PACKAGE}@${VERSION}    (in the registry since that release)`];
}

async function instructions(
  folder: string,
  { main, view, toolchain }: Template,
  first: readonly string[] = [],
): Promise<string> {
  const [build] = toolchain?.builds ?? [];
  const needs = (toolchain?.needs ?? []).map(async ({ name, get, isThere }) =>
    (await isThere()) ? `  ${name}: it is there` : `  ${name}: not found here; ${get}`,
  );
  const again = build === undefined ? "whenever you save" : "whenever you have built it";
  return [
    `${folder} is made:`,
    ...rows([
      [main, "the tool: change it into your own"],
      ...(view === undefined ? [] : [[view, `its view (${DOCS}/views.md)`] as [string, string]]),
      [
        "servlet.json",
        `its manifest: the hosts that it may reach, its config (${DOCS}/manifest.md)`,
      ],
      ["servlet.test.ts", "a test of it"],
    ]),
    "",
    ...(build === undefined ? [] : ["To build it needs:", ...(await Promise.all(needs)), ""]),
    "Next:",
    ...first.map((command) => `  ${command}`),
    ...(build === undefined ? [] : [`  ${commandIn(folder, build)}`]),
    ...rows([
      ["npm run dev", `serves it at http://localhost:8787/mcp, and again ${again}`],
      ["npm test", testHint(folder)],
    ]),
  ].join("\n");
}

const rows = (pairs: readonly [string, string][]): string[] =>
  pairs.map(([left, right]) => `  ${left.padEnd(17)} ${right}`);

function testHint(folder: string): string {
  const all = `runs all tests, this one among them; this one alone: npm test -- ${folder}`;
  if (isInstalled) return all;
  const inside = relative(OWN_FOLDER, resolve(folder)).split(sep);
  if (inside[0] === "plugins") return all;
  return inside[0] === ".."
    ? `runs this project's tests; this one needs vitest and edge-servlets (${OWN_FOLDER}) where it is`
    : "runs this one as well once vitest.config.ts includes its folder";
}
