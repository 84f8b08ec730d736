import type { Notification, Principal } from "../model.ts";
import type { Reply } from "../mcp/wire/reply.ts";
import type { Introduced, Post } from "../mcp/wire/session.ts";
import type { Progress } from "../mcp/wire/tasks.ts";

/** RPC interface of a session. For any `principal` but its owner the session does not exist. */
export interface SessionObject extends Rpc.DurableObjectBranded {
  create(principal: Principal, client: Introduced): Promise<void>;
  post(principal: string, post: Post): Promise<Response | Reply | undefined>;
  listen(principal: string, lastEventId?: string): Promise<Response | Reply | undefined>;
  end(principal: string): Promise<true | undefined>;
  /** Takes the notification of this number that the call of a task has sent; false where nobody waits for it. */
  notified(task: string, nth: number, notice: Notification): Promise<boolean>;
  /** Takes how far a task is; false where nobody wants to know. */
  progressed(task: string, progress: Progress): Promise<boolean>;
  /** Takes what has changed; false where the session has ended. */
  changed(changes: Notification[]): Promise<boolean>;
}
