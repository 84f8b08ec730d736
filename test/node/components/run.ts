/**
 * `npm run components`: builds a component with each of four toolchains, and one for WASI 0.3, in a fresh folder, from the registries that they
 * come from, and calls it as a servlet. A toolchain that this machine lacks is skipped by name.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { loadServlet, type Script } from "../../../src/tools/testing/index.ts";
import { FEATURES, tool } from "../../../src/tools/bundle/wasm/binaryen.ts";

const run = promisify(execFile);

/** The packages that build and wrap components, at the versions that were tried. */
const JS = ["@bytecodealliance/jco@1.35.0", "@bytecodealliance/componentize-js@0.23.0"];
const PYTHON = "componentize-py==0.25.1";

interface Shape {
  name: string;
  /** The folder with its sources. */
  folder: string;
  /** Commands that must work. */
  needs: string[][];
  /** Builds `component.wasm` in a folder with a copy of its sources. */
  build(folder: string): Promise<void>;
  manifest?: object;
  calls: { tool: string; args: object; script?: Script; gives: unknown }[];
}

const inFolder = (cwd: string, program: string, args: string[], env: Record<string, string> = {}) =>
  run(program, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 26 });

/** Runs a script in a new project with the packages of jco. */
async function withPackages(folder: string, script: string): Promise<void> {
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await inFolder(folder, "npm", ["install", "--silent", "--no-audit", "--no-fund", ...JS]);
  await writeFile(join(folder, "build.js"), script);
  await inFolder(folder, process.execPath, ["build.js"]);
}

/** A component that Rust makes of a crate of this name. */
const rust = (crate: string): Pick<Shape, "needs" | "build"> => ({
  needs: [
    ["cargo", "--version"],
    ["rustup", "--version"],
  ],
  async build(folder) {
    const target = "wasm32-wasip2";
    await inFolder(folder, "rustup", ["target", "add", target]);
    await inFolder(folder, "cargo", ["build", "--release", "--locked", "--target", target]);
    const built = join(folder, "target", target, "release", `${crate}.wasm`);
    await cp(built, join(folder, "component.wasm"));
  },
});

const shapes: Shape[] = [
  {
    name: "Rust",
    folder: "shapes",
    ...rust("shapes"),
    calls: [
      { tool: "test_shapes_shapes_divide", args: { a: 7, b: 2 }, gives: 3 },
      { tool: "sleep", args: { ms: 5000 }, gives: 5000 },
    ],
  },
  {
    name: "Rust, WASI 0.3",
    folder: "async",
    ...rust("waits"),
    calls: [
      { tool: "add", args: { a: 7, b: 2 }, gives: 9 },
      { tool: "sleep", args: { ms: [5000, 3000] }, gives: [5000, 3000] },
    ],
  },
  {
    name: "componentize-js",
    folder: "js",
    needs: [["npm", "--version"]],
    build: (folder) =>
      withPackages(
        folder,
        `import { componentize } from "@bytecodealliance/componentize-js";
import { readFileSync, writeFileSync } from "node:fs";
const source = readFileSync("component.js", "utf8");
const { component } = await componentize(source, { witPath: "world.wit", worldName: "component" });
writeFileSync("component.wasm", component);`,
      ),
    manifest: { allowed_hosts: ["weather.test"] },
    calls: [
      { tool: "now", args: {}, gives: "1970-01-01T00:00:00.000Z" },
      {
        tool: "get-weather",
        args: { city: "Köln" },
        script: { fetch: ({ url }) => Response.json({ text: `sunny at ${url}` }) },
        gives: "sunny at https://weather.test/K%C3%B6ln",
      },
    ],
  },
  {
    name: "componentize-py",
    folder: "python",
    needs: [["python3", "-m", "venv", "--help"]],
    async build(folder) {
      await inFolder(folder, "python3", ["-m", "venv", "venv"]);
      await inFolder(folder, "venv/bin/pip", ["install", "--quiet", PYTHON]);
      const world = ["-d", "world.wit", "-w", "component"];
      const output = ["componentize", "app", "-o", "component.wasm"];
      await inFolder(folder, "venv/bin/componentize-py", [...world, ...output]);
    },
    calls: [
      { tool: "eval", args: { expression: "sum(range(10))" }, gives: "45" },
      { tool: "sleep", args: { ms: [5000, 3000] }, gives: 5000 },
    ],
  },
  {
    name: "Go",
    folder: "go",
    needs: [
      ["go", "version"],
      ["npm", "--version"],
    ],
    async build(folder) {
      const flags = ["-buildmode=c-shared", "-ldflags", "-s -w", "-o", "go.wasm"];
      await inFolder(folder, "go", ["build", ...flags, "."], { GOOS: "wasip1", GOARCH: "wasm" });
      const parts = ["go", "realloc"].flatMap((name) => [
        join(folder, name === "go" ? "go.wasm" : "realloc.wat"),
        name,
      ]);
      await tool("wasm-merge", [...parts, "-o", join(folder, "core.wasm"), ...FEATURES]);
      await withPackages(
        folder,
        `import { componentEmbed, componentNew } from "@bytecodealliance/jco-transpile/wasm-tools";
import { readFileSync, writeFileSync } from "node:fs";
const [binary, witSource] = [readFileSync("core.wasm"), readFileSync("world.wit", "utf8")];
const embedded = await componentEmbed({ binary, witSource, world: "component", stringEncoding: "utf8" });
const adapter = readFileSync("node_modules/@bytecodealliance/jco/lib/wasi_snapshot_preview1.reactor.wasm");
writeFileSync("component.wasm", await componentNew(embedded, [["wasi_snapshot_preview1", adapter]]));`,
      );
    },
    manifest: { start: "once" },
    calls: [
      {
        tool: "local_modules_modules_latest",
        args: { names: ["a"] },
        gives: [{ name: "A", version: "1970-01-01" }],
      },
    ],
  },
];

/** What a shape lacks on this machine. */
async function missing({ needs }: Shape): Promise<string | undefined> {
  for (const [program, ...args] of needs) {
    const works = await run(program!, args).then(
      () => true,
      () => false,
    );
    if (!works) return program;
  }
  return undefined;
}

async function tried(shape: Shape, at: string): Promise<string> {
  const sources = join(at, shape.name);
  await cp(join(import.meta.dirname, shape.folder), sources, { recursive: true });
  await shape.build(sources);
  const folder = join(at, `${shape.name}-servlet`);
  await mkdir(folder);
  await cp(join(sources, "component.wasm"), join(folder, "component.wasm"));
  await writeFile(join(folder, "servlet.json"), JSON.stringify(shape.manifest ?? {}));
  const servlet = await loadServlet(folder);
  for (const { tool: name, args, script, gives } of shape.calls) {
    const { result } = await servlet.callTool(name, { ...args }, script);
    if (!isDeepStrictEqual(result.structuredContent, { result: gives }))
      throw new Error(`${shape.name}: ${name} gives ${JSON.stringify(result)}`);
  }
  const { size } = await stat(join(folder, "component.wasm"));
  return `${shape.name}: ${size} bytes, ${shape.calls.length} tools called`;
}

const only = process.argv.slice(2);
const at = await mkdtemp(join(tmpdir(), "components-"));
try {
  for (const shape of shapes.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const lacks = await missing(shape);
    console.log(
      lacks === undefined
        ? await tried(shape, at)
        : `${shape.name}: skipped, as there is no ${lacks}`,
    );
  }
} finally {
  await rm(at, { recursive: true, force: true });
}
