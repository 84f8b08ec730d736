import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * The output of `npm run simulate`, in a process of its own: a simulation replaces the clock, timers and
 * random numbers of its process.
 */
export async function play(...args: string[]): Promise<string> {
  const run = promisify(execFile)(process.execPath, ["test/node/simulate/run.ts", ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return run.then(
    ({ stdout }) => stdout,
    // It ends with code 1 where a seed fails; what it has printed says which.
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
}
