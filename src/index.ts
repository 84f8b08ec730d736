import { createWorker } from "edge-servlets";
import { bundle } from "../.bundle/bundle.gen.ts";

const { worker, objects } = createWorker(bundle);
// The classes of all Durable Objects that wrangler.toml binds.
export const { Attempts, CallRecord, Hub, Installs, KeyRing, Profile } = objects;
export const { Quota, ServletState, Session, States, Task, Usage } = objects;

export default {
  fetch(request: Request, env: Env, context: ExecutionContext) {
    if (new URL(request.url).pathname === "/hello") return new Response("Hello.");
    return worker.fetch(request, env, context);
  },
};
