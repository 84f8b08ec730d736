import { Fault } from "../errors.ts";
import type { TaskCall } from "../mcp/tasks.ts";
import type { Principal } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";

/** What a task calls, as far as scopes care. */
export type Subject = Pick<TaskCall, "method"> & { params: { name?: unknown; uri?: unknown } };

export const subjectOf = ({ method, params: { name, uri } }: TaskCall): Subject => ({
  method,
  params: { name, uri },
});

/** Do these scopes reach what the task calls? */
export async function reaches(
  registry: Registry,
  scopes: Principal["scopes"],
  { method, params }: Subject,
): Promise<boolean> {
  try {
    await registry.within(scopes).demandScope(method, params);
    return true;
  } catch (error) {
    if (Fault.from(error).code !== "insufficient_scope") throw error;
    return false;
  }
}
