import { env, tracing } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { durableObjects } from "./objects.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { configureTracing } from "./observe/spans.ts";

export type { Bundle } from "./servlets/bundle.ts";

/**
 * The Worker that serves a bundle, for an entry file: `worker` is its default export, and the members of `objects` are
 * exported under their names, which the bindings in wrangler.toml have as `class_name`.
 *
 * Throws for a configuration that is not valid.
 *
 * @example
 * const { worker, objects } = createWorker(bundle); // of `.bundle/bundle.gen.ts`, which `edge-servlets bundle` writes
 * export const { Attempts, CallRecord, Hub } = objects; // and all others that wrangler.toml names
 * export default worker;
 */
export function createWorker(bundle: Bundle) {
  configureTracing(tracing, env);
  return { worker: createApp(bundle, env), objects: durableObjects(bundle) };
}
