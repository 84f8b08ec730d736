import type { DetailedTask, Start, TaskCall } from "../mcp/wire/tasks.ts";
import type { Answers } from "../asks.ts";
import type { Principal } from "../model.ts";
import type { Part } from "../parts.ts";
import type { Brought, Texts } from "./task-rows.ts";
import type { Place } from "./vault.ts";

/**
 * RPC interface of a task. For any principal but its owner it does not exist, nor for one whose scopes do not
 * reach what it calls any more; to cancel it needs none.
 */
export interface TaskObject extends Rpc.DurableObjectBranded {
  /** Takes a part of a call that is about to be made a task of: what is large does not come with it. */
  bring(what: keyof Texts | number, part: Part & Place): Promise<void>;
  create(call: TaskCall, start?: Start, brought?: Brought): Promise<DetailedTask>;
  get(principal: Principal): Promise<DetailedTask | undefined>;
  update(principal: Principal, answers: Answers): Promise<{ wrong?: string } | undefined>;
  cancel(principal: string): Promise<boolean>;
  /** Subscribes a session to the task's progress. */
  adopt(principal: Principal, session: string): Promise<void>;
}
