/**
 * Builds the npm packages in `.bundle/packages`: `npm run package`. Each has a folder and a tarball that has passed a
 * dry run of `npm publish`. To publish, run `npm publish TARBALL` in CI, which signs the provenance, beginning with
 * edge-servlets.
 *
 * `edge-servlets` has the sources compiled file by file, so that relative paths stay valid, and depends on the packages
 * that they import. `create-edge-servlets` has only the code that creates a project, and no dependencies.
 * `@edge-servlets/python` has CPython and its kit, for projects with servlets in Python.
 */
import { execFileSync } from "node:child_process";
import { access, cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pack } from "../src/tools/bundle/packs.ts";
import { unpackPrepared } from "../src/tools/bundle/prepared.ts";
import { PACK, PACKAGE as PYTHON, pythonPlugin } from "../src/languages/python/engine.ts";
import { interpreterPlugin } from "../src/languages/typescript/engine.ts";
import { newServlet } from "../src/tools/commands/new.ts";
import { prepare, resultOf } from "../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../src/server/kernel/core/limits.ts";
import { linksIn } from "./links.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, ".bundle/packages");
/** Packages whose programs the commands start, although no file imports them. */
const PROGRAMS = ["node", "workerd"];
/** The path from a servlet of a project to the schema of its manifest. */
const SCHEMA = "../../node_modules/edge-servlets/dist/tools/bundle/servlet.schema.json";
/** Imports other than npm packages: of the platform, of Wasm, of relative paths, and of the package itself. */
const NOT_PACKAGES = /^(node:|cloudflare:|edge-servlets|extism:|guest$|qjs$|\.)/;

interface Manifest {
  version: string;
  description: string;
  license: string;
  repository: string;
  engines: object;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const text = (path: string) => readFile(join(ROOT, path), "utf8");
const project = JSON.parse(await text("package.json")) as Manifest;
const { version, license, engines } = project;
const repository = {
  type: "git",
  url: `git+https://github.com/${project.repository.replace(/^github:/, "")}.git`,
};
/** Fields of every manifest that state its origin, which `npm publish` in CI attests. */
const origin = { license, repository, publishConfig: { access: "public", provenance: true } };
const versions: Record<string, string> = { ...project.devDependencies, ...project.dependencies };

await rm(OUT, { recursive: true, force: true });
const main = join(OUT, "edge-servlets");
const create = join(OUT, "create-edge-servlets");
const python = join(OUT, "python");
const dist = join(main, "dist");

compile(dist);
await copyOthers();
await cp(join(ROOT, "package/worker.d.ts"), join(dist, "server/worker.d.ts"));
await fillTemplate();
await fillStarters();
for (const file of [
  "LICENSE",
  "CHANGELOG.md",
  "SECURITY.md",
  "docs",
  "templates",
  "wrangler.toml",
]) {
  await cp(join(ROOT, file), join(main, file), { recursive: true });
}
// Only what git has: a servlet of one's own, or its secrets, may lie beside them.
const listed = execFileSync("git", ["ls-files", "-z", "plugins/*/*"], { cwd: ROOT });
for (const file of String(listed)
  .split("\0")
  .filter((one) => one !== ""))
  await cp(join(ROOT, file), join(main, file));
await linkToRepository();
await cp(join(ROOT, "package/README.md"), join(main, "README.md"));
await cp(join(ROOT, "package/bin"), join(main, "bin"), {
  recursive: true,
  filter: (path) => !path.endsWith("create.js"),
});
await writeManifest(main, {
  name: "edge-servlets",
  version,
  description: project.description,
  ...origin,
  type: "module",
  files: [
    "bin",
    "dist",
    "docs",
    "plugins",
    "prepared.bin",
    "starters",
    "template",
    "templates",
    "*.md",
    "*.toml",
  ],
  bin: { "edge-servlets": "bin/edge-servlets.js" },
  exports: {
    ".": exported("server/worker"),
    "./features/*": "./dist/server/features/*/feature.js",
    "./servlet": exported("kit/servlet"),
    "./files": exported("kit/files"),
    "./api": exported("kit/api"),
    "./remote": exported("kit/remote"),
    "./testing": exported("tools/testing/index"),
    "./view": exported("kit/view/index"),
    "./package.json": "./package.json",
  },
  engines,
  dependencies: await imported(),
});
await prepareEngine();
await makeCreate();
await makePython();
for (const folder of [main, create, python]) {
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", OUT], {
    cwd: folder,
    encoding: "utf8",
  });
  const [{ filename, size, entryCount }] = JSON.parse(packed) as [
    { filename: string; size: number; entryCount: number },
  ];
  execFileSync("npm", ["publish", "--dry-run", join(OUT, filename)], { stdio: "ignore" });
  console.log(
    `${relative(ROOT, join(OUT, filename))}: ${entryCount} files, ${Math.round(size / 1024)} KB`,
  );
}

function exported(module: string) {
  return { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` };
}

function compile(folder: string): void {
  const tsc = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin/tsc",
  );
  for (const config of ["tsconfig.dist.json", "tsconfig.types.json"]) {
    const args = [tsc, "-p", join(ROOT, "package", config), "--outDir", folder];
    execFileSync(process.execPath, args, { stdio: "inherit" });
  }
}

/** Copies the sources that are not compiled. */
async function copyOthers(): Promise<void> {
  for await (const file of glob("src/**/*", { cwd: ROOT, withFileTypes: true })) {
    const path = relative(join(ROOT, "src"), join(file.parentPath, file.name));
    const isCompiled = /\.tsx?$/.test(path) && !path.endsWith(".d.ts");
    if (!file.isFile() || isCompiled || /(^|\/)tsconfig\.json$|README\.md$|\.bin$/.test(path))
      continue;
    await mkdir(dirname(join(dist, path)), { recursive: true });
    await cp(join(ROOT, "src", path), join(dist, path));
  }
}

/** Makes links in documents to files outside of the package lead to the repository. */
async function linkToRepository(): Promise<void> {
  const files = `${repository.url.replace(/^git\+|\.git$/g, "")}/blob/HEAD`;
  const isPacked = (path: string) =>
    access(join(main, path)).then(
      () => true,
      () => false,
    );
  for await (const page of glob(["*.md", "docs/**/*.md"], { cwd: main })) {
    let linked = await readFile(join(main, page), "utf8");
    for (const link of linksIn(linked)) {
      const [file, anchor] = link.split("#") as [string, string?];
      const path = join(dirname(page), file);
      if (file === "" || (await isPacked(path))) continue;
      const whole = `](${files}/${path}${anchor === undefined ? "" : `#${anchor}`})`;
      linked = linked.replaceAll(`](${link})`, whole);
    }
    await writeFile(join(main, page), linked);
  }
}

/** The packages that the compiled files import, with this project's versions. */
async function imported(): Promise<Record<string, string>> {
  const names = new Set(PROGRAMS);
  for await (const file of glob("**/*.js", { cwd: dist })) {
    const source = await readFile(join(dist, file), "utf8");
    for (const [, name] of source.matchAll(
      /(?:from |import |import\(|\.resolve\()"((?:@[\w-]+\/)?[\w.:-]+)/g,
    )) {
      if (!NOT_PACKAGES.test(name!)) names.add(name!);
    }
  }
  const unknown = [...names].filter((name) => versions[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(
      `The sources import ${unknown.join(", ")}, which package.json does not have. Add them there.`,
    );
  }
  // Only tests import vitest, which each project installs itself.
  names.delete("vitest");
  return Object.fromEntries([...names].toSorted().map((name) => [name, versions[name]!]));
}

/** Writes what all projects have, with this project's wrangler.toml and package versions. */
async function fillTemplate(): Promise<void> {
  const template = join(main, "template");
  await cp(join(ROOT, "package/template"), template, { recursive: true });
  await fillVersions(join(template, "package.json"));
  const skill = await text("skills/write-servlets/SKILL.md");
  await writeFile(join(template, "AGENTS.md"), skill.replace(/^---\n[^]*?\n---\n+/, ""));
  await writeFile(join(template, "Dockerfile"), projectImage(await text("Dockerfile")));
  await cp(join(ROOT, ".dockerignore"), join(template, "_dockerignore"));
  await writeFile(join(template, "wrangler.toml"), projectConfig(await text("wrangler.toml")));
}

/**
 * Writes what each template of `init` adds to that. Servlets that the repository has elsewhere, or that its commands make,
 * come from there.
 */
async function fillStarters(): Promise<void> {
  const starters = join(main, "starters");
  await cp(join(ROOT, "package/starters"), starters, { recursive: true });
  await newServlet("text", [join(starters, "python/plugins")], { lang: "python" });
  const openapi = join(starters, "openapi/library.yaml");
  await newServlet("library", [join(starters, "openapi/plugins")], { openapi });
  await cp(join(ROOT, "plugins/units"), join(starters, "sdk/plugins/units"), { recursive: true });
  const config = join(starters, "team/wrangler.toml");
  const signIn = await readFile(config, "utf8");
  await writeFile(config, projectConfig(await text("wrangler.toml"), signIn));
  for await (const path of glob("*/package.json", { cwd: starters }))
    await fillVersions(join(starters, path));
  for await (const path of glob("*/plugins/*/servlet.json", { cwd: starters })) {
    const manifest = await readFile(join(starters, path), "utf8");
    await writeFile(
      join(starters, path),
      manifest.replace(/"\$schema": ".*"/, `"$schema": "${SCHEMA}"`),
    );
  }
}

/** Replaces the names of packages in double braces by their versions. */
async function fillVersions(path: string): Promise<void> {
  const filled = (await readFile(path, "utf8")).replaceAll(
    /\{\{([@\w/-]+)\}\}/g,
    (mark, name: string) => (name === "name" || name === "version" ? mark : versions[name]!),
  );
  await writeFile(path, filled);
}

/** Returns a function that replaces parts of a text. It throws an error if the text has no such part. */
function changing(name: string, own: string) {
  return (from: RegExp, to: string) => {
    if (!from.test(own)) throw new Error(`${name} no longer has ${from}.`);
    return (own = own.replace(from, to));
  };
}

/** This project's Dockerfile, without steps that only the repository's `npm ci` needs. */
function projectImage(own: string): string {
  const change = changing("Dockerfile", own);
  change(/^COPY package\/bin.*\n/m, "");
  return change(/ \.npmrc/, "");
}

/** This project's wrangler.toml, adapted for a new project; with the settings and the bindings of a team's sign-in, if given. */
function projectConfig(own: string, signIn?: string): string {
  const change = changing("wrangler.toml", own);
  change(/^name = .*$/m, 'name = "{{name}}"');
  change(/^main = .*$/m, '# Written by `edge-servlets bundle`.\nmain = ".bundle/worker.ts"');
  change(/^SERVER_NAME = .*$/m, 'SERVER_NAME = "{{name}}"');
  change(/^SERVER_TITLE = .*$/m, 'SERVER_TITLE = "{{name}}"');
  const lines = /^# Lets operators install servlets[^]*?# binding = "LOADER"\n/m;
  const [installs] = lines.exec(own) ?? [];
  change(lines, "");
  // Features add these bindings when they are first used: `passphrase`, servlets with state, installs.
  const unbound = ["CallRecord", "Installs", "ServletState"];
  if (signIn === undefined) {
    change(/^# Grants of clients[^\n]*\n\[\[kv_namespaces\]\]\nbinding = "OAUTH_KV"\n\n/m, "");
    unbound.push("Grant");
  } else {
    change(/, where OWNER_PASSPHRASE is set/, "");
    change(/^RUN_LOG = .*\n/m, `$&${signIn}`);
  }
  let kept = "";
  for (const name of unbound)
    kept = change(
      new RegExp(
        String.raw`\[\[durable_objects\.bindings\]\]\nname = "\w+"\nclass_name = "${name}"\n\n`,
      ),
      "",
    );
  const classes = [...kept.matchAll(/^class_name = "(\w+)"$/gm)].map(([, name]) => name);
  // The migrations of these classes follow `v1`: a deploy runs only migrations after the last one that it has run.
  change(
    /^\[\[migrations\]\][^]*$/m,
    `[[migrations]]
tag = "v1"
new_sqlite_classes = ${JSON.stringify(classes, null, 2)}

${installs!.replace("edge-servlets-builds", "{{name}}-builds")}# [[durable_objects.bindings]]
# name = "INSTALLS"
# class_name = "Installs"
# [[durable_objects.bindings]]
# name = "SERVLET_STATES"
# class_name = "ServletState"
# [[migrations]]
# tag = "installs"
# new_sqlite_classes = ["Installs", "ServletState"]
`,
  );
  return change(/^# What outlives a request;.*$/m, "# What outlives a request.")
    .replaceAll("`npm run bundle`", "`edge-servlets bundle`")
    .replaceAll("(docs/", "(node_modules/edge-servlets/docs/");
}

/** Prepares the engine and the kit with the compiled files, to save half a minute in a project's first bundle. */
async function prepareEngine(): Promise<void> {
  const cache = join(OUT, "prepared");
  await copyEngine(cache);
  const compiled: typeof import("../src/tools/bundle/prepared.ts") = await import(
    join(dist, "tools/bundle/prepared.js")
  );
  const { typescript }: typeof import("../src/languages/typescript/language.ts") = await import(
    join(dist, "languages/typescript/language.js")
  );
  await compiled.makePrepared(typescript, [], cache, (doing) => console.log(`${doing} …`));
  await writeFile(join(main, "prepared.bin"), await pack(cache));
  await rm(cache, { recursive: true });
}

/** Copies the engine of this project's bundle to the path that the compiled files expect. Both are prepared alike. */
async function copyEngine(cache: string): Promise<void> {
  const progress = (doing: string) => console.log(`${doing} …`);
  const ours = join(ROOT, ".bundle");
  await unpackPrepared(ours);
  const plugin = await interpreterPlugin(ours, progress);
  const { memoryBytes } = limits;
  const { path } = await prepare(plugin, { memoryBytes }, ours, progress);
  const compiled: typeof import("../src/tools/bundle/wasm/prepare.ts") = await import(
    join(dist, "tools/bundle/wasm/prepare.js")
  );
  const own = await compiled.resultOf(plugin, { memoryBytes }, cache);
  for (const ending of ["wasm", "state.txt"]) {
    const named = (of: string) => of.replace(/wasm$/, ending);
    await cp(named(path), named(own.path));
  }
}

/** Creates the package of `npm create edge-servlets FOLDER`, which has only the command `init`. */
async function makeCreate(): Promise<void> {
  for (const file of [
    "dist/tools/commands/init.js",
    "dist/tools/bundle/arguments.js",
    "dist/tools/bundle/own.js",
    "dist/tools/bundle/refusal.js",
    "dist/server/kernel/core/text.js",
    "dist/server/kernel/core/version.js",
    "starters",
    "template",
    "LICENSE",
  ]) {
    await cp(join(main, file), join(create, file), { recursive: true });
  }
  await mkdir(join(create, "bin"));
  for (const file of ["bin/create.js", "bin/demand-node.js"]) {
    await cp(join(ROOT, "package", file), join(create, file));
  }
  await writeManifest(create, {
    name: "create-edge-servlets",
    version,
    description: "Makes an edge-servlets project: npm create edge-servlets my-server",
    ...origin,
    type: "module",
    files: ["bin", "dist", "starters", "template"],
    bin: { "create-edge-servlets": "bin/create.js" },
    engines,
  });
}

/** Creates the package with Python. */
async function makePython(): Promise<void> {
  const from = join(ROOT, "package/python");
  const isSource = (path: string) => !path.endsWith("__pycache__");
  for (const name of ["edge_servlets", "fastmcp", "mcp", "mcp_types", "licenses", "README.md"])
    await cp(join(from, name), join(python, name), { recursive: true, filter: isSource });
  await cp(join(ROOT, "LICENSE"), join(python, "LICENSE"));
  await writeFile(join(python, PACK), await packOfPython(join(from, PACK)));
  await writeManifest(python, {
    name: PYTHON,
    version,
    description: "CPython and its kit, for servlets of edge-servlets that are written in Python",
    ...origin,
    license:
      "Apache-2.0 AND PSF-2.0 AND (Apache-2.0 WITH LLVM-exception) AND MIT AND Zlib AND BSD-2-Clause",
    files: ["edge_servlets", "fastmcp", "mcp", "mcp_types", "licenses", PACK],
    peerDependencies: { "edge-servlets": version },
  });
}

/** The pack of Python. Its prepared interpreter has the name that the compiled files of `edge-servlets` expect. */
async function packOfPython(path: string): Promise<Uint8Array> {
  const plugin = await pythonPlugin(join(ROOT, ".bundle"));
  const compiled: typeof import("../src/tools/bundle/wasm/prepare.ts") = await import(
    join(dist, "tools/bundle/wasm/prepare.js")
  );
  const { memoryBytes } = limits;
  const nameIn = async (of: typeof compiled.resultOf) =>
    basename((await of(plugin, { memoryBytes }, OUT)).path, ".wasm");
  const [ours, theirs] = [await nameIn(resultOf), await nameIn(compiled.resultOf)];
  const packed = await readFile(path);
  const end = packed.indexOf(10);
  const head = packed.toString("utf8", 0, end);
  if (!head.includes(ours)) throw new Error(`${PACK} is stale: npm run python`);
  return Buffer.concat([Buffer.from(head.replaceAll(ours, theirs)), packed.subarray(end)]);
}

function writeManifest(folder: string, manifest: object): Promise<void> {
  return writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
