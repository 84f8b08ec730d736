/** The tasks extension. https://modelcontextprotocol.io/seps/2663-tasks-extension */
import type { Tasks } from "../../calls/tasks.ts";
import type { DetailedTask } from "../../calls/task-object.ts";
import { Fault } from "../../core/errors.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import { isObject, type Json } from "../../core/model.ts";
import { responsesIn } from "../../asks/answers.ts";
import { methodNotFound } from "../wire/message.ts";
import type { Method } from "../method.ts";
import { stringParam } from "../wire/params.ts";
import { TASKS_EXTENSION } from "../wire/tasks.ts";
import { beginningOf } from "../../core/text.ts";

export const takesTasks = ({ capabilities: { extensions } }: ClientDescription): boolean =>
  isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);

/** Throws `missing_capability` where the client did not declare the extension. */
export function demandTasks(client: ClientDescription): void {
  if (takesTasks(client)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  const message = `The client does not declare the extension ${TASKS_EXTENSION}, which this call needs. Use a client that supports it.`;
  throw new Fault("missing_capability", message, { data });
}

/** The result with a task instead of the call's own result: without the members that only `tasks/get` returns. */
export function createTaskResult(task: DetailedTask): Json {
  const { result: _result, error: _error, inputRequests: _requests, ...plain } = task;
  return { ...plain, resultType: "task" };
}

/** https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling */
export const getTask = onTask(async (tasks, id) => found(await tasks.get(id), id));

export const updateTask = onTask(async (tasks, id, { inputResponses }) => {
  const { wrong } = found(await tasks.update(id, responsesIn(inputResponses)), id);
  if (wrong !== undefined) throw new Fault("invalid_params", wrong);
  return {};
});

export const cancelTask = onTask(async (tasks, id) => {
  found((await tasks.cancel(id)) || undefined, id);
  return {};
});

/**
 * A method on the task that its params name. It throws `method_not_found` without tasks here, `missing_capability` without
 * them at the client.
 */
function onTask(
  work: (tasks: Tasks, id: string, params: Json) => Promise<Json>,
): NonNullable<Method["modern"]> {
  return async ({ method, params }, { tasks }, client) => {
    if (tasks === undefined) throw methodNotFound(method);
    demandTasks(client);
    return work(tasks, stringParam(params, "taskId"), params);
  };
}

function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new Fault(
    "invalid_params",
    `Unknown task: ${beginningOf(id, 80)}. It has expired, or belongs to another caller.`,
  );
}
