import { Fault } from "../../errors.ts";
import { limits } from "../../limits.ts";
import type { CallContext } from "../../call-context.ts";
import type { Json } from "../../model.ts";
import { Suspended } from "../../suspension.ts";
import { linkAsker, linkIn, type HandOver } from "../wire/links.ts";
import type { Target } from "../method.ts";

/**
 * Runs a target whose `call.ask` never waits. A servlet that returns an input request is called again with the
 * answers. With `handOver`, what needs a person waits for one, and what its gate stops goes on: the result is the link.
 */
export async function settled(
  { subject, run }: Target,
  call: CallContext,
  handOver?: HandOver,
): Promise<Json> {
  const ask = handOver ? linkAsker(call.ask, call.client) : call.ask;
  const named = { ...call, ask, ...(subject !== undefined && { subject }) };
  let context = named;
  for (let attempt = 0; attempt < limits.unableRetries; attempt++) {
    const outcome = await run(context);
    if (!(outcome instanceof Suspended)) return outcome;
    const task = await handOver?.(outcome);
    if (task !== undefined) return linkIn(task);
    if (outcome.reason.kind !== "input") break;
    const { state, fuelUsed, reason } = outcome;
    const responses = await call.ask(reason.asks, call.signal());
    context = { ...named, fuelUsed, input: { responses, ...(state !== undefined && { state }) } };
  }
  throw new Fault(
    "servlet_failed",
    "The servlet keeps asking for input although its client cannot be asked. Use a client that can, or report this to the servlet's author.",
  );
}
