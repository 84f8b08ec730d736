/** Starts Python from files, as nothing but the making of its base does: whoever bundles a servlet begins with that. */
import { WASI } from "node:wasi";
import { bundlingGuest, userFunctions } from "../../../src/tools/bundle/wasm/snapshot.ts";
import { hostFunctions, type Instance } from "../../../src/server/kernel/wasm/link.ts";

export interface Started {
  instance: Instance;
  /** Runs an export; gives a copy of its output. Throws what it said in the log where it fails. */
  run(name: string, input: Uint8Array | string): Uint8Array;
}

/** An instance of the prepared engine whose /lib is this folder, before Python has started in it. */
export function boot(engine: WebAssembly.Module, lib: string): Started {
  const { guest, logs } = bundlingGuest();
  const wasi = new WASI({
    version: "preview1",
    preopens: { "/lib": lib },
    env: {},
    returnOnExit: false,
  });
  const offered: Readonly<Record<string, Readonly<Record<string, Function>>>> = {
    ...hostFunctions(userFunctions),
    "edge:wasi": {},
  };
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module, name } of WebAssembly.Module.imports(engine)) {
    const own = offered[module]![name];
    const call =
      own === undefined
        ? (wasi.wasiImport as Record<string, Function>)[name]!
        : (...args: unknown[]) => own(guest, ...args) as unknown;
    (imports[module] ??= {})[name] = call;
  }
  const { exports } = new WebAssembly.Instance(engine, imports);
  const instance: Instance = { guest, exports, suspends: false };
  wasi.initialize({ exports: { memory: exports["memory"]! } });
  guest.attach(exports, { fuel: 2 ** 42 });
  (exports["edge_start"] as () => void)();
  return {
    instance,
    run(name, input) {
      guest.setInput(input);
      let code: unknown;
      try {
        code = (exports[name] as () => number)();
      } catch (error) {
        code = error;
      }
      const message = guest.error();
      if (code !== 0 || message !== undefined)
        throw new Error([name, message ?? String(code), ...logs].join("\n"));
      return guest.outputBytes()!.slice();
    },
  };
}
