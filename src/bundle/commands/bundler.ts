/** Makes bundles for wrangler's build command in the process of `dev`, where compilers and interpreter stay loaded. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { BUNDLER, type BundleRequest } from "./ask-bundler.ts";
import type { Made } from "./make-module.ts";

/** Listens for the build command, which finds the address in its environment. */
export async function serveBundles() {
  const folder = await mkdtemp(join(tmpdir(), "edge-servlets-"));
  const path =
    process.platform === "win32"
      ? `\\\\.\\pipe\\${folder.replaceAll(/\W/g, "-")}`
      : join(folder, "bundler");
  let fault: Promise<string | undefined> | undefined;
  let latest: Promise<Made>;
  let isFirst = true;
  const answer = async ({ args, folder: asked }: BundleRequest) => {
    if (asked !== process.cwd()) return undefined;
    const isKnown = isFirst && args.length === 0;
    isFirst = false;
    if (!isKnown) {
      const { makeModule } = await import("./make-module.ts");
      const make = () => makeModule(args, { isReload: true });
      latest = latest.then(make, make);
    }
    return latest;
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const made = await answer((await json(request)) as BundleRequest);
    if ((await fault) === undefined) response.end(JSON.stringify(made ?? null));
  };
  const server = createServer((request, response) => {
    response.flushHeaders();
    respond(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(path, done));
  process.env[BUNDLER] = path;
  return {
    /**
     * Makes the first bundle. Gives why it cannot be served: it was not made, or `check` says so; undefined if it can.
     */
    begin: (check: () => Promise<string | undefined>): Promise<string | undefined> => {
      const made = import("./make-module.ts").then(({ makeModule }) =>
        makeModule([], { isReload: false, isDev: true }),
      );
      fault = made.then(async ({ code, failure }) => (code === 0 ? check() : failure));
      latest = fault.then(() => made);
      return fault;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
