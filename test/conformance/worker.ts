/** The server that the official conformance suite is run against: `npm run dev:conformance`. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { durableObjects } from "../../src/objects.ts";
import { bundle } from "./bundle.gen.ts";

export const {
  Profile,
  Attempts,
  CallRecord,
  Grant,
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
