import { Fault } from "../core/errors.ts";
import type { Guest } from "./guest.ts";
import type { InstanceViews, Patched } from "./image.ts";
import { extismFunctions } from "./extism.ts";
import type { HostFunction, HostFunctions } from "./host-function.ts";
import { errno } from "./wasi-abi.ts";
import { MARKS_EXPORT } from "./marks.ts";
import { wasiFunctions } from "./wasi.ts";
import { limits } from "../core/limits.ts";

/** Fuel for a host function, and for one that suspends the guest or throws. */
const HOST_CALL_FUEL = 1600;
const SLOW_CALL_FUEL = 4000;

/** The code of a servlet, and its dialect's host functions. */
export interface Code {
  module: WebAssembly.Module;
  /** Its dialect's functions of `extism:host/user`. */
  userFunctions?: HostFunctions;
}

/** The functions that prepared servlets may import, by namespace. */
export const hostFunctions = (userFunctions: HostFunctions = {}) => ({
  "edge:host": extismFunctions,
  "edge:user": userFunctions,
  "edge:wasi": wasiFunctions,
  "edge:env": assemblyScriptFunctions,
});

/** An instance, and the guest of its current call. */
export interface Instance {
  guest: Guest | undefined;
  exports: WebAssembly.Exports;
  /** True if it imports a function that suspends it. */
  suspends: boolean;
  /** True if its state includes start functions that ran in an earlier call. */
  hasStarted?: boolean;
  /** For an interpreter: the patch of the servlet that it currently runs. */
  patch?: ArrayBuffer;
  /** Its state with this patch, once it serves the same servlet again. */
  patched?: Patched | undefined;
  /** Views of its state, made when it is first restored. */
  body?: InstanceViews;
  /** Its exports as functions that may be suspended; each wrapper is made on its first call. */
  promising?: Map<string, () => Promise<number | undefined>>;
}

/** The imports of a module, looked up once. */
interface Links {
  functions: { namespace: string; name: string; call: HostFunction }[];
  /** True if an import suspends the guest: then exports are called through `WebAssembly.promising`. */
  suspends: boolean;
}

/** Exports that the preparation adds to each module, by their kinds. */
const MARKS: Readonly<Record<string, string>> = {
  edge_fuel: "global",
  edge_memory: "memory",
  edge_alloc: "function",
  edge_free: "function",
  edge_input: "function",
  edge_length: "function",
};
/** Exports that it adds to a module with its own memory. */
const MEMORY_MARKS = { memory: "memory", edge_pages: "global" };

/**
 * Throws `invalid_params` for a module that was not prepared for this host: its computation would not be counted, its
 * memory not bounded, and its writes not undone.
 */
export function demandPrepared(module: WebAssembly.Module): void {
  const exports = new Map<string, string>(
    WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]),
  );
  const marks = [...exports.keys()].filter((name) => name.startsWith("edge_marks"));
  const others = marks.filter((name) => name !== MARKS_EXPORT);
  if (others.length > 0) throw notPrepared(`it has ${others[0]!}, and this server ${MARKS_EXPORT}`);
  const own = marks.length > 0 || ["memory", "edge_pages"].some((name) => exports.has(name));
  for (const [name, kind] of Object.entries({ ...MARKS, ...(own && MEMORY_MARKS) }))
    if (exports.get(name) !== kind) throw notPrepared(`it does not export the ${kind} ${name}`);
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
    if (kind !== "function") throw notPrepared(`it imports the ${kind} ${from}.${name}`);
}

/** The fault of a module that lacks a mark of the preparation. */
export const notPrepared = (why: string) =>
  new Fault(
    "invalid_params",
    `The servlet's module was not prepared for this version of the server: ${why}. Prepare and send it with \`npm run servlets -- install\`.`,
  );

const AsyncFunction = (async () => {}).constructor;
const knownLinks = new WeakMap<WebAssembly.Module, Links>();

/** True if this code imports a function that suspends it. */
export const suspendsIn = (code: Code): boolean => linksOf(code).suspends;

const linksOf = ({ module, userFunctions }: Code): Links =>
  knownLinks.getOrInsertComputed(module, () => {
    demandPrepared(module);
    const offered: Readonly<Record<string, HostFunctions>> = hostFunctions(userFunctions);
    const functions = WebAssembly.Module.imports(module).map(({ module: namespace, name }) => {
      const call = offered[namespace]?.[name];
      if (call === undefined) throw new Error(`nothing is offered as ${namespace}.${name}`);
      return { namespace, name, call };
    });
    const suspends = functions.some(({ call }) => call.constructor === AsyncFunction);
    return { functions, suspends };
  });

/**
 * A new instance of a prepared servlet, in a call of this guest.
 *
 * The preparation leaves only this to an Extism SDK, and using the JavaScript SDK costs a small call a tenth of its
 * time; a test compares both ways.
 */
export function instantiate(code: Code, guest: Guest): Instance {
  const { functions, suspends } = linksOf(code);
  const instance: Instance = { guest, exports: {}, suspends };
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { namespace, name, call } of functions) {
    (imports[namespace] ??= {})[name] = guarded(instance, { name, call }, suspends);
  }
  instance.exports = new WebAssembly.Instance(code.module, imports).exports;
  return instance;
}

/** Runs an exported function. Returns its exit code, as a promise only if the instance can be suspended. */
export function runExport(instance: Instance, name: string): number | Promise<number> {
  const { suspends, exports, guest } = instance;
  const call = exports[name] as () => number | undefined;
  try {
    if (suspends) return promisingOf(instance, name, call)().then((code) => code ?? 0);
    return call() ?? 0;
  } finally {
    guest!.count();
  }
}

function promisingOf(
  instance: Instance,
  name: string,
  call: () => number | undefined,
): () => Promise<number | undefined> {
  const made: NonNullable<Instance["promising"]> = (instance.promising ??= new Map());
  return made.getOrInsertComputed(name, () => WebAssembly.promising(call));
}

/** Names of WASI's functions on files. */
const ON_FILES = /^(fd|path)_/;

/**
 * Wraps a host function: an exception that it throws ends the call. A guest that catches the exception gets it again at
 * its next host call, and nothing it does then has an effect. If the guest can be suspended and has computed for a
 * while, other guests run first. In a guest that collects garbage, all functions except those on files fail with a WASI
 * error.
 */
function guarded(
  instance: Instance,
  { name, call }: { name: string; call: HostFunction },
  suspends: boolean,
): WebAssembly.ImportValue {
  const invoke = call as (guest: Guest, ...args: unknown[]) => unknown;
  const whileCollecting = (guest: Guest, args: unknown[]) => {
    guest.pay(HOST_CALL_FUEL);
    return ON_FILES.test(name) ? invoke(guest, ...args) : errno.io;
  };
  const inCall = (): Guest => {
    const { guest } = instance;
    if (guest === undefined) throw new Error("an instance outside of a call has called its host");
    if (guest.ended === undefined) return guest;
    guest.pay(SLOW_CALL_FUEL);
    throw guest.ended;
  };
  if (call.constructor === AsyncFunction) {
    return new WebAssembly.Suspending(async (...args: unknown[]) => {
      const guest = inCall();
      if (guest.isCollecting) return whileCollecting(guest, args);
      try {
        guest.pay(SLOW_CALL_FUEL);
        if (guest.enter()) await guest.giveWay();
        return await invoke(guest, ...args);
      } catch (error) {
        throw (guest.ended ??= error);
      }
    });
  }
  const later = async (guest: Guest, args: unknown[]): Promise<unknown> => {
    try {
      await guest.giveWay();
      return invoke(guest, ...args);
    } catch (error) {
      throw (guest.ended ??= error);
    }
  };
  const now = (...args: unknown[]) => {
    const guest = inCall();
    if (guest.isCollecting) return whileCollecting(guest, args);
    try {
      guest.pay(HOST_CALL_FUEL);
      if (guest.enter() && suspends) return later(guest, args);
      return invoke(guest, ...args);
    } catch (error) {
      throw (guest.ended ??= error);
    }
  };
  return suspends ? new WebAssembly.Suspending(now) : now;
}

/** `abort`, which AssemblyScript calls before it traps. Its strings are UTF-16, their length before them. */
const assemblyScriptFunctions: HostFunctions = {
  abort: (guest, message: number, file: number, line: number, column: number) => {
    const read = (at: number): string => {
      if (at === 0) return "";
      const length = guest.memory.getUint32(at - 4, true);
      const most = 2 * limits.logCharacters;
      if (length > most && guest.hasSecrets) return "a long message";
      return new TextDecoder("utf-16le").decode(guest.range(at, Math.min(length, most)));
    };
    guest.log("error", `abort: ${read(message)} (${read(file)}:${line}:${column})`);
    throw new WebAssembly.RuntimeError("unreachable");
  },
};
