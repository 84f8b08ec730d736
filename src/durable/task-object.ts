import type { DetailedTask, Start, TaskCall } from "../mcp/tasks.ts";
import type { Answers } from "../model.ts";
import type { Part } from "../parts.ts";
import type { Brought, Texts } from "./task-rows.ts";
import type { Place } from "./vault.ts";

/** What others may ask of a task. `principal` is whoever asks; to all but its own there is no such task. */
export interface TaskObject extends Rpc.DurableObjectBranded {
  /** Takes a part of a call that is about to be made a task of: what is large does not come with it. */
  bring(what: keyof Texts | number, part: Part & Place): Promise<void>;
  create(call: TaskCall, start?: Start, brought?: Brought): Promise<DetailedTask>;
  get(principal: string): Promise<DetailedTask | undefined>;
  update(principal: string, answers: Answers): Promise<{ wrong?: string } | undefined>;
  cancel(principal: string): Promise<boolean>;
  /** From now on this session is told how the task goes on. */
  adopt(principal: string, session: string): Promise<void>;
}
