import { adviceAfter } from "../core/unknown-outcome.ts";
import type { CallContext } from "../core/call-context.ts";
import { Fault } from "../core/errors.ts";
import { isUpdate, type Notification } from "../core/model.ts";
import { JOURNAL_VERSION, type JournalHead, type KnownRecord } from "../core/record.ts";
import { isShortage } from "../core/suspension.ts";
import { callExport, type Ending, type Program } from "../wasm/call.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment, FindTool, FoundEntry } from "./deployment.ts";
import { dialects } from "./dialects.ts";
import { callHostBy } from "./host-calls.ts";
import { keepsState } from "./manifest.ts";
import { lookUpBy } from "./server-asks.ts";
import { fuelIn, tellEnded, tellFailed } from "./run-log.ts";
import type { Servlet } from "./servlet.ts";
import { runnerFor } from "./runners.ts";
import { callPartsOf, setupOf } from "./setup.ts";
import { inSpan, LINK } from "../observe/spans.ts";

/** Whether the instances of a servlet are reused, and whether that is checked. */
export function isolationOf({ manifest, restorable }: PreparedServlet, { isolation }: Deployment) {
  const isFresh = manifest.isolation === "fresh" || isolation === "fresh";
  return { restorable: restorable === true && !isFresh, checked: isolation === "checked" };
}

/** The program of a servlet whose code is in the bundle. */
export function programOf(bundled: PreparedServlet, deployment: Deployment): Program {
  const { module } = bundled;
  if (module === undefined) throw new Error(`the code of ${bundled.name} is not in the bundle`);
  const { userFunctions } = dialects[bundled.dialect];
  return { ...bundled, module, userFunctions, ...isolationOf(bundled, deployment) };
}

/** True for a call that runs in this isolate: of a stateless servlet in the bundle. */
export const runsHere = (entry: FoundEntry | Fault | undefined): boolean => {
  const servlet = entry instanceof Fault ? undefined : entry?.servlet;
  return servlet?.module !== undefined && !keepsState(servlet.manifest);
};

/** A servlet configured by its manifest and this deployment. It looks up the tools that it calls by `find`. */
export function connected(
  bundled: PreparedServlet,
  deployment: Deployment,
  find?: FindTool,
): Servlet {
  const own = deployment.own?.get(bundled);
  if (own !== undefined) return own;
  const { manifest, exports } = bundled;
  const runner = runnerFor(bundled, deployment);
  const program = bundled.module && programOf(bundled, deployment);
  return dialects[bundled.dialect].connect({
    exports,
    idsAsGiven: manifest.request_ids === "as-given",
    run: async (name, input, given, read) => {
      const notify = (notice: Notification) =>
        given.notify(isUpdate(notice) ? { ...notice, servlet: bundled.name } : notice);
      const call: CallContext = { ...given, notify };
      call.lookUp = lookUpBy({ servlet: bundled, call, deployment });
      if (deployment.hostFunctions?.size)
        call.callHost = callHostBy({ servlet: bundled, call, deployment });
      const caller = find && callerOf(bundled, given, { find, deployment });
      if (caller) Object.assign(call, caller.parts);
      const { recorded, keeper } = call;
      const head: Partial<JournalHead> = recorded?.head ?? {};
      const { version = JOURNAL_VERSION, hash = bundled.hash } = head;
      if (version !== JOURNAL_VERSION || hash !== bundled.hash)
        throw outdated(recorded!, bundled.name);
      const watched = {
        servlet: bundled.name,
        export: name,
        given: input.length,
        began: Date.now(),
        call,
        deployment,
      };
      const run = { export: name, input };
      const begin = () =>
        runner === undefined
          ? callExport(program ?? programOf(bundled, deployment), name, input, {
              ...setupOf(bundled, deployment, Object.assign(call, callPartsOf(call))),
              recorded,
              ...begunBy(call),
              keeper,
            })
          : runner.run(bundled, run, call, deployment);
      const isRecorded = call.trace?.isRecorded === true;
      let ending: Ending | undefined;
      try {
        ending = await (isRecorded ? inRunSpan(bundled.name, { name, call, begin }) : begin());
        call.spent?.(fuelIn(ending));
        caller?.ended(ending);
        const result = read(manifest.single_use_state === true ? usedOnce(ending) : ending);
        tellEnded(watched, ending, result);
        return result;
      } catch (error) {
        if (ending === undefined) caller?.failed();
        // The fuel of a run that was cut off is unknown; one that found no room has not begun.
        if (ending === undefined && !isShortage(Fault.from(error))) call.spent?.(Infinity);
        tellFailed(watched, ending, error);
        throw error;
      }
    },
  });
}

/** Makes tool calls for this servlet's guest; undefined if it may make none. */
function callerOf(
  servlet: PreparedServlet,
  call: CallContext,
  { find, deployment }: { find: FindTool; deployment: Deployment },
) {
  const { may_call: patterns = [] } = servlet.manifest;
  if (patterns.length === 0) return undefined;
  return deployment.toolCaller?.({ servlet, call, find, own: deployment.own });
}

/** The beginning of a call's record, if known. */
export const begunBy = ({ begun, input }: Pick<CallContext, "begun" | "input">) => ({
  seed: begun?.seed ?? input?.seed,
  time: begun?.time,
});

/** The ending of a run whose call may be resumed only once. */
function usedOnce(ending: Ending): Ending {
  return ending.kind === "returned" || ending.kind === "suspended"
    ? { ...ending, isSingleUse: true }
    : ending;
}

/** The fault of a call that cannot continue with the servlet's current build. */
export const outdated = (recorded: KnownRecord, servlet?: string) =>
  new Fault(
    "invalid_params",
    `The servlet ${servlet === undefined ? "" : `${servlet} `}or this server was updated after this call began, so the call cannot continue. ${adviceAfter(recorded)}`,
  );

/** A run of an export. */
interface Run {
  name: string;
  call: CallContext;
  begin(): Promise<Ending>;
}

/** Runs an export of a servlet in a span: `replay …` if it repeats recorded parts of an earlier run. */
const inRunSpan = (servlet: string, { name, call, begin }: Run): Promise<Ending> => {
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
        "edge_servlets.fuel": fuelIn(ending),
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
