import type { TaskCall } from "../durable/task-object.ts";
import type { Json } from "../model.ts";
import { Suspended, type Outcome } from "../suspension.ts";
import type { Asks } from "../asks.ts";
import type { CallContext } from "../call-context.ts";
import type { Deployment } from "../servlets/deployment.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Recorded } from "../record.ts";
import type { Target } from "./method.ts";
import { sessionAsker, sessionFailures } from "./legacy/askers.ts";
import { findAgain } from "./methods.ts";
import { inputAsker } from "./modern/input-required.ts";
import { demandCapabilities } from "./wire/answers.ts";
import { linkAsker, needsPerson, NOBODY } from "./wire/links.ts";

/**
 * Runs a task's call with the asker of its client's era; one that was handed over has no client to ask. Throws
 * `missing_capability` and faults of the call.
 */
export async function runTaskCall(
  call: Omit<TaskCall, "recorded"> & { isHandedOver: boolean },
  registry: Registry,
  context: Omit<CallContext, "ask">,
): Promise<Outcome<Json>> {
  const { owner, link, input, isHandedOver } = call;
  const client = isHandedOver ? NOBODY : call.client;
  const { subject, run } = await targetAgain(call, registry, context.recorded);
  const own = owner ? sessionAsker(client) : inputAsker({ client, ...(input && { input }) });
  const ask = link ? linkAsker(own, client) : own;
  const outcome = await run({ ...context, ask, ...(subject !== undefined && { subject }) });
  if (!(outcome instanceof Suspended) || outcome.reason.kind !== "input" || owner) return outcome;
  const { asks } = outcome.reason;
  if (link === undefined || !needsPerson(asks, client)) demandCapabilities(asks, client);
  return outcome;
}

/** What a task's call is for, in the build that it began with; run with other `parts`, if any. Throws as `findAgain`. */
export async function targetAgain(
  call: Omit<TaskCall, "recorded">,
  registry: Registry,
  recorded: Pick<Recorded, "head"> | undefined,
  parts?: Partial<Deployment>,
): Promise<Target> {
  const { owner, principal } = call;
  const all = recorded === undefined ? registry : await registry.at(recorded.head.hash);
  const own = all.for({ principal, session: owner?.session });
  return findAgain(call, parts === undefined ? own : own.by(parts));
}

/** Failures of the asks that a session's client does not support. */
export const unsupportedAsks = (
  { client, owner }: Pick<TaskCall, "client" | "owner">,
  asks: Asks,
) => (owner ? sessionFailures(asks, client) : {});
