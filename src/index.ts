import { env, tracing } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { bundle } from "./bundle.gen.ts";
import { durableObjects } from "./durable/objects.ts";
import { configureTracing } from "./tracing/spans.ts";

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
export default createApp(bundle, env);
