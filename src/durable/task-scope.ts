import { Fault } from "../errors.ts";
import { findAgain } from "../mcp/methods.ts";
import type { Viewer } from "../servlets/deployment.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Subject } from "./task-rows.ts";

/** True where the scopes of this caller grant what the task calls. */
export async function reaches(
  registry: Registry,
  viewer: Viewer,
  subject: Subject,
): Promise<boolean> {
  if (viewer.principal.scopes === undefined) return true;
  try {
    await findAgain(subject, registry.for(viewer));
    return true;
  } catch (error) {
    return Fault.from(error).code !== "insufficient_scope";
  }
}
