/** Makes a new servlet from a template: one tool that works, its manifest, and a test. */
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { LANGUAGES } from "../../languages/index.ts";
import type { Choice } from "../../languages/openapi/operations.ts";
import { DOCS, isInstalled, OWN_FOLDER } from "../bundle/own.ts";
import type { Language, TemplateFiles } from "../bundle/language.ts";
import { Refusal } from "../bundle/refusal.ts";
import { refuseName, refuseTaken } from "../bundle/servlet-name.ts";
import { commandIn } from "../bundle/toolchains.ts";

const SCHEMA = join(import.meta.dirname, "../bundle/servlet.schema.json");

/** The languages that `--lang` accepts, for messages. */
export const LANGUAGE_WORDS = LANGUAGES.map(({ template }) => template.word).join("|");

const [NAME, NAME_RULE] = [/^[a-z][a-z0-9-]*$/, "lower-case letters a-z, digits and -"] as const;

/** The folder of the servlets that come with the server: the gallery. */
const GALLERY = "plugins";

/** True for the name of a servlet of the gallery. */
export const isInGallery = (name: string): boolean =>
  NAME.test(name) && existsSync(join(OWN_FOLDER, GALLERY, name, "servlet.json"));

/** The names of the servlets of the gallery. */
export const galleryNames = (): string[] =>
  readdirSync(join(OWN_FOLDER, GALLERY)).filter(isInGallery);

/** Prefix of tool names in templates. The servlet's name replaces it, so that servlets have different tool names. */
const PREFIX = "my_servlet";

interface NewOptions extends Choice {
  lang?: string | undefined;
  view?: boolean | undefined;
  /** File or URL of an OpenAPI description to make the tools from. */
  openapi?: string | undefined;
  /** URL of another MCP server, which the servlet serves. */
  mcp?: string | undefined;
  /** Sends the operator's key to that server as a bearer token. */
  bearer?: boolean | undefined;
  /** Sends that key in this header. */
  header?: string | undefined;
  /** Calls that server with the account of the caller. */
  account?: boolean | undefined;
  /** Folder or file of a server for another SDK. */
  from?: string | undefined;
  /** Prints what would be made, and makes nothing. */
  dryRun?: boolean | undefined;
}

/**
 * Makes the servlet in the first of these folders; returns the text to print. Throws a `Refusal`, and writes nothing,
 * if the name is invalid or taken, the language has no template, or the OpenAPI description is not supported.
 */
export async function newServlet(
  name: string,
  folders: readonly [string, ...string[]],
  { lang = "ts", view = false, openapi, mcp, from, dryRun = false, ...choice }: NewOptions = {},
): Promise<string> {
  refuseName(name, NAME, NAME_RULE);
  const folder = join(folders[0], name);
  if (view && lang !== "ts") {
    throw new Refusal(
      `--view makes a servlet in TypeScript. In other languages, write an HTML document beside the servlet and name it in servlet.json: ${DOCS}/views.md`,
    );
  }
  const language = LANGUAGES.find(({ template }) => template.word === lang);
  if (language === undefined) {
    throw new Refusal(`There is no template for the language "${lang}": take ${LANGUAGE_WORDS}`);
  }
  if (openapi !== undefined && (view || lang !== "ts")) {
    throw new Refusal(
      "--openapi makes a servlet in TypeScript, without a view: leave out --lang and --view",
    );
  }
  if (
    mcp !== undefined &&
    (view || lang !== "ts" || openapi !== undefined || choice.tag !== undefined)
  ) {
    throw new Refusal(
      "--mcp makes a servlet of another MCP server: leave out --lang, --view, --openapi and --tag",
    );
  }
  if (mcp === undefined && (choice.bearer || choice.account || choice.header !== undefined)) {
    throw new Refusal("--bearer, --header and --account belong to --mcp: give --mcp URL too");
  }
  if (
    openapi === undefined &&
    mcp === undefined &&
    (choice.only !== undefined || choice.tag !== undefined)
  ) {
    throw new Refusal(
      "--only and --tag choose operations of a description, --only also entries of a server: give --openapi FILE or URL, or --mcp URL, too",
    );
  }
  if (from !== undefined && (view || lang !== "ts" || openapi !== undefined || mcp !== undefined)) {
    throw new Refusal(
      "--from takes a server as it is: leave out --lang, --view, --openapi and --mcp",
    );
  }
  if (dryRun && from === undefined) throw new Refusal("--dry-run belongs to --from");
  refuseTaken(name, folders);
  if (from !== undefined) return taken(folder, from, dryRun);
  if (mcp !== undefined) {
    const { remoteServlet } = await import("../../languages/remote/servlet.ts");
    const { files, notes } = await remoteServlet(name, mcp, { ...choice, variables });
    await writeWhole(folder, files);
    return [await instructions(folder, language, { main: "servlet.ts" }), "", ...notes].join("\n");
  }
  if (openapi === undefined) {
    const { setUp, withView, ...plain } = language.template;
    const template = (view ? withView : undefined) ?? plain;
    await writeWhole(folder, await filesOf(template, name));
    return instructions(folder, language, template, await setUp?.());
  }
  // Loaded on demand, because formatter and validator take a moment to load.
  const { servletOf } = await import("../../languages/openapi/servlet.ts");
  const { files, notes } = await servletOf(name, openapi, choice);
  await writeWhole(folder, files);
  return [await instructions(folder, language, { main: "servlet.ts" }), "", ...notes].join("\n");
}

/** The npm packages that these sources import, and that package.json does not name. */
async function packagesLackingFor(sources: readonly string[]): Promise<string[]> {
  const text = await readFile("package.json", "utf8").catch(() => "{}");
  const { dependencies, devDependencies } = JSON.parse(text) as Record<string, object | undefined>;
  // The package itself, and what it brings for views.
  const known = new Set(["edge-servlets", "preact"]);
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) known.add(name);
  const imported = sources.flatMap((source) => [
    ...source.matchAll(/^(?:import|export)\b[^"]*\bfrom "((?:@[\w.-]+\/)?\w[\w.-]*)(?=["/])/gm),
  ]);
  return [...new Set(imported.map(([, name]) => name!))].filter((name) => !known.has(name));
}

/**
 * Copies a servlet of the gallery into the first of these folders; returns the text to print. Throws a `Refusal` if the
 * name is invalid or taken.
 */
export async function copyServlet(
  from: string,
  name: string,
  folders: readonly [string, ...string[]],
): Promise<string> {
  refuseName(name, NAME, NAME_RULE);
  refuseTaken(name, folders);
  const own = `${GALLERY}/${from}`;
  const library = existsSync(join(OWN_FOLDER, own, "assembly"))
    ? ([[`${GALLERY}/lib/assembly`, "assembly/lib"]] as const)
    : [];
  const files = await filesOf({ folders: [[own, "."], ...library] }, name);
  // The servlets of the gallery share the library, and a copy has its own.
  for (const [path, text] of files)
    files.set(path, text.replaceAll("../../lib/assembly/", "./lib/"));
  const folder = join(folders[0], name);
  await writeWhole(folder, files);
  const language = LANGUAGES.find(
    (one) => "files" in one && one.files.some((file) => files.has(file)),
  );
  const lacking = await packagesLackingFor([...files.values()]);
  const first = [
    ...((await language?.template.setUp?.()) ?? []),
    ...(lacking.length > 0 ? [`npm install ${lacking.join(" ")}`] : []),
  ];
  return [
    `${folder} is made:`,
    ...[...files.keys()].toSorted().map((path) => `  ${path}`),
    "",
    "Next:",
    ...first.map((command) => `  ${command}`),
    ...rows([
      ["npm run bundle", "prints the lines that wrangler.toml lacks for it, if any"],
      ["npm run dev", "serves it at http://localhost:8787/mcp"],
    ]),
  ].join("\n");
}

/** The values of the local variables, which may have a server's key. */
const variables = async () => (await import("./local-variables.ts")).localValues({});

/** Takes the lists of another MCP server anew, for the servlet of this name. Returns the text to print. Throws a `Refusal`. */
export async function renew(
  name: string,
  folders: readonly [string, ...string[]],
  only?: readonly string[],
): Promise<string> {
  const folder = folders.map((one) => join(one, name)).find((one) => existsSync(one));
  if (folder === undefined)
    throw new Refusal(`There is no servlet ${name} in ${folders.join(", ")}`);
  const { renewRemote } = await import("../../languages/remote/servlet.ts");
  const { path, text, notes } = await renewRemote(name, folder, { only, variables });
  await writeFile(path, text);
  return notes.join("\n");
}

/** Makes a servlet of a server for another SDK. */
async function taken(folder: string, from: string, isDryRun: boolean): Promise<string> {
  const { takeServer } = await import("../../languages/typescript/taking.ts");
  const { files, notes } = await takeServer(from);
  if (!isDryRun) await writeWhole(folder, files);
  return [
    isDryRun ? `${folder} would have:` : `${folder} is made:`,
    ...[...files.keys()].toSorted().map((name) => `  ${name}`),
    "",
    ...(isDryRun ? ["servlet.json:", withSchema(String(files.get("servlet.json")), folder)] : []),
    ...notes,
    ...(isDryRun ? [] : ["", "Next:", `  npm run dev      serves it at http://localhost:8787/mcp`]),
  ].join("\n");
}

/** Writes the files of a servlet's folder, which appears complete or not at all. */
async function writeWhole(
  folder: string,
  files: ReadonlyMap<string, string | Uint8Array>,
): Promise<void> {
  const unfinished = join(dirname(folder), `.${basename(folder)}.${process.pid}`);
  try {
    for (const [name, text] of files) {
      const path = join(unfinished, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, name === "servlet.json" ? withSchema(String(text), folder) : text);
    }
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** The files of the new servlet, by their paths in its folder. */
async function filesOf({ folders }: Pick<TemplateFiles, "folders">, name: string) {
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

/** The manifest with the relative path from its folder to the manifest schema. */
function withSchema(manifest: string, folder: string): string {
  const schema = relative(folder, SCHEMA).replaceAll("\\", "/");
  return manifest.replace(/"\$schema": "[^"]*"/, () => `"$schema": ${JSON.stringify(schema)}`);
}

async function instructions(
  folder: string,
  language: Language,
  { main, view }: Pick<TemplateFiles, "main" | "view">,
  first: readonly string[] = [],
): Promise<string> {
  const toolchain = "toolchain" in language ? language.toolchain : undefined;
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
