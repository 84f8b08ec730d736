// @ts-ignore Workers have it, and the room of these tests has the types of Node.
import { DurableObject } from "cloudflare:workers";

/** A Worker with the Durable Objects of this project, which do nothing, as its answers do. */
class Empty extends DurableObject {}

export {
  Empty as Attempts,
  Empty as CallRecord,
  Empty as Grant,
  Empty as Hub,
  Empty as Installs,
  Empty as KeyRecords,
  Empty as KeyRing,
  Empty as Profile,
  Empty as Quota,
  Empty as ServletState,
  Empty as Session,
  Empty as States,
  Empty as Task,
  Empty as Usage,
};
export { default } from "./bare.ts";
