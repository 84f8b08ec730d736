// Loaded before the commands of the repository: without `npm install`, or by an old Node, each would end with a stack.
import { existsSync } from "node:fs";
import { lineFor } from "./bin/demand-node.js";

const isInstalled = existsSync(new URL("../node_modules/esbuild", import.meta.url));
const line =
  lineFor(process.versions.node) ??
  (isInstalled ? undefined : "Its packages are not installed yet. Run: npm install");
if (line !== undefined) {
  console.error(line);
  process.exit(1);
}
