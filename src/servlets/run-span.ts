import type { CallContext } from "../core/call-context.ts";
import { Fault } from "../core/errors.ts";
import { inSpan, LINK } from "../observe/spans.ts";
import type { Ending } from "../wasm/call.ts";

/** A run of an export. */
interface Run {
  name: string;
  call: CallContext;
  begin(): Promise<Ending>;
}

/** Runs an export of a servlet in a span: `replay …` if it repeats what is recorded of an earlier run. */
export const inRunSpan = (servlet: string, { name, call, begin }: Run): Promise<Ending> => {
  const { trace, recorded } = call;
  const replayed = recorded?.entries.length ?? 0;
  const start = () => ({
    name: `${replayed === 0 ? "run" : "replay"} ${servlet}`,
    attributes: {
      "edge_servlets.servlet": servlet,
      "edge_servlets.export": name,
      "edge_servlets.replayed": replayed,
      [LINK]: trace?.link,
    },
  });
  return inSpan(trace, start, async (span) => {
    try {
      const ending = await begin();
      const { kind } = ending;
      span.set({
        "edge_servlets.outcome": kind === "suspended" ? "waits" : kind,
        "edge_servlets.fuel": fuelOf(ending),
        "error.type": kind === "trapped" || kind === "refused" ? kind : undefined,
      });
      return ending;
    } catch (error) {
      const { code } = Fault.from(error);
      span.set({ "edge_servlets.outcome": code, "error.type": code });
      throw error;
    }
  });
};

function fuelOf(ending: Ending): number | undefined {
  if (ending.kind === "suspended") return ending.suspended.fuelUsed;
  return ending.kind === "returned" ? ending.fuelUsed : undefined;
}
