import { limits } from "../limits.ts";
import type { Guest } from "./guest.ts";
import type { Body } from "./image.ts";
import type { HostFunction } from "./host.ts";
import { namespaces } from "./namespaces.ts";

/** An instance, and the guest of the call that it is in. */
export interface Instance {
  guest: Guest | undefined;
  exports: WebAssembly.Exports;
  /** Looked up when it is first put back. */
  body?: Body;
}

/** What a module imports, found out once. */
interface Links {
  functions: { namespace: string; name: string; call: HostFunction }[];
  /** One of them suspends the guest, so its exports must be called through `WebAssembly.promising`. */
  suspends: boolean;
}

const AsyncFunction = (async () => {}).constructor;
const linksOf = new WeakMap<WebAssembly.Module, Links>();

export function links(module: WebAssembly.Module): Links {
  let found = linksOf.get(module);
  if (found === undefined) {
    const functions = WebAssembly.Module.imports(module).map(({ module: namespace, name }) => {
      const call = namespaces[namespace]?.[name];
      if (call === undefined) throw new Error(`nothing is offered as ${namespace}.${name}`);
      return { namespace, name, call };
    });
    found = {
      functions,
      suspends: functions.some(({ call }) => call.constructor === AsyncFunction),
    };
    linksOf.set(module, found);
  }
  return found;
}

/**
 * A new instance of a prepared servlet, in a call of this guest.
 *
 * The preparation leaves nothing for an Extism SDK to do but this, and going through the JavaScript SDK
 * costs a small call a tenth of its time; a test holds both ways against each other.
 */
export function instantiate(module: WebAssembly.Module, guest: Guest): Instance {
  const instance: Instance = { guest, exports: {} };
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { namespace, name, call } of links(module).functions) {
    (imports[namespace] ??= {})[name] = guarded(instance, call);
  }
  instance.exports = new WebAssembly.Instance(module, imports).exports;
  return instance;
}

/**
 * A host function that throws ends the call. A guest that catches the exception gets it again at its
 * next host call, and nothing it does then reaches the world.
 */
function guarded(instance: Instance, call: HostFunction): WebAssembly.ImportValue {
  const run = call as (guest: Guest, ...args: unknown[]) => unknown;
  const inCall = (): Guest => {
    const { guest } = instance;
    if (guest === undefined) throw new Error("an instance outside of a call has called its host");
    if (guest.ended === undefined) return guest;
    guest.pay(limits.slowCallFuel);
    throw guest.ended;
  };
  if (call.constructor === AsyncFunction) {
    return new WebAssembly.Suspending(async (...args: unknown[]) => {
      const guest = inCall();
      try {
        guest.pay(limits.slowCallFuel);
        return await run(guest, ...args);
      } catch (error) {
        throw (guest.ended ??= error);
      }
    });
  }
  return (...args: unknown[]) => {
    const guest = inCall();
    try {
      guest.pay(limits.hostCallFuel);
      return run(guest, ...args);
    } catch (error) {
      throw (guest.ended ??= error);
    }
  };
}
