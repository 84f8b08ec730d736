import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Refusal } from "../bundle/refusal.ts";

/** Where the output of a process goes: to this terminal, or in chunks to a function. */
export type Output = "inherit" | ((chunk: string, stream: "stdout" | "stderr") => void);

interface ProcessOptions {
  /** Receives the messages of the process. */
  onMessage?: (message: unknown) => void;
  /** Its standard input; by default that of this terminal, or none where a function takes the output. */
  input?: string;
  /** Ends the process. */
  signal?: AbortSignal;
}

/** Runs wrangler; returns its exit code. Throws as `runNodeScript`. */
export function wrangler(
  args: string[],
  output: Output = "inherit",
  options: ProcessOptions = {},
): Promise<number> {
  const folder = dirname(createRequire(import.meta.url).resolve("wrangler/package.json"));
  return runNodeScript([join(folder, "bin/wrangler.js"), ...args], output, options);
}

/**
 * Runs a script with this Node; returns its exit code.
 *
 * Throws a `Refusal` if a signal stops this process while a function takes the output: that is one step of several, and
 * the next must not begin.
 */
export function runNodeScript(
  script: string[],
  output: Output = "inherit",
  { onMessage, input, signal }: ProcessOptions = {},
): Promise<number> {
  const out = output === "inherit" ? "inherit" : "pipe";
  const from = output === "inherit" ? "inherit" : "ignore";
  const child = spawn(process.execPath, script, {
    // Nothing here reads what it would ask Cloudflare about this machine's network, with a stack trace where it is offline.
    env: { CLOUDFLARE_CF_FETCH_ENABLED: "false", ...process.env },
    stdio: [
      input === undefined ? from : "pipe",
      out,
      out,
      ...(onMessage ? (["ipc"] as const) : []),
    ],
  });
  // A process that ends without reading it says why by its exit code.
  child.stdin?.on("error", () => {}).end(input);
  if (onMessage) child.on("message", onMessage);
  if (output !== "inherit") {
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => output(chunk, name));
    }
  }
  let isInterrupted = false;
  // A terminal sends SIGINT to the child, too: wait for it to exit.
  const wait = () => void (isInterrupted = true);
  const pass = (name: NodeJS.Signals) => {
    isInterrupted = true;
    child.kill(name);
  };
  process.on("SIGINT", wait).on("SIGTERM", pass);
  signal?.addEventListener("abort", () => child.kill());
  return new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      if (isInterrupted && output !== "inherit") fail(new Refusal("Interrupted."));
      else done(code ?? 1);
    });
  }).finally(() => process.off("SIGINT", wait).off("SIGTERM", pass));
}
