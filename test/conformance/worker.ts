/** The server that the official conformance suite is run against: `npm run dev:conformance`. */
import { createWorker } from "../../src/worker.ts";
import { bundle } from "./bundle.gen.ts";

const { worker, objects } = createWorker(bundle);
export const {
  Profile,
  Attempts,
  CallRecord,
  Grant,
  Hub,
  Installs,
  KeyRecords,
  KeyRing,
  Quota,
  ServletState,
  Session,
  States,
  Task,
  Usage,
} = objects;
export default worker;
