/**
 * Makes `python.bin` anew: `npm run python`. It takes CPython, its library and Expat from where they are published, links
 * and prepares them, starts Python with the kit, and packs what a bundle begins with: with `-- --quick` in less time, for
 * whoever changes the kit.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { cachedBuild, contentHash, writeWhole } from "../../../src/tools/bundle/cache.ts";
import { PACK, PACK_PARTS } from "../../../src/languages/python/engine.ts";
import { pack } from "../../../src/tools/bundle/packs.ts";
import { prepare, resultOf } from "../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../src/tools/bundle/limits.ts";
import { base } from "./base.ts";
import { expat, libpython, standardLibrary } from "./inputs.ts";
import { link } from "./link.ts";
import { stamp } from "./sources.ts";

const HERE = resolve(import.meta.dirname, "..");
const CACHE = resolve(HERE, "../../.bundle");

const started = performance.now();
const say = (text: string) =>
  console.log(`${text} (${Math.round((performance.now() - started) / 1000)} s)`);
const work = await mkdtemp(join(tmpdir(), "python-"));
try {
  say("linking CPython");
  // As paths that hold in another clone with the same cache.
  const folder = relative(".", import.meta.dirname);
  const sources = ["link.ts", "replace.ts", "shim.c", "inputs.ts"].map((name) =>
    join(folder, name),
  );
  const plugin = await cachedBuild(CACHE, "python", async () => ({
    output: await link(await libpython(CACHE), await expat(CACHE)),
    inputs: sources,
  }));
  const options = { memoryBytes: limits.memoryBytes };
  say("preparing it");
  const prepared = await prepare(plugin, options, CACHE, () => {});
  const { path } = await resultOf(plugin, options, CACHE);
  say("compiling its library, and starting it with the kit");
  const library = join(work, "library");
  for (const [name, bytes] of await standardLibrary(CACHE))
    await writeWhole(join(library, name), bytes);
  const made = await base(await WebAssembly.compile(prepared.wasm), library, work);
  const files: [string, Uint8Array][] = [
    [PACK_PARTS.plugin, plugin],
    [PACK_PARTS.base, made.patch],
    [PACK_PARTS.library, made.library],
  ];
  const out = join(work, "pack");
  for (const [ending, bytes] of files)
    await writeWhole(join(out, `${contentHash(bytes).slice(0, 32)}${ending}`), bytes);
  for (const file of [path, path.replace(/wasm$/, "state.txt")])
    await writeWhole(join(out, file.slice(CACHE.length + 1)), await readFile(file));
  await writeWhole(join(out, await stamp()), "");
  say("packing it");
  const packed = await pack(out, { quickly: process.argv.includes("--quick") });
  await writeFile(join(HERE, PACK), packed);
  say(`${PACK}: ${Math.round(packed.length / 1000)} KB`);
} finally {
  await rm(work, { recursive: true, force: true });
}
