import { callerKey } from "../callers.ts";
import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import type { Audience, Lists } from "../model.ts";
import { refOf, type PreparedServlet } from "../servlets/bundle.ts";
import { partsOf } from "../servlets/setup.ts";
import type { Deployment, Viewer } from "../servlets/deployment.ts";
import { changesIn, endingOf, noticeOf } from "./plain-ending.ts";
import { CallHooks, hooksThere, unsettled, type StateObject } from "./remote-hooks.ts";
import { scopeOf, stateName } from "./state-scopes.ts";

/** Runs servlets that keep state in the objects that have it, and asks them for their lists there. */
export function stateful(env: object) {
  const objects = namespaceOf<StateObject>(env, "SERVLET_STATES");
  const objectFor = async (servlet: PreparedServlet, viewer: Viewer) => {
    if (objects === undefined) {
      throw new Fault(
        "unavailable",
        `The servlet ${servlet.name} keeps state, and the binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.`,
      );
    }
    return objects.getByName(await stateName(servlet.name, scopeOf(servlet.manifest, viewer)));
  };
  return {
    async runStateful(servlet, run, call) {
      const signal = call.signal();
      const state = await objectFor(servlet, call);
      if (signal.aborted) throw new Fault("cancelled", "The call was cancelled before it began.");
      const id = crypto.randomUUID();
      const cancel = () => void state.cancel(id).catch(() => {});
      signal.addEventListener("abort", cancel, { once: true });
      try {
        const { recorded, input } = call;
        const settlement = await state.run(
          {
            ...run,
            id,
            servlet: refOf(servlet),
            call: partsOf(call),
            recorded,
            seed: input?.seed,
            there: hooksThere(call),
          },
          new CallHooks(call, signal),
        );
        const ending = unsettled(settlement);
        const audience = audienceOf(servlet, call);
        for (const change of changesIn(ending)) call.notify(noticeOf(change, audience));
        return endingOf(ending);
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },
    ...(objects && {
      async listStateful(servlet: PreparedServlet, viewer: Viewer) {
        const state = await objectFor(servlet, viewer);
        return JSON.parse(unsettled(await state.lists(refOf(servlet), viewer))) as Lists;
      },
    }),
  } satisfies Partial<Deployment>;
}

/** Who has the same state. */
function audienceOf({ manifest }: PreparedServlet, { principal, session }: Viewer): Audience {
  if (manifest.state === "server") return { everybody: true };
  const caller = callerKey(principal) ?? "";
  if (manifest.state !== "session") return { caller };
  return session === undefined ? { caller, isSessionless: true } : { session };
}
