import type { Accepts, Reply } from "../wire/reply.ts";
import type { Notification, Principal } from "../../core/model.ts";
import type { Client } from "../../core/call-context.ts";
import type { Trace } from "../../observe/trace-context.ts";
import type { Progress } from "../../calls/task-object.ts";

/** A POST to a session, its messages unchecked. */
export interface Post {
  messages: unknown[];
  isBatch: boolean;
  accepts: Accepts;
  /** The scopes of its principal at this time. */
  scopes?: readonly string[] | undefined;
  trace?: Trace | undefined;
  /** As in `Exchange`. */
  pages?: string | undefined;
}

/** A client as `initialize` describes it, with the negotiated revision. */
export type Introduced = Client & { protocolVersion: string };

/**
 * RPC interface of a session. For any `principal` but its owner the session does not exist, and its methods return
 * undefined. The caller reads the body of a response to its end, or cancels it.
 */
export interface SessionObject extends Rpc.DurableObjectBranded {
  create(principal: Principal, client: Introduced): Promise<void>;
  post(principal: string, post: Post): Promise<Response | Reply | undefined>;
  /** Opens the session's own stream, or the one of the event with this id. */
  listen(
    principal: string,
    lastEventId?: string,
    scopes?: readonly string[],
  ): Promise<Response | Reply | undefined>;
  end(principal: string): Promise<true | undefined>;
  /** Receives notification number `nth` of a task's call; false if no call waits for the task. */
  notified(task: string, nth: number, notice: Notification): Promise<boolean>;
  /** Receives the progress of a task; false if neither a call nor the client follows it. */
  progressed(task: string, progress: Progress): Promise<boolean>;
  /** Receives change notifications; false if the session has ended. */
  changed(changes: Notification[]): Promise<boolean>;
}
