/** How a servlet starts and what it lists, found out through the code that will serve it. */
import { Fault } from "../../../server/kernel/core/errors.ts";
import { dialects } from "../../../server/kernel/servlets/dialects.ts";
import { listAll } from "../../../server/kernel/servlets/servlet.ts";
import { callExport } from "../../../server/kernel/wasm/call.ts";
import { liveWorld } from "../../../server/kernel/wasm/world.ts";
import { warmUp, watchedSetup, type WarmUpInput } from "./warm-up.ts";

/** An answer in JSON, as `ask.ts` reads it. */
export async function answer(asked: WarmUpInput): Promise<object> {
  const { patch: warmed, ...warm } = await warmUp(asked);
  const known = { ...warm, ...(warmed && { patch: warmed.toBase64() }) };
  const calls = new Set<string>();
  const logs: string[] = [];
  const { dialect, exports, idsAsGiven, module, base, packages, patch, allowedHosts, fuel } = asked;
  const { connect, userFunctions } = dialects[dialect];
  const program = {
    module,
    userFunctions,
    ...(base && { base }),
    ...(packages && { packages }),
    ...(patch && { patch }),
    startsOnce: warm.startsOnce,
  };
  const servlet = connect({
    exports,
    idsAsGiven,
    run: async (name, input, _call, read) => {
      const setup = watchedSetup(calls, logs, { world: liveWorld, allowedHosts, fuel });
      const files = asked.files?.();
      if (files !== undefined) setup.files = files;
      const ending = await callExport(program, name, input, setup);
      files?.drop();
      if ("failure" in ending && ending.failure !== undefined) logs.push(ending.failure);
      return read(ending);
    },
  });
  try {
    const { lists, failures } = await listAll(servlet);
    for (const quiet of QUIET) calls.delete(quiet);
    if (!asked.listed) {
      // What asks for something may find it when it is served.
      return { ...known, calls: [], logs, failures: calls.size > 0 ? [] : failures };
    }
    const [failure] = failures;
    if (failure !== undefined) throw new Fault("servlet_failed", failure.message);
    return { ...known, lists, calls: [...calls], logs };
  } catch (error) {
    if (!asked.listed) return { ...known, calls: [], logs };
    const fault = Fault.from(error);
    const why = fault.code === "internal" ? String(fault.cause) : fault.message;
    return { ...known, error: why, calls: [...calls], logs };
  }
}

/** Host services that a servlet may use while it lists, without a warning. */
const QUIET = ["the log", "a notification"];
