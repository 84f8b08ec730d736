/** The tasks extension. https://modelcontextprotocol.io/seps/2663-tasks-extension */
import type { DetailedTask } from "../../calls/task-object.ts";
import { Fault } from "../../core/errors.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import { isObject, type Json } from "../../core/model.ts";
import { TASKS_EXTENSION } from "../wire/tasks.ts";

export const takesTasks = ({ capabilities: { extensions } }: ClientDescription): boolean =>
  isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);

/** Throws `missing_capability` if the client did not declare the extension. */
export function demandTasks(client: ClientDescription): void {
  if (takesTasks(client)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  const message = `The client does not declare the extension ${TASKS_EXTENSION}, which this call needs. Use a client that supports it.`;
  throw new Fault("missing_capability", message, { data });
}

/** The result with a task in place of the call's own result: without the members that only `tasks/get` returns. */
export function createTaskResult(task: DetailedTask): Json {
  const { result: _result, error: _error, inputRequests: _requests, ...plain } = task;
  return { ...plain, resultType: "task" };
}
