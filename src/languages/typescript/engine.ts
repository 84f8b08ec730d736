/** The JavaScript interpreter of servlets in TypeScript: QuickJS and a shim, merged into one plugin. */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rewrite, type Export } from "../../tools/bundle/wasm/binary.ts";
import { FEATURES, inFolder, tool, version } from "../../tools/bundle/wasm/binaryen.ts";
import { contentHash, readIfThere, writeWhole } from "../../tools/bundle/cache.ts";
import { INTERPRETER_EXPORTS } from "../../tools/bundle/wasm/prepare.ts";
import { shared } from "../../tools/bundle/work.ts";

const QUICKJS = createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm");
const SHIM = join(import.meta.dirname, "engine.wat");

/** The interpreter as a plugin, before `prepare`. Calls `progress` if it has to be built. */
export async function interpreterPlugin(
  cache: string,
  progress: (doing: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  // Use only the content: the installation path of the packages differs between projects.
  const key = contentHash(await readFile(QUICKJS), await readFile(SHIM), await version());
  const path = join(cache, `${key.slice(0, 32)}.wasm`);
  return shared(path, async () => {
    const known = await readIfThere(path);
    if (known !== undefined) return known;
    progress("building the JavaScript interpreter");
    const made = await merge();
    await writeWhole(path, made);
    return made;
  });
}

async function merge(): Promise<Uint8Array<ArrayBuffer>> {
  const shim = await readFile(SHIM, "utf8");
  const wanted = new Set([...shim.matchAll(/\(import "qjs" "(\w+)"/g)].map(([, name]) => name!));
  const quickjs = new Uint8Array(await readFile(QUICKJS));
  const interpreter = rewrite(quickjs, {
    exports: (old) =>
      old
        .map((one) => (one.name === "_initialize" ? { ...one, name: "qjs_initialize" } : one))
        .filter(({ name }) => wanted.has(name)),
  });
  return inFolder(async (file) => {
    await writeFile(file("quickjs.wasm"), interpreter);
    await tool("wasm-merge", [
      file("quickjs.wasm"),
      "qjs",
      SHIM,
      "env",
      "-o",
      file("merged.wasm"),
      ...FEATURES,
    ]);
    const merged = new Uint8Array(await readFile(file("merged.wasm")));
    const own = new Set(["memory", "_initialize", ...Object.values(INTERPRETER_EXPORTS)]);
    const shimExports = new Set([...shim.matchAll(/\(export "(\w+)"/g)].map(([, name]) => name!));
    const keep = ({ name, kind }: Export) =>
      own.has(name) || (kind === "function" && shimExports.has(name) && !name.startsWith("host_"));
    return rewrite(merged, { exports: (old) => old.filter(keep) }) as Uint8Array<ArrayBuffer>;
  });
}
