import type { TaskCall } from "./task-object.ts";
import { Fault } from "../errors.ts";
import { findAgain } from "../mcp/methods.ts";
import type { Principal } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Subject } from "./task-rows.ts";

/** The subject of a call. */
export const subjectOf = ({ method, params: { name, uri } }: TaskCall): Subject => ({
  method,
  params: { name, uri },
});

/** True where these scopes grant what the task calls. */
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
