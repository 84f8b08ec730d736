/**
 * Compares the size of the built Worker's JavaScript with its ceiling, and of the whole upload with the platform's
 * limit: `node src/tools/commands/size.ts FOLDER`.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { isInstalled } from "../bundle/own.ts";
import { aligned, kilobytes as shown, WORKER_BYTES } from "./table.ts";

/** Maximum size of the server's own JavaScript. A project adds no JavaScript. */
const CEILING_KB = 409;

const [folder = ".bundle/deploy"] = process.argv.slice(2);
const names = await readdir(folder);
const scripts = names.filter((name) => name.endsWith(".js"));
const sizes = await Promise.all(
  scripts.map(async (name) => gzipSync(await readFile(join(folder, name)), { level: 9 }).length),
);
const kilobytes = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / 1024);
const bound = isInstalled ? "" : `, ${CEILING_KB} KB at most`;
console.log(`JavaScript without the servlets: ${kilobytes} KB gzipped${bound}`);
if (!isInstalled && kilobytes > CEILING_KB) process.exitCode = 1;
if (!isInstalled)
  console.log(aligned(await roomsOf(join(folder, "bundle-meta.json")), 1).join("\n"));
const uploaded = await Promise.all(
  names.filter((name) => /\.(js|wasm|bin)$/.test(name)).map((name) => stat(join(folder, name))),
);
const bytes = uploaded.reduce((sum, { size }) => sum + size, 0);
console.log(`Uploaded, with the servlets: ${shown(bytes)} of ${shown(WORKER_BYTES)} at most`);
if (bytes > WORKER_BYTES) process.exitCode = 1;

interface Metafile {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}

/** Table rows: the folders of `src` and the packages in the script, with their uncompressed sizes. */
async function roomsOf(metafile: string): Promise<string[][]> {
  const { outputs } = JSON.parse(await readFile(metafile, "utf8")) as Metafile;
  const all = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const rooms = Map.groupBy(all, ([path]) => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(path) ?? [];
    return name ?? /(?:^|\/)src\/([^/]+)\/.*$/.exec(path)?.[1] ?? "others";
  });
  return [...rooms]
    .map(
      ([room, files]) =>
        [room, files.reduce((sum, [, one]) => sum + one.bytesInOutput, 0)] as const,
    )
    .filter(([, size]) => size >= 1024)
    .toSorted(([, a], [, b]) => b - a)
    .map(([room, size]) => [`  ${room}`, shown(size)]);
}
