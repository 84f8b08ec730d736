/** Runs of servlets that no client waits for: at a scheduled time, or for a request to a webhook. */
import type { CallRef } from "../../kernel/calls/call-ref.ts";
import { aboutOf } from "../../kernel/calls/shown-arguments.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import type { Json, Principal } from "../../kernel/core/model.ts";
import { NOBODY } from "../../kernel/asks/links.ts";
import type { Kernel } from "../../kernel/kernel.ts";

export interface UnattendedRun {
  /** The id of its task, from `newId`. To begin it again with the same id changes nothing. */
  id: string;
  /** Whose rights it has. */
  principal: Principal;
  ref: CallRef;
  /** `_meta`, for the servlet. */
  meta: Json;
  /** The key under which what it stores is counted; that of its principal if absent. */
  countedAs?: string | undefined;
  /** The origin of the pages on which its questions are answered; absent if nobody could open them. */
  origin?: string | undefined;
}

export interface UnattendedRuns {
  newId(): string;
  /**
   * Settles when the run is durable. Throws as `Registry.resolve` if there is nothing to run, and `too_many` if too
   * much was stored under its key.
   */
  begin(run: UnattendedRun): Promise<void>;
  /** Its status, as of a task; undefined once it is no longer stored. */
  statusOf(principal: Principal, id: string): Promise<string | undefined>;
}

/** Begins runs; undefined where no tasks are stored. */
export function unattendedRuns(
  tasks: Kernel["tasks"],
  kernel: Pick<Kernel, "registry" | "countStored" | "settings">,
): UnattendedRuns | undefined {
  if (tasks === undefined) return undefined;
  const of = (principal: Principal, countedAs = callerKey(principal)) =>
    tasks({ ...principal, isAtPage: true }, (bytes) => kernel.countStored(countedAs, bytes));
  return {
    newId: () => of({ name: "" }).newId(),
    async begin({ id, principal, countedAs, ref, meta, origin }) {
      const entry = await (await kernel.registry()).for({ principal }).resolve(ref);
      const about = aboutOf(entry);
      const hasPages = origin !== undefined && kernel.settings.LINKS === "on";
      const link = hasPages && { link: { origin, isTyped: false } };
      const call = { id, meta, principal, client: NOBODY, ref, about, ...link };
      await of(principal, countedAs).create(call, undefined, { id, isRetried: true });
    },
    async statusOf(principal, id) {
      return (await of(principal).handedOver(id, { isAny: true }))?.view.status;
    },
  };
}
