import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import { partsOf } from "../servlets/connect.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { endingOf } from "./plain-ending.ts";
import { CallHooks, hooksThere, unsettled, type StateObject } from "./remote-hooks.ts";
import { scopeOf, stateName } from "./state-scopes.ts";

/** Runs servlets that keep state in the objects that have it. */
export function statefulRunner(env: object): NonNullable<Deployment["runStateful"]> {
  const objects = namespaceOf<StateObject>(env, "SERVLET_STATES");
  return async (servlet, run, call) => {
    if (objects === undefined) {
      throw new Fault(
        "unavailable",
        `The servlet ${servlet.name} keeps state, and the binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.`,
      );
    }
    const state = objects.getByName(await stateName(servlet.name, scopeOf(servlet.manifest, call)));
    const id = crypto.randomUUID();
    const signal = call.signal();
    const cancel = () => void state.cancel(id).catch(() => {});
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const { recorded, input } = call;
      const settlement = await state.run(
        {
          ...run,
          id,
          servlet: servlet.name,
          call: partsOf(call),
          recorded,
          seed: input?.seed,
          there: hooksThere(call),
        },
        new CallHooks(call, signal),
      );
      return endingOf(unsettled(settlement));
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}
