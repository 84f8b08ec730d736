import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Refusal } from "../bundle/refusal.ts";

/** Destination of a process's output: this terminal, or a function that receives chunks. */
export type Output = "inherit" | ((chunk: string, stream: "stdout" | "stderr") => void);

interface ProcessOptions {
  /** Receives the messages of the process. */
  onMessage?: (message: unknown) => void;
  /** Text for its stdin. By default, stdin is inherited, or empty if a function receives the output. */
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
 * Runs a script with this Node; returns its exit code. Throws a `Refusal` if a signal interrupts this process while a
 * function receives the output: the caller must not continue with its next step.
 */
export function runNodeScript(
  script: string[],
  output: Output = "inherit",
  { onMessage, input, signal }: ProcessOptions = {},
): Promise<number> {
  const out = output === "inherit" ? "inherit" : "pipe";
  const from = output === "inherit" ? "inherit" : "ignore";
  const child = spawn(process.execPath, script, {
    // Wrangler would fetch a `cf` object from Cloudflare, which nothing reads, and print a stack trace when offline.
    env: { CLOUDFLARE_CF_FETCH_ENABLED: "false", ...process.env },
    stdio: [
      input === undefined ? from : "pipe",
      out,
      out,
      ...(onMessage ? (["ipc"] as const) : []),
    ],
  });
  // A process that ends without reading its input reports the reason by its exit code.
  child.stdin?.on("error", () => {}).end(input);
  if (onMessage) child.on("message", onMessage);
  if (output !== "inherit") {
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => output(chunk, name));
    }
  }
  let isInterrupted = false;
  // A terminal also sends SIGINT to the child: wait until the child exits.
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
