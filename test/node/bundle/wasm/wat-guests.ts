/** Guests in text format, prepared and run as the server does it, for tests. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble } from "../../../../src/bundle/wasm/binaryen.ts";
import { prepare } from "../../../../src/bundle/wasm/prepare.ts";
import { limits } from "../../../../src/limits.ts";
import { callExport, type Ending, type Program } from "../../../../src/wasm/call.ts";
import { nobody } from "../../../../src/wasm/pool.ts";
import type { Setup } from "../../../../src/wasm/setup.ts";
import { liveWorld } from "../../../../src/wasm/world.ts";

/** The wasm of a module with these fields. */
export async function assembled(fields: string): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await mkdtemp(join(tmpdir(), "guest-"));
  try {
    await writeFile(join(folder, "in.wat"), `(module ${fields})`);
    return await assemble(join(folder, "in.wat"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A program whose instances are compared with a new one each time that they are put back. */
export async function programOf(
  plugin: Uint8Array<ArrayBuffer>,
  memoryBytes = limits.memoryBytes,
): Promise<Program & { module: WebAssembly.Module }> {
  const { wasm, unrestorable } = await prepare(plugin, { memoryBytes }, ".bundle", () => {});
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
