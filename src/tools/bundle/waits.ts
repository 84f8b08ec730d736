/** Determines which servlets never wait, and which may ask the user. */
import { dialects, type DialectName } from "../../server/kernel/servlets/dialects.ts";
import { keepsState, type Manifest } from "../../server/kernel/servlets/manifest.ts";
import { suspendsIn } from "../../server/kernel/wasm/link.ts";
import { callsFeatures } from "./features.ts";

/** True if the code does not match the `waits` of its language, and the servlet has no state, webhooks or files, and may call no tools. */
export const codeNeverWaits = (text: string, waits: RegExp, manifest: Manifest): boolean =>
  !keepsState(manifest) &&
  manifest.may_call === undefined &&
  manifest.webhooks === undefined &&
  manifest.files === undefined &&
  !waits.test(text) &&
  !callsFeatures(text);

/** Names in code that asks the user: functions of the kits, and members of a result with questions. */
const ASKING =
  /\b(?:elicit(?!ation\/)\w*|ask(?:File|Secret)|ask_(?:file|secret|user)|requestInput|input_required|inputRequests|get_access_token)\b/;

/** Names in code that may call functions indirectly, in any interpreted language. */
const HIDING =
  /\b(?:runScript(?! } = __kit)|exec|eval|getattr|import_module|__import__)\b|\bFunction\(/;

/** True if interpreted code can ask the user; undefined if its text does not show that. */
export function codeMayAsk(text: string, hasPackages = false): boolean | undefined {
  if (ASKING.test(text)) return true;
  return hasPackages || HIDING.test(text) ? undefined : false;
}

/** Host functions that ask the user; `get_access_token` asks in the device flow. */
const ASKING_FUNCTIONS = new Set([
  "create_elicitation",
  "request_input",
  "ask_client",
  "get_access_token",
]);

/** True for a plugin that imports a host function that asks the user, or contains the text `input_required`. */
export const pluginMayAsk = (wasm: Uint8Array<ArrayBuffer>): boolean =>
  WebAssembly.Module.imports(new WebAssembly.Module(wasm)).some(({ name }) =>
    ASKING_FUNCTIONS.has(name),
  ) || Buffer.from(wasm.buffer, wasm.byteOffset, wasm.length).includes("input_required");

/** True for a plugin without state that imports no suspending function and does not contain `input_required`. */
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
