import { currentBody, globalsFrom, globalsText } from "../../kernel/wasm/image.ts";
import type { Instance } from "../../kernel/wasm/link.ts";

/** The state of an instance besides its memory. */
export interface Rest {
  /** The size of its memory in pages of 64 KiB. */
  pages: number;
  globals: string[];
  /** Extism's variables, in base64. */
  vars: [name: string, value: string][];
}

/**
 * Sets the globals and the memory size of a pristine instance (not the content), and returns its variables.
 * Throws if they cannot belong to an instance of this build.
 */
export function applyRest(
  instance: Instance,
  { pages, globals, vars }: Rest,
): Map<string, Uint8Array> {
  const { pages: size, globals: own } = currentBody(instance);
  const before = Number(size?.value ?? 0);
  if (pages < before || (size === undefined && pages > 0) || globals.length !== own.length) {
    throw new Error("the state is that of another build");
  }
  if (pages > before) {
    const memory = instance.exports["memory"] as WebAssembly.Memory;
    // An instance that has served another call may be larger already.
    memory.grow(Math.max(0, pages - memory.buffer.byteLength / 65536));
    size!.value = pages;
  }
  for (const [at, value] of globalsFrom(globals).entries()) {
    own[at]!.value = value;
    // A value that a global cannot have becomes another one.
    if (globalsText([own[at]!.value as number | bigint])[0] !== globals[at]) {
      throw new Error(`${globals[at]} is no value of a global`);
    }
  }
  const found = new Map(vars.map(([name, value]) => [name, Uint8Array.fromBase64(value)]));
  if (found.size < vars.length) throw new Error("a variable has two values");
  return found;
}
