/** Loads a script into the JavaScript interpreter and keeps the changes as a patch. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { dialects } from "../../../server/kernel/servlets/dialects.ts";
import { Exit, Guest, type Setup } from "../../../server/kernel/wasm/guest.ts";
import { memoryOf } from "../../../server/kernel/wasm/image.ts";
import { Journal } from "../../../server/kernel/wasm/journal.ts";
import { instantiate, runExport } from "../../../server/kernel/wasm/link.ts";
import { applyPatch, encodePatch } from "../../../server/kernel/wasm/patch.ts";
import { startWorld } from "../../../server/kernel/wasm/world.ts";
import { readIfThere, contentHash, writeWhole } from "../cache.ts";
import { shared } from "../work.ts";
import { BUNDLE_FUEL } from "./fuel.ts";
import { INTERPRETER_EXPORTS, type Cached, type Prepared } from "./prepare.ts";
import { OWN_EXTENSION } from "../own.ts";
import { Refusal } from "../refusal.ts";
import { parseJson } from "../../../server/kernel/core/text.ts";

/** A script that was loaded into an interpreter. */
export interface Snapshot {
  patch: Cached;
  /** The JSON value that the script passed to `__host.output`; an empty array if there was none. */
  output: unknown;
}

/** A script, and the name that it has in the traces of errors; with an empty name, traces have no lines of it. */
export interface Loaded {
  name: string;
  text: string;
  /** By a word in the text: a script whose bytecode stands there in base64. */
  within?: Readonly<Record<string, string>>;
}

/**
 * The patch that makes an interpreter which has started, and has the patches of `bases`, one that has loaded `script`.
 *
 * Throws a `Refusal` with what the script threw.
 */
export async function snapshot(
  interpreter: Prepared,
  script: Loaded,
  cache: string,
  bases: readonly Cached[] = [],
): Promise<Snapshot> {
  const bytecode = () => compiled(interpreter, script);
  return snapshotOf(interpreter, { key: JSON.stringify(script), bytecode }, cache, bases);
}

/** What is loaded into an interpreter: its key names it, `bytecode` gives what its export `edge_load` takes. */
interface Input {
  key: string;
  bytecode(): Promise<Uint8Array>;
}

/** As `snapshot`, of what is loaded already in the form that the interpreter takes. */
export async function snapshotOf(
  interpreter: Prepared,
  input: Input,
  cache: string,
  bases: readonly Cached[] = [],
): Promise<Snapshot> {
  const under = bases.length === 0 ? [""] : bases.map(({ bytes }) => bytes);
  const key = contentHash(interpreter.hash, await ownText, ...under, input.key);
  const path = join(cache, `${key.slice(0, 32)}.bin`);
  return shared(path, () => taken(path, interpreter, input, bases));
}

async function taken(
  path: string,
  interpreter: Prepared,
  input: Input,
  bases: readonly Cached[],
): Promise<Snapshot> {
  const note = path.replace(/bin$/, "output.json");
  const [patch, output] = [await readIfThere(path), await readIfThere(note)];
  if (patch !== undefined && output !== undefined) {
    return { patch: { path, bytes: patch }, output: parseJson(decoder.decode(output)) };
  }
  const made = await load(interpreter, await input.bytecode(), bases);
  await writeWhole(path, made.patch);
  await writeWhole(note, made.output);
  return { patch: { path, bytes: made.patch }, output: parseJson(made.output) };
}

const decoder = new TextDecoder();
/** How patches are written is part of what they depend on. */
const ownText = readFile(
  join(import.meta.dirname, `../../../server/kernel/wasm/patch${OWN_EXTENSION}`),
  "utf8",
);

const modules = new Map<string, Promise<WebAssembly.Module>>();
/** Compiled once for all servlets of an interpreter. */
function moduleOf({ hash, wasm }: Prepared): Promise<WebAssembly.Module> {
  const found = modules.get(hash) ?? WebAssembly.compile(wasm);
  modules.set(hash, found);
  return found;
}

/** The script as bytecode: another instance compiles than the one that loads, so nothing of it is left in the patch. */
async function compiled(
  interpreter: Prepared,
  { name, text, within = {} }: Loaded,
): Promise<Uint8Array> {
  const bytecodeOf = (source: string) =>
    runInterpreter(interpreter, [], INTERPRETER_EXPORTS.compile, `${name}\0${source}`);
  let whole = text;
  for (const [word, source] of Object.entries(within)) {
    whole = whole.replace(word, (await bytecodeOf(source)).toBase64());
  }
  return bytecodeOf(whole);
}

/** Runs an export in an instance of its own, which has the patches of `bases`; gives its output. Throws a `Refusal` where it fails. */
export async function runInterpreter(
  interpreter: Prepared,
  bases: readonly Cached[],
  name: string,
  input: string | Uint8Array,
): Promise<Uint8Array> {
  const { run } = await started(interpreter, bases);
  return (await run(name, input)) ?? new Uint8Array();
}

async function load(interpreter: Prepared, input: Uint8Array, bases: readonly Cached[]) {
  const loader = await started(interpreter, bases);
  const before = memoryOf(loader.instance.exports).slice();
  const output = await loader.run(INTERPRETER_EXPORTS.load, input);
  // What was freed while it ran would be part of the patch.
  const { collect } = INTERPRETER_EXPORTS;
  if (loader.instance.exports[collect] !== undefined) await runExport(loader.instance, collect);
  return {
    patch: encodePatch(loader.instance.exports, before),
    output: decoder.decode(output) || "[]",
  };
}

/** The functions of the host that interpreters import. */
export const { userFunctions } = dialects["hyper-v2"];

/** A guest while a bundle is made, for whom nobody can be asked; and the lines that it logs. */
export function bundlingGuest(): { guest: Guest; logs: string[] } {
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
    ask: () => Promise.reject(new Error("users cannot be asked while a bundle is made")),
  };
  const journal = new Journal({ hash: "", input: "" }, startWorld, undefined);
  return { guest: new Guest(setup, journal), logs };
}

/** An interpreter that has started and has the patches of `bases`, and a way to run its exports. */
async function started(interpreter: Prepared, bases: readonly Cached[]) {
  const { guest, logs } = bundlingGuest();
  const instance = instantiate({ module: await moduleOf(interpreter), userFunctions }, guest);
  const { exports } = instance;
  guest.attach(exports, { fuel: BUNDLE_FUEL });
  await runExport(instance, "edge_start");
  for (const { bytes } of bases) applyPatch(instance, bytes.buffer);
  return {
    instance,
    /** Runs an export; gives a copy of its output. Throws a `Refusal` where it fails. */
    run: async (name: string, input: string | Uint8Array) => {
      guest.setInput(input);
      const code = await Promise.try(runExport, instance, name).catch((error: unknown) => error);
      const message = guest.error();
      if (guest.fuelMeter?.isEmpty === true) throw new Refusal(failureText(ENDLESS, logs));
      if (code !== 0 || message !== undefined)
        throw new Refusal(failureText(message ?? endingText(code), logs));
      return guest.outputBytes()?.slice();
    },
  };
}

const ENDLESS = "its module scope does not come to an end: only handlers may loop or wait";

const endingText = (code: unknown): string =>
  code instanceof Exit ? `its module scope ended by exit code ${code.code}` : String(code);

function failureText(message: string, logs: string[]): string {
  const why = message.includes("interrupted") ? ENDLESS : message;
  return [`it could not be loaded: ${why}`, ...logs].join("\n");
}
