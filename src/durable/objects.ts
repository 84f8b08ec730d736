import type { Bundle } from "../servlets/bundle.ts";
import { callRecordObject } from "./call-record.ts";
import { Hub } from "./hub.ts";
import { KeyRing } from "./key-ring.ts";
import { sessionObject } from "./session.ts";
import { States } from "./states.ts";
import { taskObject } from "./task.ts";

/** The Durable Object classes of a Worker that serves this bundle, under the names that wrangler.toml has. */
export const durableObjects = (bundle: Bundle) => ({
  CallRecord: callRecordObject(bundle),
  Hub,
  KeyRing,
  Session: sessionObject(bundle),
  States,
  Task: taskObject(bundle),
});
