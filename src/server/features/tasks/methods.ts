/** The methods of the tasks extension. https://modelcontextprotocol.io/seps/2663-tasks-extension */
import { responsesIn } from "../../kernel/asks/answers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { Json } from "../../kernel/core/model.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import type { Method } from "../../kernel/mcp/method.ts";
import { demandTasks } from "../../kernel/mcp/modern/tasks.ts";
import { methodNotFound } from "../../kernel/mcp/wire/message.ts";
import { stringParam } from "../../kernel/mcp/wire/params.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";

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
 * A method on the task that its params name. Throws `method_not_found` if the server has no tasks, `missing_capability`
 * if the client does not support them.
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
