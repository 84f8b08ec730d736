import { Fault } from "../errors.ts";
import { findAgain } from "../mcp/methods.ts";
import type { TaskCall } from "../mcp/wire/tasks.ts";
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
  subject: Subject,
): Promise<boolean> {
  try {
    await findAgain(subject, registry.within(scopes));
    return true;
  } catch (error) {
    return Fault.from(error).code !== "insufficient_scope";
  }
}
