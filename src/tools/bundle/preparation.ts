import { limits } from "../../server/kernel/core/limits.ts";
import { memoryBytes } from "../../server/kernel/core/text.ts";
import { keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import type { PrepareOptions } from "./wasm/prepare.ts";

/** The options for preparing a servlet with this manifest. */
export function preparationOf(
  manifest: Manifest,
  { optimise }: { optimise: boolean },
): PrepareOptions {
  const limit = memoryBytes(manifest.memory_limit ?? "") ?? limits.memoryBytes;
  if (!keepsState(manifest)) return { memoryBytes: limit, optimise };
  // A call's written pages are stored, so all pages are marked.
  return { memoryBytes: Math.min(limit, limits.stateBytes), markedPages: 0, optimise };
}
