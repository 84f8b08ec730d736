import { env, tracing } from "cloudflare:workers";
import { createApp } from "./kernel/app.ts";
import { Kernel, type Bundle } from "./kernel/kernel.ts";
import { durableObjects } from "./kernel/objects.ts";
import { configureTracing } from "./kernel/observe/spans.ts";

export type { Bundle } from "./kernel/kernel.ts";

/**
 * The Worker that serves a bundle, for an entry file: `worker` is its default export, and the members of `objects` are
 * exported under their names, which the bindings in wrangler.toml have as `class_name`.
 *
 * Throws for a configuration that is not valid.
 *
 * @example
 * import { createWorker } from "edge-servlets";
 * import { bundle } from "./.bundle/bundle.gen.ts"; // which `edge-servlets bundle` writes
 *
 * const { worker, objects } = createWorker(bundle);
 * export const { Attempts, CallRecord, Events, Grant, Hooks, Hub, Installs } = objects;
 * export const { KeyRecords, KeyRing, Profile, Quota, Schedules, ServletState } = objects;
 * export const { Session, States, Task, Transfers, Usage } = objects;
 * export default worker;
 */
export function createWorker(bundle: Bundle) {
  configureTracing(tracing, env);
  const kernel = new Kernel(bundle, env);
  return { worker: createApp(kernel), objects: durableObjects(kernel) };
}
