import { taskGate, taskMode } from "../../asks/gates.ts";
import { latest } from "../../asks/links.ts";
import { progressTextOf } from "../../calls/changes.ts";
import type { Way } from "../../calls/engine.ts";
import type { TaskCall, TaskCreator, TaskEnd } from "../../calls/task-object.ts";
import type { CallContext } from "../../core/call-context.ts";
import type { Json } from "../../core/model.ts";
import type { Recorded } from "../../core/record.ts";
import type { ToolEntry } from "../../servlets/catalog.ts";
import { createTaskResult, demandTasks, takesTasks } from "./tasks.ts";

/** Continues a call as a task if it would wait for long, or has no room to wait. */
interface TaskWay extends Way {
  context: Pick<CallContext, "gate" | "notify">;
  /** Makes a finished task of a finished call. Absent if finished calls are answered with their result. */
  end?(end: TaskEnd): Promise<Json>;
}

interface TaskWayOptions extends Pick<CallContext, "notify"> {
  tasks: TaskCreator | undefined;
  /** The call as a task stores it, with its description for lists. */
  kept: TaskCall;
  about(): TaskCall["about"];
  /** The task that an earlier request has made of the call, or is making under this id. */
  known(): Promise<{ id: string; recorded?: Recorded }> | undefined;
  /** The call's initial input. */
  runInput: Partial<TaskCall>;
}

/**
 * The way to continue as a task; undefined if the tool's calls never become tasks or its client does not support them.
 * Throws `missing_capability`.
 */
export function taskWay(
  tool: ToolEntry,
  { tasks, kept, about, known, runInput, notify }: TaskWayOptions,
): TaskWay | undefined {
  const mode = taskMode(tool);
  if (mode === "required") demandTasks(kept.client);
  if (tasks === undefined || !takesTasks(kept.client)) return undefined;
  const gate = taskGate(mode);
  if (gate === undefined) return undefined;
  let message: string | undefined;
  const create = async (changes: Partial<TaskCall>, end?: TaskEnd, id?: string) => {
    const retried = id === undefined ? {} : { id, isRetried: true };
    return createTaskResult(
      await tasks.create({ ...kept, about: about(), ...changes }, end, retried),
    );
  };
  const goOn = async (changes: Partial<TaskCall>): Promise<Json> => {
    const made = { ...runInput, ...changes, ...(message !== undefined && { message }) };
    const before = await known();
    if (before === undefined) return create(made);
    const recorded = latest(before.recorded, made.recorded);
    return create({ ...made, ...(recorded && { recorded }) }, undefined, before.id);
  };
  return {
    context: {
      gate,
      notify(notice) {
        message = progressTextOf(notice) ?? message;
        notify(notice);
      },
    },
    take({ reason: { kind }, fuelUsed, recorded }) {
      if (kind !== "task" && kind !== "retry") return undefined;
      return goOn({ fuelUsed, ...(recorded && { recorded }) });
    },
    ...(mode !== "auto" && {
      async end(end: TaskEnd) {
        return create({}, end, (await known())?.id);
      },
    }),
  };
}
