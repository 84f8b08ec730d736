import type { TaskCall } from "../durable/task-object.ts";
import type { Json } from "../model.ts";
import { Suspended, type Outcome } from "../suspension.ts";
import type { Asks } from "../asks.ts";
import type { CallContext } from "../call-context.ts";
import type { Registry } from "../servlets/registry.ts";
import { sessionAsker, sessionFailures } from "./legacy/askers.ts";
import { findAgain } from "./methods.ts";
import { inputAsker } from "./modern/input-required.ts";
import { demandCapabilities } from "./wire/answers.ts";

/** Runs a task's call with the asker of its client's era. Throws `missing_capability` and faults of the call. */
export async function runTaskCall(
  call: Omit<TaskCall, "recorded">,
  registry: Registry,
  context: Omit<CallContext, "ask">,
): Promise<Outcome<Json>> {
  const { client, owner, principal } = call;
  const { recorded } = context;
  const all = recorded === undefined ? registry : await registry.at(recorded.head.hash);
  const { subject, run } = await findAgain(call, all.for({ principal, session: owner?.session }));
  const ask = owner ? sessionAsker(client) : inputAsker(call);
  const outcome = await run({ ...context, ask, ...(subject !== undefined && { subject }) });
  const isAsking = outcome instanceof Suspended && outcome.reason.kind === "input";
  if (isAsking && !owner) demandCapabilities(outcome.reason.asks, client);
  return outcome;
}

/** Failures of the asks that a session's client does not support. */
export const unsupportedAsks = (
  { client, owner }: Pick<TaskCall, "client" | "owner">,
  asks: Asks,
) => (owner ? sessionFailures(asks, client) : {});
