import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

type Output = "inherit" | ((chunk: string) => void);

interface ProcessOptions {
  /** Receives the messages of the process. */
  onMessage?: (message: unknown) => void;
  /** Ends the process. */
  signal?: AbortSignal;
}

/**
 * Runs wrangler; returns its exit code. It uses this terminal, unless `output` is a function that takes its output in
 * chunks.
 */
export function wrangler(
  args: string[],
  output: Output = "inherit",
  options: ProcessOptions = {},
): Promise<number> {
  const folder = dirname(createRequire(import.meta.url).resolve("wrangler/package.json"));
  return runNodeScript([join(folder, "bin/wrangler.js"), ...args], output, options);
}

/** Runs a script with this Node; returns its exit code. */
export function runNodeScript(
  script: string[],
  output: Output = "inherit",
  { onMessage, signal }: ProcessOptions = {},
): Promise<number> {
  const [input, out] =
    output === "inherit" ? (["inherit", "inherit"] as const) : (["ignore", "pipe"] as const);
  const child = spawn(process.execPath, script, {
    // Nothing here reads what it would ask Cloudflare about this machine's network, with a stack trace where it is offline.
    env: { CLOUDFLARE_CF_FETCH_ENABLED: "false", ...process.env },
    stdio: [input, out, out, ...(onMessage ? (["ipc"] as const) : [])],
  });
  if (onMessage) child.on("message", onMessage);
  if (output !== "inherit") {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", output);
    }
  }
  // A terminal sends SIGINT to the child, too: wait for it to exit.
  const ignore = () => {};
  const pass = (name: NodeJS.Signals) => void child.kill(name);
  process.on("SIGINT", ignore).on("SIGTERM", pass);
  signal?.addEventListener("abort", () => child.kill());
  return new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  }).finally(() => process.off("SIGINT", ignore).off("SIGTERM", pass));
}
