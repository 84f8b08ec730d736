/**
 * `npm run standalone -- DIR`: writes a folder with a complete server, without the build tools. Start it there with
 * `node start.js --worker worker`. The Dockerfile copies this folder into its image.
 */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { isInstalled, OWN_EXTENSION, OWN_FOLDER } from "../bundle/own.ts";
import { Refusal, runCommand } from "../bundle/refusal.ts";
import { buildHosted } from "./build.ts";
import { readConfiguration } from "./configuration.ts";

const USAGE = "npm run standalone -- DIR [--config FILE]";

/** Written first. Without it, a package.json in a parent folder could make the scripts CommonJS. */
const PACKAGE = '{ "name": "edge-servlets-standalone", "private": true, "type": "module" }\n';

async function main(): Promise<void> {
  const options = { config: { type: "string", default: "wrangler.toml" } } as const;
  const { values, positionals } = argumentsIn({ options, allowPositionals: true }, USAGE);
  const [out, ...more] = positionals;
  if (out === undefined) throw misused("Give a folder.", USAGE);
  if (more.length > 0) throw misused(`Unexpected argument: ${more.join(" ")}.`, USAGE);
  const configuration = await readConfiguration(values.config);
  await claim(out);
  await buildHosted(configuration, join(out, "worker"));
  const commands = ["start", "backup"].map((name) =>
    join(import.meta.dirname, name + OWN_EXTENSION),
  );
  await build({
    entryPoints: commands,
    outdir: out,
    bundle: true,
    platform: "node",
    splitting: true,
    format: "esm",
    target: "node22.12",
    banner: { js: await demandingNode() },
    external: ["esbuild", "workerd"],
    logLevel: "silent",
  });
  await cp(values.config, join(out, "wrangler.toml"));
  const { assets, folder } = configuration;
  if (assets) await cp(assets.directory, join(out, relative(folder, assets.directory)), RECURSIVE);
  // Leave out the second copy of the program, in bin/ of the package workerd.
  for (const name of ["workerd", `@cloudflare/workerd-${PLATFORM}`]) {
    const from = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const filter = (path: string) => path !== join(from, "bin/workerd") || name !== "workerd";
    await cp(from, resolve(out, "node_modules", name), { ...RECURSIVE, filter });
  }
  console.log(`${out} has the server. Start it there: node start.js --worker worker`);
}

/** Makes the folder, or reuses one that this command has made. Throws a `Refusal` for any other non-empty folder. */
async function claim(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "package.json");
  const [first] = await readdir(folder);
  if (first !== undefined && (await readFile(file, "utf8").catch(() => "")) !== PACKAGE)
    throw new Refusal(
      `${folder} is not empty: it has ${first}. Name a new folder, or remove this one.`,
    );
  await writeFile(file, PACKAGE);
}

/** A script that ends the process if its Node is too old. */
async function demandingNode(): Promise<string> {
  const text = await readFile(join(BIN, "demand-node.js"), "utf8");
  return `{\n${text.replaceAll("export function", "function")}\ndemandNode();\n}`;
}

const BIN = join(OWN_FOLDER, isInstalled ? "bin" : "package/bin");
const RECURSIVE = { recursive: true, dereference: true };
const ARCHITECTURE = process.arch === "x64" ? "64" : process.arch;
/** Suffix of the package with workerd's program for this platform. */
const PLATFORM = `${process.platform === "win32" ? "windows" : process.platform}-${ARCHITECTURE}`;

await runCommand(main);
