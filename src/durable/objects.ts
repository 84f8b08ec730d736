import type { Bundle } from "../servlets/bundle.ts";
import { KeyRecords } from "../auth/key-records.ts";
import { installsObject } from "../builds/installs.ts";
import { profileObject } from "./profile.ts";
import { Attempts } from "./attempts.ts";
import { callRecordObject } from "./call-record.ts";
import { Grant } from "./grant.ts";
import { Hub, JoiningHub } from "./hub.ts";
import { KeyRing } from "./key-ring.ts";
import { Quota } from "./quota.ts";
import { servletStateObject } from "./servlet-state.ts";
import { sessionObject } from "./session.ts";
import { shareOf } from "./shared.ts";
import { statesObject } from "./states.ts";
import { taskObject } from "./task.ts";
import { Usage } from "../usage/usage-object.ts";

/** The Durable Object classes of a Worker that serves this bundle, under the names that wrangler.toml has. */
export function durableObjects(bundle: Bundle) {
  const share = shareOf(bundle);
  const isStateShared = bundle.servlets.some(({ manifest }) => manifest.state === "server");
  return {
    Profile: profileObject(share),
    Attempts,
    CallRecord: callRecordObject(share),
    Grant,
    Hub: isStateShared ? JoiningHub : Hub,
    Installs: installsObject(bundle),
    KeyRecords,
    KeyRing,
    Quota,
    ServletState: servletStateObject(bundle, share),
    Session: sessionObject(bundle, share),
    States: statesObject(share),
    Task: taskObject(share),
    Usage,
  };
}
