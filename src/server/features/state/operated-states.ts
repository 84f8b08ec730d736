import type { QuotaEnv } from "../../kernel/auth/quota.ts";
import type { ServletStatesEnv } from "./servlet-states.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { ServletRef, StateOwner } from "../../kernel/servlets/bundle.ts";
import { callerScope, stateName, type Scope } from "./state-scopes.ts";

/** Operations of operators on the state that servlets keep. */
export type OperatedStates = ReturnType<typeof operatedStates>;

interface OperatedEnv extends QuotaEnv, ServletStatesEnv {}

/** The states of a Worker with these bindings. `owners` returns all servlets, those with state first. */
export function operatedStates(env: OperatedEnv, owners: () => Promise<readonly StateOwner[]>) {
  const { SERVLET_STATES: objects } = env;
  const objectOf = async (servlet: StateOwner, scope: Scope) => {
    if (objects === undefined) {
      throw new Fault(
        "unavailable",
        "The binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.",
      );
    }
    return objects.getByName(stateName(servlet.name, scope));
  };
  const forget = async (servlet: StateOwner, scope: Scope) => {
    const state = await objectOf(servlet, scope);
    unsettled(await state.forget());
  };
  return {
    owners,
    forget,
    async summary(servlet: StateOwner, scope: Scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.summary(refIn(servlet)));
    },
    /** The whole state as a file. */
    async exported(servlet: StateOwner, scope: Scope) {
      const state = await objectOf(servlet, scope);
      return unsettled(await state.exported(refIn(servlet)));
    },
    async imported(
      servlet: StateOwner,
      scope: Scope,
      { file, filesOnly }: { file: ReadableStream<Uint8Array>; filesOnly: boolean },
    ) {
      const state = await objectOf(servlet, scope);
      const [kind, id] = scope;
      const caller = kind === "caller" || kind === "sessionless" ? { caller: id } : {};
      return unsettled(
        await state.imported({ servlet: refIn(servlet), filesOnly, ...caller }, file),
      );
    },
    /** Deletes all states of one caller, by its key. Returns the names of servlets that may have kept something. */
    async forgetCaller(caller: string): Promise<string[]> {
      if (objects === undefined) return [];
      // Clients without sessions: a servlet with state for sessions has it for the caller.
      const keeping = (await owners()).filter(
        ({ state = "call" }) => state === "caller" || state === "session",
      );
      for (const owner of keeping) await forget(owner, callerScope(owner.state, caller));
      // Includes the state of sessions, and of servlets that are no longer served or have another scope now.
      const held = (await env.QUOTAS?.getByName(caller).holding()) ?? [];
      for (const id of held) unsettled(await objects.get(objects.idFromString(id)).forget());
      return [...new Set(keeping.map(({ name }) => name))];
    },
  };
}

const refIn = ({ name, build }: StateOwner): ServletRef => ({ name, ...(build && { build }) });
