import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * The output of each of some runs of `npm run simulate`, which one process plays one after another. It is a process of
 * its own: a simulation replaces the clock, timers and random numbers of its process.
 */
export async function play(...runs: string[]): Promise<string[]> {
  const args = runs.join(" --and ").split(" ");
  const run = promisify(execFile)(process.execPath, ["test/node/simulate/run.ts", ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const output = await run.then(
    ({ stdout }) => stdout,
    // It ends with code 1 where a seed fails; what it has printed says which.
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
  return output.split(/^▶ .*\n/m).slice(1);
}
