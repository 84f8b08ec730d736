import { Fault } from "../errors.ts";
import { JOURNAL_VERSION, type Head } from "../record.ts";
import { callExport, type Program } from "../wasm/call.ts";
import type { BundledServlet } from "./bundle.ts";
import { logRun, type Deployment } from "./deployment.ts";
import { dialects } from "./dialects.ts";
import { keepsState } from "./manifest.ts";
import type { Servlet } from "./servlet.ts";
import { partsOf, setupOf } from "./setup.ts";

export function programOf(bundled: BundledServlet, { isolation }: Deployment): Program {
  const { module } = bundled;
  if (module === undefined) throw new Error(`the code of ${bundled.name} is not in the bundle`);
  const isFresh = bundled.manifest.isolation === "fresh" || isolation === "fresh";
  return {
    ...bundled,
    module,
    userFunctions: dialects[bundled.dialect].userFunctions,
    restorable: bundled.restorable === true && !isFresh,
    checked: isolation === "checked",
  };
}

/** A servlet that is configured by its manifest and this deployment. */
export function connected(bundled: BundledServlet, deployment: Deployment): Servlet {
  const { manifest, exports } = bundled;
  const { record, runStateful } = deployment;
  const program = programOf(bundled, deployment);
  return dialects[bundled.dialect].connect({
    exports,
    idsAsGiven: manifest.request_ids === "as-given",
    run: (name, input, call) => {
      const { recorded, keeper } = call;
      const head: Partial<Head> = recorded?.head ?? {};
      const { version = JOURNAL_VERSION, hash = bundled.hash } = head;
      if (version !== JOURNAL_VERSION || hash !== bundled.hash) {
        throw new Fault(
          "invalid_params",
          `The servlet ${bundled.name} or this server was updated after this call began, so the call cannot continue. Call again.`,
        );
      }
      const began = Date.now();
      const ending =
        runStateful !== undefined && keepsState(manifest)
          ? runStateful(bundled, { export: name, input }, call)
          : callExport(program, name, input, {
              ...setupOf(bundled, deployment, { ...call, ...partsOf(call) }),
              recorded,
              seed: call.input?.seed,
              keeper,
            });
      if (record === undefined) return ending;
      const about = { servlet: bundled.name, export: name, given: input.length, began };
      return logRun(about, call, { record, ending });
    },
  });
}
