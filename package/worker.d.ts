import type { BundledServlets } from "./kernel/servlets/bundle.ts";

/**
 * The module that `npm run bundle` writes, with all servlets, and the features of the server that they need: {@link createWorker}
 * serves it.
 */
export interface Bundle extends BundledServlets {
  readonly features: readonly object[];
}

/** A class of Durable Objects, exported under the name that wrangler.toml has as `class_name`. */
type ObjectClass = new (state: never, env: never) => object;

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
export declare function createWorker(bundle: Bundle): {
  worker: { fetch(request: Request, env?: object, context?: object): Response | Promise<Response> };
  objects: Record<string, ObjectClass>;
};
