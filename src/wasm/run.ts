import { links } from "./link.ts";

/** Runs a function that a guest exports, suspended where it must be; what it returns is its code. */
export async function run(
  module: WebAssembly.Module,
  exported: WebAssembly.ExportValue | undefined,
): Promise<number> {
  const call = exported as () => number | undefined;
  return (links(module).suspends ? await WebAssembly.promising(call)() : call()) ?? 0;
}
