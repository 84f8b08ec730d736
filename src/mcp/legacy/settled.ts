import { Again, perform, whateverFor, type Waiting } from "../../calls/engine.ts";
import { Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { CallContext } from "../../core/call-context.ts";
import type { Json } from "../../core/model.ts";
import type { Entry } from "../../servlets/registry.ts";
import { linkAsker, linkIn, type HandOver } from "../../asks/links.ts";

/**
 * Runs a call whose `ask` never waits. A servlet that returns an input request is called again with the answers. With
 * `handOver`, what needs a person waits for one, and what its gate stops goes on: the result is the link.
 */
export function settled(entry: Entry, call: CallContext, handOver?: HandOver): Promise<Json> {
  const ask = handOver ? linkAsker(call.ask, call.client) : call.ask;
  const handed = async (waiting: Waiting): Promise<Json | undefined> => {
    const task = await handOver?.(waiting);
    return task && linkIn(task);
  };
  let left = limits.unableRetries;
  return perform<Json>(
    entry,
    { ...call, ask },
    {
      ended: (result) => result,
      waits: {
        ...whateverFor(async (waiting) => (await handed(waiting)) ?? unending()),
        async input(waiting) {
          const link = await handed(waiting);
          if (link !== undefined) return link;
          if (--left <= 0) unending();
          const { state, fuelUsed, reason } = waiting;
          const responses = await call.ask(reason.asks, call.signal());
          return new Again({
            fuelUsed,
            input: { responses, ...(state !== undefined && { state }) },
          });
        },
      },
    },
  );
}

function unending(): never {
  throw new Fault(
    "servlet_failed",
    "The servlet keeps asking for input although its client cannot be asked. Use a client that can, or report this to the servlet's author.",
  );
}
