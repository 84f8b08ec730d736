import type { CallerQuota, Notification, Principal } from "../../kernel/core/model.ts";
import type { WaitStatus } from "../../kernel/observe/counted.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { ListedCall } from "../../kernel/calls/listed-calls.ts";
import type { Starts } from "./starts.ts";
import type { TaskCreator, TaskProgress } from "../../kernel/calls/task-object.ts";

/** The hub of a task's principal. */
export interface TaskHub extends Rpc.DurableObjectBranded {
  publish(changes: Notification[]): Promise<void>;
  /** True if a client's stream is subscribed to this change. */
  isHeard(change: Notification): Promise<boolean>;
}

/** A session that follows a task for its client. Its methods resolve to false if it does not, or no longer. */
export interface TaskListener extends Rpc.DurableObjectBranded {
  /** Takes the task's `nth` notification. */
  notified(task: string, nth: number, notice: Notification): Promise<boolean>;
  progressed(task: string, progress: TaskProgress): Promise<boolean>;
}

/** The bindings that a task uses. */
export interface TaskEnv {
  HUBS?: DurableObjectNamespace<TaskHub>;
  SESSIONS?: DurableObjectNamespace<TaskListener>;
}

/** The lists of calls, one for each person. Only `at` may throw. */
export interface CallLists {
  list(principal: string, listed: ListedCall): Promise<void>;
  unlist(principal: string, id: string): Promise<void>;
  at(
    principal: string,
    work: (person: { note(task: string, until: number): Promise<void> }) => Promise<void>,
  ): Promise<void>;
}

/** The servlets that tasks call, and where tasks are listed and counted. */
export interface TaskServing {
  readonly deployment: Deployment;
  readonly persons?: CallLists;
  readonly counting?: { waiting(waiting: WaitStatus): void } | undefined;
  registry(): Promise<Registry>;
  /** Registers a waiting task by its id and its servlet's hash until it expires (Unix ms). */
  noteWaiting(task: string, hash: string, until: number): Promise<void>;
}

/** The parts of the server that a task uses. */
export interface TaskServer extends TaskServing {
  /** Limits how many tasks of the isolate begin at once. */
  readonly starts?: Starts;
  readonly sealer: Sealer;
  readonly tasks?:
    | ((principal: Principal, countStored: CallerQuota["countStored"]) => TaskCreator)
    | undefined;
  /** Counts stored bytes against the caller's quota. Throws `too_many`. */
  countStored(caller: string | undefined, bytes?: number): Promise<void>;
}
