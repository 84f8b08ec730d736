/** Loads a script into the JavaScript engine and keeps the changes as a patch. */
import { join } from "node:path";
import * as z from "zod";
import { dialects } from "../../servlets/dialects.ts";
import { Guest, type Setup } from "../../wasm/guest.ts";
import { difference, encodeImage, memoryOf } from "../../wasm/image.ts";
import { Journal } from "../../wasm/journal.ts";
import { instantiate, run } from "../../wasm/link.ts";
import { startWorld } from "../../wasm/world.ts";
import { readIfThere, sha256, writeWhole } from "../cache.ts";
import { ENGINE_EXPORTS, type Prepared } from "./prepare.ts";
import { Refusal } from "../refusal.ts";

/** Changes closer than this many bytes are one run: finer patches are smaller, coarser ones faster. */
const GRAIN = 64;

/** A servlet in TypeScript, ready to be served by an engine. */
export interface Snapshot {
  /** Where the patch lies in the cache. */
  path: string;
  patch: Uint8Array<ArrayBuffer>;
  /** The exports of the engine that the servlet answers. */
  exports: string[];
}

/**
 * The patch that makes an engine which has started one that has loaded `script`.
 *
 * Throws a `Refusal` with what the script threw.
 */
export async function snapshot(engine: Prepared, script: string, cache: string): Promise<Snapshot> {
  const key = sha256(engine.hash, String(GRAIN), script).slice(0, 32);
  const path = join(cache, `${key}.bin`);
  const note = join(cache, `${key}.exports.json`);
  const [patch, exports] = [await readIfThere(path), await readIfThere(note)];
  if (patch !== undefined && exports !== undefined) {
    return { path, patch, exports: exportsSchema.parse(JSON.parse(decoder.decode(exports))) };
  }
  const made = await load(await WebAssembly.compile(engine.wasm), script);
  await writeWhole(path, made.patch);
  await writeWhole(note, JSON.stringify(made.exports));
  return { path, ...made };
}

const decoder = new TextDecoder();
const exportsSchema = z.array(z.string());

/** Compiles in one instance and loads in another, so that nothing of the compiling is left in the patch. */
async function load(
  engine: WebAssembly.Module,
  script: string,
): Promise<Pick<Snapshot, "patch" | "exports">> {
  const compiler = await started(engine);
  const bytecode = (await compiler.run(ENGINE_EXPORTS.compile, script)) ?? new Uint8Array();
  const loader = await started(engine);
  const before = memoryOf(loader.exports).slice();
  const exports = await loader.run(ENGINE_EXPORTS.load, bytecode);
  return {
    patch: encodeImage(difference(loader.exports, before, GRAIN)),
    exports: exportsSchema.parse(JSON.parse(decoder.decode(exports) || "[]")),
  };
}

const { userFunctions } = dialects["hyper-v2"];

/** An engine that has started, and a way to run its exports. */
async function started(engine: WebAssembly.Module) {
  const logs: string[] = [];
  const setup: Setup = {
    world: startWorld,
    config: {},
    allowedHosts: [],
    secret: () => undefined,
    logLevel: "info",
    signal: () => new AbortController().signal,
    log: (_level, text) => logs.push(text),
    notify: () => {},
    ask: () => Promise.reject(new Error("nobody is there while a bundle is made")),
  };
  const guest = new Guest(setup, new Journal({ hash: "", input: "" }, startWorld, undefined));
  const instance = instantiate({ module: engine, userFunctions }, guest);
  const { exports } = instance;
  guest.attach(exports);
  await run(instance, "edge_start");
  return {
    exports,
    /** Runs an export; gives a copy of its output. Throws a `Refusal` where it fails. */
    run: async (name: string, input: string | Uint8Array) => {
      guest.setInput(input);
      const code = await run(instance, name).catch((error: unknown) => error);
      const message = guest.error();
      if (code !== 0 || message !== undefined)
        throw new Refusal(failureText(message ?? String(code), logs));
      return guest.outputBytes()?.slice();
    },
  };
}

function failureText(message: string, logs: string[]): string {
  const why = message.includes("interrupted")
    ? "its module scope does not come to an end: only handlers may loop or wait"
    : message;
  return [`it could not be loaded: ${why}`, ...logs].join("\n");
}
