import { sessionAsker, sessionFailures, inputAsker } from "../asks/askers.ts";
import { whateverFor, type Policy, type Waiting } from "./engine.ts";
import type { TaskCall } from "./task-object.ts";
import type { Json } from "../core/model.ts";
import type { Asker, Asks } from "../core/asks.ts";
import type { ClientDescription } from "../core/call-context.ts";
import type { Deployment, Viewer } from "../servlets/deployment.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import type { Recorded } from "../core/record.ts";
import { demandCapabilities } from "../asks/answers.ts";
import { linkAsker, needsPerson } from "../asks/links.ts";
import { Fault } from "../core/errors.ts";
import type { Subject } from "./task-rows.ts";

/** How one run of a task's call has ended. */
export type RunEnd = { result: Json } | { waiting: Waiting };

/** The asker of a task's call, of its client's era. */
export function taskAsker(
  { owner, link, input }: Pick<TaskCall, "owner" | "link" | "input">,
  client: ClientDescription,
): Asker {
  const own = owner ? sessionAsker(client) : inputAsker({ client, ...(input && { input }) });
  return link ? linkAsker(own, client) : own;
}

/** A call that waits is stored. Throws `missing_capability` where nobody can answer what it asks. */
export const taskPolicy = (
  { owner, link }: Pick<TaskCall, "owner" | "link">,
  client: ClientDescription,
): Policy<RunEnd> => ({
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
});

/** The entry of a task's call in the build that it began with; run with other `parts`, if any. Throws as `Registry.at` and `resolve`. */
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

/** True where the scopes of this caller grant what the task calls. */
export async function reaches(
  registry: Registry,
  viewer: Viewer,
  { ref }: Subject,
): Promise<boolean> {
  if (viewer.principal.scopes === undefined) return true;
  try {
    await registry.for(viewer).resolve(ref);
    return true;
  } catch (error) {
    return Fault.from(error).code !== "insufficient_scope";
  }
}
