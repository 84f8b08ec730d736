/**
 * `npm run structure`: how the code is laid out, as numbers whose trend anyone can follow. The test beside this file checks
 * what must hold.
 */
import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FEATURES } from "../../src/tools/bundle/features.ts";

export interface SourceFile {
  path: string;
  text: string;
}

/** The code of the project without generated files: that of `src`, or the files of other patterns. */
export async function sourceFiles(
  patterns: readonly string[] = ["src/**/*.{ts,tsx}"],
): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const path of glob(patterns)) {
    if (!path.endsWith(".gen.ts")) files.push({ path, text: await readFile(path, "utf8") });
  }
  return files;
}

/** The room of a file: a folder of the kernel, a feature, a folder of another building; or its own name. */
export const roomOf = (path: string): string =>
  /^src\/(?:server\/)?(?:kernel\/)?((?:features|tools|languages)\/[^/]+|[^/]+)/.exec(path)?.[1] ??
  path;

/** The files of ours that a file imports; with `isTyped` false, only those that it runs. */
export const importsOf = ({ path, text }: SourceFile, isTyped = true): string[] =>
  [...text.matchAll(/^(import|export)( type)?[^;"]* from "(\.[^"]+)"/gm)].flatMap(
    ([, , type, from]) => (type === undefined || isTyped ? [join(dirname(path), from!)] : []),
  );

const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
const linesOf = ({ text }: SourceFile) => text.split("\n").length - 1;

/** The rooms, from the ground up. What runs is imported from lower rooms only. Types may come from higher ones, in no circle. */
export const ROOMS = [
  "core",
  "settings",
  "http",
  "schema",
  "files",
  "storage",
  "observe",
  "auth",
  "wasm",
  "servlets",
  "asks",
  "calls",
  "mcp",
  "bindings.ts",
  "object-class.ts",
  "about.ts",
  "kernel.ts",
  "objects.ts",
  "mcp-handler.ts",
  "app.ts",
  ...FEATURES.map((name) => `features/${name}`),
  "all-settings.ts",
  "worker.ts",
  "index.ts",
  "kit",
  "console",
  "tools/bundle",
  "languages/compiled",
  "languages/openapi",
  "languages/python",
  "languages/remote",
  "languages/typescript",
  "languages/index.ts",
  "tools/doctor",
  "tools/commands",
  "tools/host",
  "tools/testing",
];

/** Imports of something that runs from a higher room, as `file imports file`. */
export const importsFromAbove = (files: SourceFile[]): string[] =>
  files.flatMap((file) =>
    importsOf(file, false)
      .filter((from) => !from.endsWith(".gen.ts"))
      .filter((from) => ROOMS.indexOf(roomOf(from)) > ROOMS.indexOf(roomOf(file.path)))
      .map((from) => `${file.path} imports ${from}`),
  );

/** Names that files of two rooms declare and export, with these rooms. `export … from` declares nothing. */
export function sharedNames(files: SourceFile[]): string[] {
  const rooms = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    // What stands in for other SDKs has their names.
    if (path.startsWith("src/kit/servers/")) continue;
    const declared =
      /^export (?:declare |abstract |async )*(?:function\*?|class|const|let|enum|interface|type) (\w+)/gm;
    for (const [, name] of text.matchAll(declared)) {
      rooms.set(name!, (rooms.get(name!) ?? new Set()).add(roomOf(path)));
    }
  }
  return [...rooms]
    .filter(([, all]) => all.size > 1)
    .map(([name, all]) => `${name} of ${[...all].join(", ")}`);
}

async function facts(): Promise<[what: string, value: number | string][]> {
  const files = await sourceFiles();
  const importers = new Map<string, number>();
  for (const file of files)
    for (const from of new Set(importsOf(file)))
      importers.set(from, (importers.get(from) ?? 0) + 1);
  const lines = files.map(linesOf);
  const single = files.filter(({ path }) => importers.get(path) === 1);
  const upward = importsFromAbove(files);
  const shared = sharedNames(files);
  const settings = await readFile("docs/configuration.md", "utf8");
  const count = (what: RegExp) => files.filter(({ text }) => what.test(text)).length;
  return [
    ["files", files.length],
    ["lines", lines.reduce((sum, one) => sum + one, 0)],
    ["median of lines in a file", median(lines)],
    ["files of fewer than 50 lines", lines.filter((one) => one < 50).length],
    ["files that one other imports", single.length],
    ["their lines", single.map(linesOf).reduce((sum, one) => sum + one, 0)],
    ["files at the root", files.filter(({ path }) => dirname(path) === "src").length],
    [
      "rooms",
      new Set(files.map(({ path }) => roomOf(path)).filter((one) => !one.includes("."))).size,
    ],
    ["imports between rooms that go up", [upward.length, ...upward].join("\n  ")],
    ["files with instanceof Suspended", count(/instanceof Suspended/)],
    [
      "RPC interfaces that are copied from a class",
      files.flatMap(({ text }) => text.match(/extends Rpc\.DurableObjectBranded \{/g) ?? []).length,
    ],
    ["names that two rooms export", [shared.length, ...shared].join("\n  ")],
    ["words of docs/configuration.md", settings.split(/\s+/).length],
  ];
}

/** The frames of ours that two calls pass; loaded late, since it loads the Worker. */
async function frameFacts(): Promise<[what: string, value: number][]> {
  const { plain, ask } = await (await import("./frames.ts")).traced();
  return [
    ["frames of a plain tools/call", plain.length],
    ["frames of an ask in a task", ask.length],
  ];
}

if (import.meta.main) {
  for (const [what, value] of [...(await facts()), ...(await frameFacts())])
    console.log(`${what.padEnd(42)} ${value}`);
}
