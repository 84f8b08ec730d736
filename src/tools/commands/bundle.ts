/**
 * Makes the bundle that the Worker serves: `node src/tools/commands/bundle.ts [--out FILE] [--quiet] [FOLDER…]`.
 * Without FOLDER, the folders are those in SERVLETS (a path list), or else `plugins`. Under `dev`, its process makes
 * the bundle, because it has the compilers loaded.
 */
import { askBundler } from "./ask-bundler.ts";
import type { Made } from "./make-module.ts";

const args = process.argv.slice(2);
const { code, said, failure }: Made =
  (await askBundler(args)) ??
  (await (
    await import("./make-module.ts")
  ).makeModule(args, {
    isReload: process.env["WRANGLER_COMMAND"] === "dev",
  }));
if (said !== "") console.log(said);
if (failure !== "") console.error(failure);
process.exitCode = code;
