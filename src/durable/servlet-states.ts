import { canonicalJson, sha256 } from "../digest.ts";
import type { CallContext } from "../call-context.ts";
import { namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import type { BundledServlet } from "../servlets/bundle.ts";
import { partsOf } from "../servlets/connect.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { CallHooks, endingOf, hooksThere, unsettled, type StateObject } from "./remote-hooks.ts";

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
    const state = objects.getByName(await scopeOf(servlet, call));
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

/** The name of the object for the scope of this call. */
async function scopeOf({ name, manifest }: BundledServlet, call: CallContext): Promise<string> {
  const { caller = "" } = partsOf(call);
  const { session } = call;
  const scope = {
    call: [],
    session: session === undefined ? ["sessionless", caller] : ["session", session],
    caller: ["caller", caller],
    server: ["server"],
  }[manifest.state ?? "call"];
  return (await sha256(canonicalJson([name, ...scope]))).toHex();
}
