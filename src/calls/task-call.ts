import { perform, whateverFor, type Waiting } from "./engine.ts";
import type { TaskCall } from "./task-object.ts";
import type { Json } from "../core/model.ts";
import type { Asks } from "../core/asks.ts";
import type { CallContext } from "../core/call-context.ts";
import type { Deployment } from "../servlets/deployment.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import type { Recorded } from "../core/record.ts";
import { sessionAsker, sessionFailures } from "../mcp/legacy/askers.ts";
import { inputAsker } from "../mcp/modern/input-required.ts";
import { demandCapabilities } from "../asks/answers.ts";
import { linkAsker, needsPerson, NOBODY } from "../asks/links.ts";

/** How one run of a task's call has ended. */
export type RunEnd = { result: Json } | { waiting: Waiting };

/**
 * Runs a task's call with the asker of its client's era; one that was handed over has no client to ask. Throws
 * `missing_capability` and faults of the call.
 */
export async function runTaskCall(
  call: Omit<TaskCall, "recorded"> & { isHandedOver: boolean },
  registry: Registry,
  context: Omit<CallContext, "ask">,
): Promise<RunEnd> {
  const { owner, link, input, isHandedOver } = call;
  const client = isHandedOver ? NOBODY : call.client;
  const entry = await entryAgain(call, registry, context.recorded);
  const own = owner ? sessionAsker(client) : inputAsker({ client, ...(input && { input }) });
  const ask = link ? linkAsker(own, client) : own;
  return perform<RunEnd>(
    entry,
    { ...context, ask },
    {
      ended: (result) => ({ result }),
      waits: {
        ...whateverFor((waiting) => ({ waiting })),
        input(waiting) {
          const { asks } = waiting.reason;
          const isForPerson = link !== undefined && needsPerson(asks, client);
          if (!owner && !isForPerson) demandCapabilities(asks, client);
          return { waiting };
        },
      },
    },
  );
}

/** What a task's call is for, in the build that it began with; run with other `parts`, if any. Throws as `Registry.at` and `resolve`. */
export async function entryAgain(
  call: Pick<TaskCall, "owner" | "principal" | "ref">,
  registry: Registry,
  recorded: Pick<Recorded, "head"> | undefined,
  parts?: Partial<Deployment>,
): Promise<Entry> {
  const { owner, principal, ref } = call;
  const all = recorded === undefined ? registry : await registry.at(recorded.head.hash);
  const own = all.for({ principal, session: owner?.session });
  return (parts === undefined ? own : own.by(parts)).resolve(ref);
}

/** Failures of the asks that a session's client does not support. */
export const unsupportedAsks = (
  { client, owner }: Pick<TaskCall, "client" | "owner">,
  asks: Asks,
) => (owner ? sessionFailures(asks, client) : {});
