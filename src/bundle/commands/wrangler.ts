import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Runs wrangler; returns its exit code. It uses this terminal, unless `output` is a function that takes its output in chunks. */
export function wrangler(
  args: string[],
  output: "inherit" | ((chunk: string) => void) = "inherit",
): Promise<number> {
  const folder = dirname(createRequire(import.meta.url).resolve("wrangler/package.json"));
  return run([join(folder, "bin/wrangler.js"), ...args], output);
}

/** Runs a script with this Node; returns its exit code. */
export function run(
  script: string[],
  output: "inherit" | ((chunk: string) => void) = "inherit",
): Promise<number> {
  const child = spawn(process.execPath, script, {
    stdio: output === "inherit" ? "inherit" : ["ignore", "pipe", "pipe"],
  });
  if (output !== "inherit") {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", output);
    }
  }
  // A terminal sends SIGINT to the child, too: wait for it to exit.
  const ignore = () => {};
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGINT", ignore).on("SIGTERM", pass);
  return new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  }).finally(() => process.off("SIGINT", ignore).off("SIGTERM", pass));
}
