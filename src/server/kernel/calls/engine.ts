import type { CallContext } from "../core/call-context.ts";
import type { Json } from "../core/model.ts";
import type { Entry } from "../servlets/registry.ts";
import { Suspended, type Outcome, type WaitReason } from "../core/suspension.ts";

/** A call that waits for one kind of thing. */
export type Waiting<K extends WaitReason["kind"] = WaitReason["kind"]> = Suspended & {
  readonly reason: Extract<WaitReason, { kind: K }>;
};

/** Runs the call again at once, with these changes of its context. */
export class Rerun {
  readonly changes: Partial<CallContext>;
  constructor(changes: Partial<CallContext>) {
    this.changes = changes;
  }
}

type Next<R> = R | Rerun | Promise<R | Rerun>;

/** A surface's decisions on a call: on its result, and on its waits, by reason. */
export interface Policy<R> {
  ended(result: Json): R | Promise<R>;
  /** If absent, errors of the run are rethrown. */
  failed?: ((error: unknown) => R | Promise<R>) | undefined;
  waits: { [K in WaitReason["kind"]]: (waiting: Waiting<K>) => Next<R> };
}

/** How a call that cannot end now continues: as a task, by a person, or with the client's next request. */
export interface Way {
  /** Takes a waiting call, and makes the client's response; undefined if it does not take this call. */
  take(waiting: Waiting): Promise<Json> | undefined;
}

/** The `waits` of a policy that treats all reasons alike. */
export const allReasons = <R>(make: (waiting: Waiting) => Next<R>): Policy<R>["waits"] => ({
  input: make,
  sleep: make,
  retry: make,
  task: make,
  earlier: make,
});

/**
 * Runs the subject of a reference, or resumes it, until it ends or its policy takes it over. Only this function sees a
 * suspended call. Throws faults of the call and of its policy.
 */
export async function perform<R>(
  entry: Pick<Entry, "subject" | "run">,
  call: CallContext,
  policy: Policy<R>,
  waiting?: Suspended,
): Promise<R> {
  const { subject } = entry;
  let context = subject === undefined ? call : { ...call, subject };
  let waits = waiting;
  for (;;) {
    if (waits === undefined) {
      let outcome: Outcome<Json>;
      try {
        outcome = await entry.run(context);
      } catch (error) {
        if (policy.failed === undefined) throw error;
        return policy.failed(error);
      }
      if (!(outcome instanceof Suspended)) return policy.ended(outcome);
      waits = outcome;
    }
    const take = policy.waits[waits.reason.kind] as (waiting: Waiting) => Next<R>;
    const next = await take(waits);
    waits = undefined;
    if (!(next instanceof Rerun)) return next;
    context = Object.assign({}, context, next.changes);
  }
}
