import { Fault } from "../core/errors.ts";
import type { Viewer } from "../servlets/deployment.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Subject } from "./task-rows.ts";

/** True where the scopes of this caller grant what the task calls. */
export async function reaches(
  registry: Registry,
  viewer: Viewer,
  { ref }: Subject,
): Promise<boolean> {
  if (viewer.principal.scopes === undefined) return true;
  try {
    await registry.for(viewer).resolve(ref);
    return true;
  } catch (error) {
    return Fault.from(error).code !== "insufficient_scope";
  }
}
