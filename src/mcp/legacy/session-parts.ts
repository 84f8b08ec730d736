import type { Tasks } from "../../calls/tasks.ts";
import type { DetailedTask } from "../../calls/task-object.ts";
import type { Notification } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import type { SessionStore } from "./session-store.ts";
import type { StoredCall } from "./session-rows.ts";
import type { Post } from "./session-object.ts";
import type { Trace } from "../../observe/trace-context.ts";
import type { OpenPost } from "./open-post.ts";

/** The parts of a session that its methods use. */
export interface SessionParts {
  store: SessionStore;
  /** The principal's tasks with these scopes. */
  tasks: (scopes?: Post["scopes"]) => Tasks;
  registry: () => Promise<Registry>;
  /** Subscribes the session to change notifications. */
  enlist(): Promise<void>;
  /** Answers the call with the task's end. */
  awaitTask(call: SessionCall, task: DetailedTask): Promise<void>;
}

/** An open call of a session. */
export interface SessionCall extends StoredCall {
  isStored: boolean;
  /** True once the client has cancelled it. */
  isUnwanted?: boolean;
  /** Absent once another instance of the session's object has taken the call over. */
  post?: OpenPost;
  scopes: Post["scopes"];
  /** The trace that its request is a part of. */
  trace?: Trace | undefined;
  /** Aborts its run in this object. */
  stop?: AbortController;
  hear?: (notice: Notification) => void;
}
