import { unsettled } from "../core/settled.ts";
import type { Env } from "../bindings.ts";
import { Fault } from "../core/errors.ts";
import type { ServletRef } from "../servlets/bundle.ts";
import type { Manifest } from "../servlets/manifest.ts";
import type { PersonObjects } from "../pages/person-objects.ts";
import type { StateSummary } from "../state/state-export.ts";
import { callerScope, stateName, type Scope } from "../state/state-scopes.ts";

/** A servlet that keeps state, or has kept some before it was uninstalled or changed; also one that keeps none. */
export interface StateOwner extends ServletRef {
  state: Manifest["state"];
}

/** Operations of operators on the state that servlets keep. */
export interface OperatedStates {
  /** All servlets; those with state first. */
  owners(): Promise<readonly StateOwner[]>;
  summary(servlet: StateOwner, scope: Scope): Promise<StateSummary>;
  /** The whole as a file. */
  exported(servlet: StateOwner, scope: Scope): Promise<ReadableStream<Uint8Array>>;
  imported(
    servlet: StateOwner,
    scope: Scope,
    given: { file: ReadableStream<Uint8Array>; filesOnly: boolean },
  ): Promise<StateSummary>;
  forget(servlet: StateOwner, scope: Scope): Promise<void>;
  /** Deletes all that is kept for one caller, by its key: also secrets and accounts. Returns the names of servlets that may have kept something. */
  forgetCaller(caller: string): Promise<string[]>;
}

/** The states of a Worker with these bindings. */
export function operatedStates(
  { SERVLET_STATES: objects }: Env,
  owners: OperatedStates["owners"],
  persons: PersonObjects | undefined,
): OperatedStates {
  const objectOf = async (servlet: StateOwner, scope: Scope) => {
    if (objects === undefined) {
      throw new Fault(
        "unavailable",
        "The binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.",
      );
    }
    return objects.getByName(await stateName(servlet.name, scope));
  };
  const forget = async (servlet: StateOwner, scope: Scope) => {
    const state = await objectOf(servlet, scope);
    unsettled(await state.forget());
  };
  return {
    owners,
    forget,
    async summary(servlet, scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.summary(refIn(servlet)));
    },
    async exported(servlet, scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.exported(refIn(servlet)));
    },
    async imported(servlet, scope, { file, filesOnly }) {
      const state = await objectOf(servlet, scope);
      const [kind, id] = scope;
      const caller = kind === "caller" || kind === "sessionless" ? { caller: id } : {};
      return unsettled(
        await state.imported({ servlet: refIn(servlet), filesOnly, ...caller }, file),
      );
    },
    async forgetCaller(caller) {
      await persons?.at(caller, async (object) => object.forgetAll(caller));
      // Where a client has no sessions, a servlet that keeps state for sessions has that of its caller.
      const keeping = (await owners()).filter(
        ({ state = "call" }) => state === "caller" || state === "session",
      );
      for (const owner of keeping) await forget(owner, callerScope(owner.state, caller));
      return [...new Set(keeping.map(({ name }) => name))];
    },
  };
}

const refIn = ({ name, build }: StateOwner): ServletRef => ({ name, ...(build && { build }) });
