import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import { keepsState } from "../servlets/manifest.ts";
import { unsettled, type StateObject } from "./remote-hooks.ts";
import type { StateSummary } from "./state-export.ts";
import { callerScope, stateName, type Scope } from "./state-scopes.ts";

/** Operations of operators on the state that servlets keep. */
export interface OperatedStates {
  summary(servlet: string, scope: Scope): Promise<StateSummary>;
  /** The whole as a file. */
  exported(servlet: string, scope: Scope): Promise<ReadableStream<Uint8Array>>;
  imported(
    servlet: string,
    scope: Scope,
    given: { file: ReadableStream<Uint8Array>; filesOnly: boolean },
  ): Promise<StateSummary>;
  forget(servlet: string, scope: Scope): Promise<void>;
  /** Deletes what all servlets keep for one caller, by its key. Returns their names. */
  forgetCaller(caller: string): Promise<string[]>;
}

/** The states of a Worker with these bindings. */
export function operatedStates(env: object, servlets: readonly PreparedServlet[]): OperatedStates {
  const objects = namespaceOf<StateObject>(env, "SERVLET_STATES");
  const objectOf = async (servlet: string, scope: Scope) => {
    if (objects === undefined) {
      throw new Fault(
        "unavailable",
        "The binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.",
      );
    }
    return objects.getByName(await stateName(servlet, scope));
  };
  const forget = async (servlet: string, scope: Scope) => {
    const state = await objectOf(servlet, scope);
    unsettled(await state.forget());
  };
  return {
    forget,
    async summary(servlet, scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.summary(servlet));
    },
    async exported(servlet, scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.exported(servlet));
    },
    async imported(servlet, scope, { file, filesOnly }) {
      const state = await objectOf(servlet, scope);
      const [kind, id] = scope;
      const caller = kind === "caller" || kind === "sessionless" ? { caller: id } : {};
      return unsettled(await state.imported({ servlet, filesOnly, ...caller }, file));
    },
    async forgetCaller(caller) {
      // Where a client has no sessions, a servlet that keeps state for sessions has that of its caller.
      const keeping = servlets.filter(
        ({ manifest }) => keepsState(manifest) && manifest.state !== "server",
      );
      for (const { name, manifest } of keeping) {
        await forget(name, callerScope(manifest.state, caller));
      }
      return keeping.map(({ name }) => name);
    },
  };
}
