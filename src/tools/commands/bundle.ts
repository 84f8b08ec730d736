/**
 * Makes the bundle that the Worker serves: `node src/tools/commands/bundle.ts [--out FILE] [--quiet] [FOLDER…]`.
 * Folders come from SERVLETS (a path list) where none are given, and are `plugins` where that is not set. Under `dev`, whose
 * process has the compilers loaded, that one makes it.
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
