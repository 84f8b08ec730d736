import type { Bundle } from "../servlets/bundle.ts";
import { Attempts } from "./attempts.ts";
import { callRecordObject } from "./call-record.ts";
import { Hub } from "./hub.ts";
import { KeyRing } from "./key-ring.ts";
import { Quota } from "./quota.ts";
import { sessionObject } from "./session.ts";
import { statesObject } from "./states.ts";
import { taskObject } from "./task.ts";

/** The Durable Object classes of a Worker that serves this bundle, under the names that wrangler.toml has. */
export const durableObjects = (bundle: Bundle) => ({
  Attempts,
  CallRecord: callRecordObject(bundle),
  Hub,
  KeyRing,
  Quota,
  Session: sessionObject(bundle),
  States: statesObject(),
  Task: taskObject(bundle),
});
