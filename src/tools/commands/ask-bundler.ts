import { request } from "node:http";
import { text } from "node:stream/consumers";
import { RUNS } from "../../server/kernel/settings/own-names.ts";
import type { Made } from "./make-module.ts";

/** The environment variable with the path of the bundler's socket, for wrangler's build command. */
export const BUNDLER = "EDGE_SERVLETS_BUNDLER";

/** A request of the build command: its arguments and its working directory. */
export interface BundleRequest {
  args: string[];
  folder: string;
}

/** Asks the bundler of `dev` for the bundle. Returns undefined if no bundler runs, or if it serves another folder. */
export async function askBundler(args: string[]): Promise<Made | undefined> {
  const path = process.env[BUNDLER];
  // Wrangler passes the variables of `--env-file` only to this process, so this process must check them for RUNS.
  if (path === undefined || process.env[RUNS] !== undefined) return undefined;
  const asked: BundleRequest = { args, folder: process.cwd() };
  return new Promise((done) => {
    const asking = request({ socketPath: path, method: "POST" }, (answer) => {
      // The answer is cut off if `dev` ends, which has then printed the reason.
      const ended = text(answer).then(JSON.parse, () => ({ code: 1, said: "", failure: "" }));
      done(ended.then((made) => made ?? undefined));
    });
    asking.once("error", () => done(undefined));
    asking.end(JSON.stringify(asked));
  });
}
