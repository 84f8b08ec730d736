/** All servlets and all guests of the tests, served over real HTTP. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { durableObjects } from "../../src/durable/objects.ts";
import { bundle } from "../bundle.gen.ts";

export const {
  Account,
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
} = durableObjects(bundle);
export default createApp(bundle, env);
