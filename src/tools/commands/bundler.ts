/** Makes bundles for wrangler's build command in the process of `dev`, where compilers and interpreters stay loaded. */
import { statSync, watch } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { BUNDLER, type BundleRequest } from "./ask-bundler.ts";
import type { Made } from "./make-module.ts";

/**
 * Listens for the build command, which reads the socket's path from its environment. Makes a bundle as soon as a
 * watched file changes, so that it is ready when wrangler has started the command. Wrangler misses some new folders:
 * `overlooked` is called if the build command has not requested a changed bundle after `patienceMs`.
 */
export async function serveBundles(
  watched: readonly string[] = [],
  { overlooked = () => {}, patienceMs = PATIENCE_MS } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "edge-servlets-"));
  const path =
    process.platform === "win32"
      ? `\\\\.\\pipe\\${folder.replaceAll(/\W/g, "-")}`
      : join(folder, "bundler");
  let fault: Promise<string | undefined> | undefined;
  let latest: Promise<Made>;
  /** The first bundle, or one made after a change; undefined once the build command has requested it. */
  let ready: Promise<Made> | undefined;
  /** Text of the module that the build command received last. */
  let before: string | undefined;
  let isQueued = false;
  const make = (args: string[] = []): Promise<Made> => {
    const begin = async () => {
      isQueued = false;
      const { makeModule } = await import("./make-module.ts");
      return makeModule(args, {
        isReload: true,
        isWarm: true,
        ...(before !== undefined && { before }),
      });
    };
    return (latest = latest.then(begin, begin));
  };
  const answer = async ({ args, folder: asked }: BundleRequest) => {
    if (asked !== process.cwd()) return undefined;
    const making = (args.length === 0 && ready) || make(args);
    ready = undefined;
    const made = await making;
    before = await (await import("./make-module.ts")).readModule();
    return made;
  };
  const isOverlooked = async (made: Promise<Made>): Promise<boolean> => {
    await made;
    await pause(patienceMs, undefined, { ref: false });
    const { readModule } = await import("./make-module.ts");
    return before !== undefined && before !== (await readModule()) && made === ready;
  };
  const unwatch = onChange(watched, () => {
    if (fault === undefined || (isQueued && ready !== undefined)) return;
    const made = make();
    [ready, isQueued] = [made, true];
    // Ignore a failure here: the build command reports it when it requests the bundle.
    isOverlooked(made)
      .then((is) => void (is && overlooked()))
      .catch(() => {});
  });
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
    /** Makes the first bundle. Resolves to the error of the bundle or of `check`, or to undefined if there is none. */
    begin: (check: () => Promise<string | undefined>): Promise<string | undefined> => {
      const made = import("./make-module.ts").then(({ makeModule }) =>
        makeModule([], { isReload: false, isDev: true, isWarm: true }),
      );
      fault = made.then(async ({ code, failure }) => (code === 0 ? check() : failure));
      ready = latest = fault.then(() => made);
      return fault;
    },
    close: async () => {
      unwatch();
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Time for wrangler's build command to request a finished bundle, in ms. */
const PATIENCE_MS = 3000;

/** Debounce time for file changes, in ms: editors and git write several files, and one file in several steps. */
const SETTLED_MS = 20;

/** Calls a function after changes in these files and folders, which need not exist. Returns a function to stop. */
function onChange(paths: readonly string[], changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLED_MS);
  };
  const watchers = paths.flatMap((path) => {
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const name = basename(path);
    try {
      const watcher = isFolder
        ? watch(path, { recursive: true }, later)
        : watch(dirname(path), (_event, one) => void (one === name && later()));
      // Without a watcher, the bundle is made when the build command requests it.
      return [watcher.on("error", () => {})];
    } catch {
      return [];
    }
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
