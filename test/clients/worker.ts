/** The servlets that come with the project, and those that the conformance suite wants, for real clients. */
import { createWorker } from "../../src/server/worker.ts";
import { bundle } from "./bundle.gen.ts";

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
