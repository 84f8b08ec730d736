import type { ServletState } from "./servlet-state.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { limits } from "./limits.ts";
import type { Audience } from "../../kernel/core/model.ts";
import { refOf, type PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { CollectedLists } from "../../kernel/servlets/servlet.ts";
import { begunBy } from "../../kernel/servlets/connect.ts";
import { stateRunner, withoutState } from "../../kernel/servlets/runners.ts";
import { callPartsOf } from "../../kernel/servlets/setup.ts";
import type { ServletRunner, Viewer } from "../../kernel/servlets/deployment.ts";
import { noticeOf, type CommittedEnding } from "./changes.ts";
import { CallHooks, DepartureWatch, hookSupportOf } from "./remote-hooks.ts";
import { scopeOf, stateName } from "./state-scopes.ts";

export interface ServletStatesEnv {
  SERVLET_STATES?: DurableObjectNamespace<ServletState>;
}

/** Runs servlets with state, and asks for their lists, in the Durable Objects of their state. */
export function stateful({ SERVLET_STATES: objects }: ServletStatesEnv): ServletRunner {
  const objectFor = async (servlet: PreparedServlet, viewer: Viewer) => {
    if (objects === undefined) {
      throw withoutState(servlet.name);
    }
    return objects.getByName(stateName(servlet.name, scopeOf(servlet.manifest, viewer)));
  };
  return stateRunner(
    async (servlet, run, call) => {
      const state = await objectFor(servlet, call);
      const id = crypto.randomUUID();
      const departure = new DepartureWatch(call.signal, async () => state.cancel(id));
      const { recorded, chain } = call;
      const isHolding = chain?.keeping.some((one) => one !== servlet.name) === true;
      const about = {
        ...run,
        id,
        servlet: refOf(servlet),
        call: callPartsOf(call),
        recorded,
        ...begunBy(call),
        patienceMs: isHolding ? limits.innerTurnMs : undefined,
        there: hookSupportOf(call),
      };
      const hooks = new CallHooks(call, departure.watch);
      // RPC types cannot express the recursive `Recorded`.
      const ended = state.run(about, hooks) as unknown as Promise<Settled<CommittedEnding>>;
      const settlement = await departure.during(ended);
      const ending = unsettled(settlement);
      const audience = audienceOf(servlet, call);
      for (const change of ending.changes ?? []) call.notify(noticeOf(change, audience));
      return ending;
    },
    objects &&
      (async (servlet, viewer) => {
        const state = await objectFor(servlet, viewer);
        return JSON.parse(unsettled(await state.lists(refOf(servlet), viewer))) as CollectedLists;
      }),
  );
}

/** The callers that share the state. */
function audienceOf({ manifest }: PreparedServlet, { principal, session }: Viewer): Audience {
  if (manifest.state === "server") return { everybody: true };
  const caller = callerKey(principal) ?? "";
  if (manifest.state !== "session") return { caller };
  return session === undefined ? { caller, isSessionless: true } : { session };
}
