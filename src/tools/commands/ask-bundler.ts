import { request } from "node:http";
import { text } from "node:stream/consumers";
import { RUNS } from "../../server/kernel/settings/own-names.ts";
import type { Made } from "./make-module.ts";

/** The variable by which `dev` tells wrangler's build command where its bundler listens. */
export const BUNDLER = "EDGE_SERVLETS_BUNDLER";

/** A request of the build command: its arguments, and the folder that it runs in. */
export interface BundleRequest {
  args: string[];
  folder: string;
}

/** Asks the bundler of `dev` for the bundle. Returns undefined if no bundler runs, or if it serves another folder. */
export async function askBundler(args: string[]): Promise<Made | undefined> {
  const path = process.env[BUNDLER];
  // Wrangler reads what `--env-file` names into the environment of its build command: this process has to look there.
  if (path === undefined || process.env[RUNS] !== undefined) return undefined;
  const asked: BundleRequest = { args, folder: process.cwd() };
  return new Promise((done) => {
    const asking = request({ socketPath: path, method: "POST" }, (answer) => {
      // Cut off where `dev` ends: it has said why.
      const ended = text(answer).then(JSON.parse, () => ({ code: 1, said: "", failure: "" }));
      done(ended.then((made) => made ?? undefined));
    });
    asking.once("error", () => done(undefined));
    asking.end(JSON.stringify(asked));
  });
}
