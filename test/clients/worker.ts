/** The servlets that come with the project, and those that the conformance suite wants, for real clients. */
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
