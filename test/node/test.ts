/** `npm test [-- --feature NAME,…]`: the tests that a change needs on the way; with `--feature` those of these features alone. */
import { spawnSync } from "node:child_process";
import { demandFeature } from "./without.ts";

const others = process.argv.slice(2);
const at = others.indexOf("--feature");
const features = at < 0 ? [] : (others.splice(at, 2)[1] ?? "").split(",");
features.forEach(demandFeature);
const folders = features.map((name) => `test/features/${name}/`);
const args = ["run", "--exclude", "**/*.{long,slow}.test.ts", ...folders, ...others];
process.exitCode = spawnSync("vitest", args, { stdio: "inherit" }).status ?? 1;
