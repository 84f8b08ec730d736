/** Tasks as 2025-11-25 has them. https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks */
import type { DetailedTask } from "../../kernel/calls/task-object.ts";
import { Fault, type JsonRpcError } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import type { ClientDescription } from "../../kernel/core/call-context.ts";
import { isObject, type Json, type Tool } from "../../kernel/core/model.ts";
import { errorMessage, resultMessage, type RequestId } from "../../kernel/mcp/wire/message.ts";
import { CALL_TOOL } from "../../kernel/servlets/scopes.ts";
import { olderResult, olderError } from "../../kernel/mcp/legacy/shapes.ts";

const RELATED_TASK_META = "io.modelcontextprotocol/related-task";

/** The method that returns the result of a task when it has ended. */
export const TASK_RESULT = "tasks/result";

/** True if the client can run this request as a task of its own. */
export function takesAsTask(
  { capabilities: { tasks } }: ClientDescription,
  method: string,
): boolean {
  const [of = "", what = ""] = method.split("/");
  const requests = isObject(tasks) ? tasks["requests"] : undefined;
  const ofThese = isObject(requests) ? requests[of] : undefined;
  return isObject(ofThese) && isObject(ofThese[what]);
}

/**
 * The lifetime, in ms, of the task that a call's params request; undefined if they request none. Throws
 * `method_not_found` if the tool does not support, or requires, being called as a task; `invalid_params`.
 */
export function wantedTtl(
  { name, execution }: Tool,
  { task, name: called }: Json,
): number | undefined {
  // Its client knows `call_tool` alone, whose calls may be tasks.
  const usual = called === CALL_TOOL ? "optional" : "forbidden";
  const support = execution?.taskSupport ?? usual;
  if (task === undefined) {
    if (support !== "required") return undefined;
    throw new Fault("method_not_found", `${name} can only be called as a task. Send params.task.`);
  }
  if (support === "forbidden") {
    throw new Fault(
      "method_not_found",
      `${name} cannot be called as a task. Send the call without params.task.`,
    );
  }
  const ttl = isObject(task) ? (task["ttl"] ?? limits.taskMs) : undefined;
  if (typeof ttl === "number" && ttl > 0) return ttl;
  const message = "params.task must be an object, and its ttl a number of milliseconds.";
  throw new Fault("invalid_params", message);
}

export const isOver = ({ status }: DetailedTask): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

export function olderTask(task: DetailedTask): Json {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  };
}

/** Params or a result with the `_meta` that relates them to a task. */
export function related(about: Json, taskId: string): Json {
  const meta = isObject(about["_meta"]) ? about["_meta"] : {};
  return { ...about, _meta: { ...meta, [RELATED_TASK_META]: { taskId } } };
}

/** The response, with a task's result or error, to the request that waits for it. */
export function taskResponseOf(
  { id, method, version }: { id: RequestId; method: string; version: string },
  { taskId, status, result, error }: DetailedTask,
): string {
  if (isObject(result)) {
    const shaped = olderResult(result, version);
    const whole = method === TASK_RESULT ? related(shaped, taskId) : shaped;
    return resultMessage(id, JSON.stringify(whole));
  }
  const bad = isObject(error)
    ? (error as unknown as JsonRpcError)
    : new Fault("cancelled", `The task was ${status}.`);
  return errorMessage(id, olderError(method, bad));
}
