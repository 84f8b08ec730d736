/** Which servlets have no calls that wait for a person, or for long? */
import { dialects, type DialectName } from "../servlets/dialects.ts";
import { keepsState, type Manifest } from "../servlets/manifest.ts";
import { suspendsIn } from "../wasm/link.ts";

/** The names by which a script waits, or runs code that may; but for those that each script gets from the kit. */
const WAITING =
  /\b(?:elicit\w*|askSecret|sample|roots|requestInput|input_required|inputRequests|fetch|secret|sleep|set(?:Timeout|Interval)|timeout|subtle|runScript(?! } = __kit)|eval)\b|\bFunction\(/;

/** True for a servlet in TypeScript that mentions nothing that waits, and may call no tool that does. */
export const scriptNeverWaits = (text: string, manifest: Manifest): boolean =>
  !keepsState(manifest) && manifest.may_call === undefined && !WAITING.test(text);

/** True for a plugin that imports no function that suspends it, and has not the words of a result that asks. */
export function pluginNeverWaits(
  { wasm, dialect }: { wasm: Uint8Array<ArrayBuffer>; dialect: DialectName },
  manifest: Manifest,
): boolean {
  const { userFunctions } = dialects[dialect];
  return (
    !keepsState(manifest) &&
    !suspendsIn({ module: new WebAssembly.Module(wasm), userFunctions }) &&
    !Buffer.from(wasm.buffer, wasm.byteOffset, wasm.length).includes("input_required")
  );
}
