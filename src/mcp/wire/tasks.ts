import { Fault, rpcError, type RpcError } from "../../errors.ts";
import { limits } from "../../limits.ts";
import type { Answers, Asks } from "../../asks.ts";
import type { CallContext, Client } from "../../call-context.ts";
import type { Json, Notification, Principal } from "../../model.ts";
import type { Recorded } from "../../record.ts";
import { Wait, type Suspended } from "../../suspension.ts";
import { textBytes } from "../../shape.ts";
import type { ToolEntry } from "../../servlets/catalog.ts";

/** Calls that outlive their request. https://modelcontextprotocol.io/seps/2663-tasks-extension */

/** https://modelcontextprotocol.io/seps/2663-tasks-extension#extension-identifier */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** A call as its task keeps it. */
export interface TaskCall extends Pick<
  CallContext,
  "id" | "meta" | "input" | "trace" | "fuelUsed"
> {
  principal: Principal;
  client: Client;
  method: string;
  params: Json;
  /** Who is told how it goes on; absent where nobody is, and clients look for themselves. */
  owner?: Owner;
  /** How long the task is kept after it was created. */
  ttlMs?: number;
  /** How often its servlet was called anew, with the answers to what it had returned. */
  leg?: number;
  /** What the call has come to before it became a task, and how far it has said to be. */
  recorded?: Recorded;
  message?: string;
}

/** The session that a call came from, and goes back to. */
export interface Owner {
  session: string;
  /** Is the task nothing to its client, who waits for the call itself? */
  isHidden: boolean;
}

/** How far a task is, for its owner: as its client sees it, and all that is not answered. */
export interface Progress {
  view: DetailedTask;
  asks: Asks;
  /** How often the servlet has asked: a message that was overtaken by a newer one has fewer. */
  round: number;
}

/** How a call that becomes a task has come to it: it is over already, or waits for something. */
export type Start = TaskEnd | Pick<Suspended, "reason" | "recorded" | "state" | "fuelUsed">;

/** How a call has ended. */
export type TaskEnd = { result: Json } | { error: RpcError };

/** Bytes of what a call brings to its task. */
export function taskBytes({ params, recorded }: TaskCall, start?: Start): number {
  const isWaiting = start !== undefined && "reason" in start;
  const { entries = [] } = (isWaiting ? start.recorded : recorded) ?? {};
  return textBytes([params, entries, isWaiting ? {} : (start ?? {})]);
}

/** A task as clients see it: https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks */
export type DetailedTask = { taskId: string; status: string } & Json;

/** The principal's tasks. */
export interface Tasks {
  /** Settles when the task is durable. Without a start, its call begins now, or goes on from `recorded`. */
  create(call: TaskCall, start?: Start, id?: string): Promise<DetailedTask>;
  /** An id for a task that is to be known before it is. */
  newId(): string;
  /** Undefined where there is no such task of this principal. */
  get(id: string): Promise<DetailedTask | undefined>;
  /** Gives what is wrong with the answers; undefined for no such task. Others than those asked for are ignored. */
  update(id: string, answers: Answers): Promise<{ wrong?: string } | undefined>;
  /** False where there is no such task. */
  cancel(id: string): Promise<boolean>;
  /** Subscribes a session to the task's progress. */
  adopt(id: string, session: string): Promise<void>;
}

export type TaskMode = "never" | "auto" | "always" | "required";

const MODES: Readonly<Record<string, TaskMode>> = {
  forbidden: "never",
  optional: "auto",
  required: "required",
};

/** Which calls of this tool become tasks, by the manifest or else by the tool's own word. */
export function taskMode({ servlet, own, tool }: ToolEntry): TaskMode {
  const said = servlet.manifest.tools?.[own]?.task;
  return said ?? MODES[String(tool.execution?.taskSupport)] ?? "auto";
}

/**
 * Sends the call on as a task when its servlet begins to wait: at once where all of its calls are tasks,
 * else when it would have lasted for longer than a request should.
 */
export function taskGate(mode: TaskMode): CallContext["gate"] {
  if (mode === "never") return undefined;
  const began = Date.now();
  return (ms) => {
    if (mode !== "auto" || Date.now() - began + ms > limits.promoteAfterMs) {
      throw new Wait({ kind: "task" });
    }
  };
}

/** How far a call is, in words, where that is what a notification tells; a task's `statusMessage`. */
export function progressOf({ method, params = {} }: Notification): string | undefined {
  if (method !== "notifications/progress") return undefined;
  const { message, progress, total } = params;
  if (typeof message === "string") return message;
  return [progress, total].filter((one) => typeof one === "number").join(" of ");
}

/** How a call that has thrown ends its task. */
export const endOf = (fault: Fault): TaskEnd => ({ error: rpcError(fault) });
