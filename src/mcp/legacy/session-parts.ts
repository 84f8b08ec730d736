import type { Tasks } from "../../durable/tasks.ts";
import type { DetailedTask } from "../../durable/task-object.ts";
import type { Notification } from "../../model.ts";
import type { KeptCall, SessionStore } from "../../durable/session-store.ts";
import type { Post } from "../../durable/session-object.ts";
import type { OpenPost } from "./open-post.ts";

/** The parts of a session that its methods use. */
export interface SessionParts {
  store: SessionStore;
  /** The principal's; those that it may have by these scopes. */
  tasks: (scopes?: Post["scopes"]) => Tasks;
  /** Has the session told of changes from now on. */
  enlist(): Promise<void>;
  /** Answers the call when the task has ended. */
  awaitTask(call: SessionCall, task: DetailedTask): Promise<void>;
}

/** A call of a session that is not over. */
export interface SessionCall extends KeptCall {
  isKept: boolean;
  /** Is its end nothing to its client any more? */
  isUnwanted?: boolean;
  /** Absent once another instance of the session's object has taken the call over. */
  post?: OpenPost;
  scopes: Post["scopes"];
  /** Ends it, where it runs here. */
  stop?: AbortController;
  hear?: (notice: Notification) => void;
}
