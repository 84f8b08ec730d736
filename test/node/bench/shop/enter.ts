/**
 * `node test/node/bench/shop/enter.ts CHECKOUT`: adds this server to a checkout of the neutral benchmark
 * (https://github.com/http4k/benchmark-mcp-servers-v2), as its ADDING_SERVERS.md requires: a folder with a Dockerfile, and
 * lines in the files that list the servers.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";

const [checkout] = process.argv.slice(2);
if (checkout === undefined) throw new Error("Give the folder of a checkout of the benchmark.");
const HERE = import.meta.dirname;
const folder = join(checkout, "edge-servlets-server");

/** What the folder has, and where it is here. The servlet and its tools are those that are measured here. */
const FILES = {
  Dockerfile: "entry/Dockerfile",
  "wrangler.toml": "entry/wrangler.toml",
  "plugins/shop/servlet.json": "entry/servlet.json",
  "plugins/shop/servlet.ts": "../servlets/shop/servlet.ts",
  "shop/start.ts": "start.ts",
  "shop/redis.ts": "redis.ts",
  "shop/tools.ts": "tools.ts",
};
// First, so that a folder that is no checkout, or has the server already, stays as it is.
execFileSync("git", ["apply", join(HERE, "entry/servers.patch")], { cwd: checkout });
for (const [name, from] of Object.entries(FILES)) {
  await mkdir(join(folder, name, ".."), { recursive: true });
  await cp(join(HERE, from), join(folder, name));
}
console.log(`${folder} has the server. Go on with step 6 of ADDING_SERVERS.md.`);
