/** Holds the built Worker's JavaScript against its ceiling: `node src/bundle/commands/size.ts FOLDER`. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const CEILING_KB = 250;

const [folder = ".bundle/deploy"] = process.argv.slice(2);
const scripts = (await readdir(folder)).filter((name) => name.endsWith(".js"));
const sizes = await Promise.all(
  scripts.map(async (name) => gzipSync(await readFile(join(folder, name)), { level: 9 }).length),
);
const kilobytes = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / 1024);
console.log(`JavaScript without the servlets: ${kilobytes} KB gzipped, ${CEILING_KB} KB at most`);
if (kilobytes > CEILING_KB) process.exitCode = 1;
