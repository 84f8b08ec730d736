/**
 * Makes `python.bin` anew: `npm run python`. It takes CPython and its library from a wheel on PyPI that is pinned by its
 * digest, links and prepares them, starts Python with the kit, and packs what a bundle begins with: with `-- --quick` in
 * less time, for whoever changes the kit.
 */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { unzipSync } from "fflate";
import {
  cachedBuild,
  contentHash,
  readIfThere,
  writeWhole,
} from "../../../src/tools/bundle/cache.ts";
import { PACK, PACK_PARTS } from "../../../src/languages/python/engine.ts";
import { pack } from "../../../src/tools/bundle/packs.ts";
import { requestSource } from "../../../src/tools/bundle/sources/http.ts";
import { prepare, resultOf } from "../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../src/tools/bundle/limits.ts";
import { base } from "./base.ts";
import { link } from "./link.ts";
import { stamp } from "./sources.ts";

/** componentize-py 0.25.1, which has CPython 3.14 as a shared library of Wasm in it. */
const WHEEL = {
  url: "https://files.pythonhosted.org/packages/ed/c6/ad1431751ff1969a132323f6e2797ec38ccdf9d0a53aabb45d79221092a4/componentize_py-0.25.1-cp39-abi3-manylinux_2_28_x86_64.whl",
  sha256: "8623cd8cab8453cb0cd8bf03f3c7103420d06f2f3d360186a280a70a1ca5e89f",
  member: "componentize_py/componentize_py.abi3.so",
};
/** Where in that member these are, compressed with zstd. */
const LIBPYTHON = { from: 2_781_043, bytes: 2_367_858 };
const STANDARD_LIBRARY = { from: 5_721_759, bytes: 2_208_634 };

const HERE = resolve(import.meta.dirname, "..");
const CACHE = resolve(HERE, "../../.bundle");

async function wheel(): Promise<Uint8Array> {
  const path = join(CACHE, `${WHEEL.sha256}.whl`);
  let bytes = await readIfThere(path);
  if (bytes === undefined) {
    const { body } = await requestSource(new URL(WHEEL.url), { maxBytes: limits.sourceBytes });
    await writeWhole(path, body);
    bytes = new Uint8Array(body);
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== WHEEL.sha256) throw new Error(`the wheel has the digest ${digest}`);
  return unzipSync(bytes, { filter: ({ name }) => name === WHEEL.member })[WHEEL.member]!;
}

const partOf = (bytes: Uint8Array, { from, bytes: length }: typeof LIBPYTHON) =>
  new Uint8Array(zstdDecompressSync(bytes.subarray(from, from + length)));

/** The files of a tar archive whose names are short: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 */
function* untarred(archive: Uint8Array): Generator<[string, Uint8Array]> {
  const text = (from: number, length: number) =>
    new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const prefix = text(at + 345, 155);
    const name = text(at, 100);
    if (archive[at + 156] === 0x30)
      yield [prefix ? `${prefix}/${name}` : name, archive.subarray(at + 512, at + 512 + size)];
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

const started = performance.now();
const say = (text: string) =>
  console.log(`${text} (${Math.round((performance.now() - started) / 1000)} s)`);
const work = await mkdtemp(join(tmpdir(), "python-"));
try {
  const member = await wheel();
  say("linking CPython");
  // As paths that hold in another clone with the same cache.
  const folder = relative(".", import.meta.dirname);
  const sources = ["link.ts", "shim.c"].map((name) => join(folder, name));
  const plugin = await cachedBuild(CACHE, "python", async () => ({
    output: await link(partOf(member, LIBPYTHON)),
    inputs: sources,
  }));
  const options = { memoryBytes: limits.memoryBytes };
  say("preparing it");
  const prepared = await prepare(plugin, options, CACHE, () => {});
  const { path } = await resultOf(plugin, options, CACHE);
  say("compiling its library, and starting it with the kit");
  const library = join(work, "library");
  for (const [name, bytes] of untarred(partOf(member, STANDARD_LIBRARY)))
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
