import { limits } from "../../server/kernel/core/limits.ts";
import { memoryBytes } from "../../server/kernel/core/text.ts";
import { keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import type { PrepareOptions } from "./wasm/prepare.ts";

/** How a servlet with this manifest is prepared. */
export function preparationOf(
  manifest: Manifest,
  { optimise }: { optimise: boolean },
): PrepareOptions {
  const limit = memoryBytes(manifest.memory_limit ?? "") ?? limits.memoryBytes;
  if (!keepsState(manifest)) return { memoryBytes: limit, optimise };
  // The pages that a call has written are stored, so each is marked.
  return { memoryBytes: Math.min(limit, limits.stateBytes), markedPages: 0, optimise };
}
