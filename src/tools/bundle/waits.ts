/** Determines which servlets never wait, and which may ask the user. */
import { dialects, type DialectName } from "../../server/kernel/servlets/dialects.ts";
import { keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import { suspendsIn } from "../../server/kernel/wasm/link.ts";
import type { PythonServlet } from "../../languages/python/servlet.ts";

/** The names by which a script waits, or runs code that may; but for those that each script gets from the kit. */
const WAITING_SCRIPT =
  /\b(?:elicit\w*|askSecret|sample|roots|requestInput|input_required|inputRequests|fetch|secret|sleep|set(?:Timeout|Interval)|timeout|subtle|runScript(?! } = __kit)|eval)\b|\bFunction\(/;

/** The names by which code in Python waits, or reaches functions that may. */
const WAITING_PYTHON =
  /\b(?:elicit\w*|ask_\w+|sample|list_roots|fetch|secret|sleep|timeout|timeout_at|wait_for|call_tool|tools|input_required|exec|eval|getattr|import_module|__import__)\b/;

/** True if the text has none of the names of waiting, and the servlet may call no tool that waits. */
const neverWaits = (text: string, names: RegExp, manifest: Manifest): boolean =>
  !keepsState(manifest) && manifest.may_call === undefined && !names.test(text);

/** Names in code that asks the user: functions of the kits, and members of a result that asks. */
const ASKING =
  /\b(?:elicit(?!ation\/)\w*|askSecret|ask_(?:secret|user)|requestInput|input_required|inputRequests)\b/;

/** Names in code that may call functions whose names are not in its text. */
const HIDING =
  /\b(?:runScript(?! } = __kit)|exec|eval|getattr|import_module|__import__)\b|\bFunction\(/;

/** True if the code of a servlet in TypeScript or Python can ask the user; undefined if its text does not show whether. */
export function codeMayAsk(text: string, hasPackages = false): boolean | undefined {
  if (ASKING.test(text)) return true;
  return hasPackages || HIDING.test(text) ? undefined : false;
}

/** True for a plugin that imports a host function that asks the user, or contains the text `input_required`. */
export const pluginMayAsk = (wasm: Uint8Array<ArrayBuffer>): boolean =>
  WebAssembly.Module.imports(new WebAssembly.Module(wasm)).some(({ name }) =>
    ["create_elicitation", "request_input", "ask_client"].includes(name),
  ) || Buffer.from(wasm.buffer, wasm.byteOffset, wasm.length).includes("input_required");

/** True for a servlet in TypeScript that never waits. */
export const scriptNeverWaits = (text: string, manifest: Manifest): boolean =>
  neverWaits(text, WAITING_SCRIPT, manifest);

/** True for a servlet in Python that never waits. The code of packages is not searched, so one that has some may wait. */
export const pythonNeverWaits = (
  { text, hasPackages }: Pick<PythonServlet, "text" | "hasPackages">,
  manifest: Manifest,
): boolean => !hasPackages && neverWaits(text, WAITING_PYTHON, manifest);

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
