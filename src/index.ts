import { bundle } from "./bundle.gen.ts";
import { createWorker } from "./server/worker.ts";

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
