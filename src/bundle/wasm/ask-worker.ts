/**
 * Runs in workerd while a bundle is made: finds out how servlets start, and asks them for their lists,
 * through the code that will serve them.
 */
import { Fault } from "../../errors.ts";
import { dialects } from "../../servlets/dialects.ts";
import { listAll } from "../../servlets/servlet.ts";
import { callExport } from "../../wasm/call.ts";
import { liveWorld } from "../../wasm/world.ts";
import { warmUp, watchedSetup, type Asked } from "./warm-up.ts";

export function answerer(servlets: Record<string, Asked>) {
  return {
    async fetch(request: Request): Promise<Response> {
      const asked = servlets[new URL(request.url).pathname.slice(1)]!;
      const { patch: warmed, ...warm } = await warmUp(asked);
      const answer = { ...warm, ...(warmed && { patch: warmed.toBase64() }) };
      const calls = new Set<string>();
      const logs: string[] = [];
      if (!asked.listed) return Response.json({ ...answer, calls: [], logs });
      const { dialect, exports, idsAsGiven, module, base, patch, allowedHosts } = asked;
      const { connect, userFunctions } = dialects[dialect];
      const program = {
        module,
        userFunctions,
        ...(base && { base }),
        ...(patch && { patch }),
        startsOnce: warm.startsOnce,
      };
      const servlet = connect({
        exports,
        idsAsGiven,
        run: (name, input) =>
          callExport(
            program,
            name,
            input,
            watchedSetup(calls, logs, { world: liveWorld, allowedHosts }),
          ),
      });
      try {
        const lists = await listAll(servlet);
        for (const quiet of QUIET) calls.delete(quiet);
        return Response.json({ ...answer, lists, calls: [...calls], logs });
      } catch (error) {
        const fault = Fault.from(error);
        const why = fault.code === "internal" ? String(fault.cause) : fault.message;
        return Response.json({ ...answer, error: why, calls: [...calls], logs });
      }
    },
  };
}

/** Host services that a servlet may use while it lists, without a warning. */
const QUIET = ["the log", "a notification"];
