/** All servlets and all guests of the tests, served over real HTTP. */
import { DurableObject, env, tracing } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { durableObjects } from "../../src/durable/objects.ts";
import { configureTracing } from "../../src/tracing/spans.ts";
import { bundle } from "../bundle.gen.ts";

configureTracing(tracing, env);

export const {
  Profile,
  Attempts,
  CallRecord,
  Hub,
  Installs,
  KeyRing,
  Quota,
  ServletState,
  Session,
  States,
  Task,
  Usage,
} = durableObjects(bundle);

/** Storage of its own, for tests: that of objects with facets cannot be listed with others (\`listDurableObjectIds\`). */
export class Scratch extends DurableObject {
  override alarm() {}
}

export default createApp(bundle, env);
