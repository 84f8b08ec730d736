/** The server that the official conformance suite is run against: `npm run dev:conformance`. */
import { configureLimits } from "../../src/server/kernel/core/limits.ts";
import { createWorker } from "../../src/server/worker.ts";
import { bundle } from "./bundle.gen.ts";

// Streams of calls are closed while these wait: clients are to come back.
configureLimits({ callStreamMs: 2000 });

const { worker, objects } = createWorker(bundle);
export const {
  Profile,
  Attempts,
  CallRecord,
  Events,
  Grant,
  Hooks,
  Hub,
  Installs,
  KeyRecords,
  KeyRing,
  Quota,
  Schedules,
  ServletState,
  Session,
  States,
  Task,
  Transfers,
  Usage,
} = objects;
export default worker;
