/** Guests in text format, prepared and run as the server does it, for tests. */
import { readFile, writeFile } from "node:fs/promises";
import { FEATURES, inFolder, tool } from "../../../../src/tools/bundle/wasm/binaryen.ts";
import { prepare } from "../../../../src/tools/bundle/wasm/prepare.ts";
import { limits } from "../../../../src/server/kernel/core/limits.ts";
import { callExport, type Ending, type Program } from "../../../../src/server/kernel/wasm/call.ts";
import { nobody } from "../../../../src/server/kernel/wasm/pool.ts";
import type { Setup } from "../../../../src/server/kernel/wasm/setup.ts";
import { liveWorld } from "../../../../src/server/kernel/wasm/world.ts";

/** The wasm of a module with these fields; `features` are further ones, as binaryen calls them. */
export const assembled = (
  fields: string,
  ...features: string[]
): Promise<Uint8Array<ArrayBuffer>> =>
  inFolder(async (file) => {
    await writeFile(file("in.wat"), `(module ${fields})`);
    const enabled = features.map((name) => `--enable-${name}`);
    await tool("wasm-as", [file("in.wat"), "-o", file("out.wasm"), ...FEATURES, ...enabled]);
    return new Uint8Array(await readFile(file("out.wasm")));
  });

/** A program whose instances are compared with a new one each time that they are put back. */
export async function programOf(
  plugin: Uint8Array<ArrayBuffer>,
  memoryBytes = limits.memoryBytes,
  optimise = false,
): Promise<Program & { module: WebAssembly.Module }> {
  const how = { memoryBytes, optimise };
  const { wasm, unrestorable } = await prepare(plugin, how, ".bundle", () => {});
  return {
    module: await WebAssembly.compile(wasm),
    restorable: unrestorable === undefined,
    checked: true,
  };
}

/**
 * Calls the export `call`. Throws where the instance that was put back differs from a new one.
 */
export const callGuest = (
  program: Program,
  input: string,
  setup: Partial<Setup> = {},
): Promise<Ending> => callExport(program, "call", input, { ...nobody, world: liveWorld, ...setup });
