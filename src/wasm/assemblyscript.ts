import { limits } from "../core/limits.ts";
import type { HostFunctions } from "./host-function.ts";

/** `abort`, which AssemblyScript calls before it traps. Its strings are UTF-16, their length before them. */
export const assemblyScriptFunctions: HostFunctions = {
  abort: (guest, message: number, file: number, line: number, column: number) => {
    const read = (at: number): string => {
      if (at === 0) return "";
      const length = guest.memory.getUint32(at - 4, true);
      const most = 2 * limits.logCharacters;
      if (length > most && guest.hasSecrets) return "a long message";
      return new TextDecoder("utf-16le").decode(guest.range(at, Math.min(length, most)));
    };
    guest.log("error", `abort: ${read(message)} (${read(file)}:${line}:${column})`);
    throw new WebAssembly.RuntimeError("unreachable");
  },
};
