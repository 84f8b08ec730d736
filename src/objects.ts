import type { Bundle } from "./servlets/bundle.ts";
import { installsObject } from "./installs/installs.ts";
import { profileObject } from "./pages/profile.ts";
import { Attempts } from "./auth/attempts.ts";
import { callRecordObject } from "./otc/call-record.ts";
import { Grant } from "./auth/grant.ts";
import { Hub, JoiningHub } from "./mcp/hub.ts";
import { KeyRing } from "./storage/key-ring.ts";
import { Quota } from "./auth/quota.ts";
import { servletStateObject } from "./state/servlet-state.ts";
import { sessionObject } from "./mcp/legacy/session.ts";
import { shareOf } from "./shared.ts";
import { statesObject } from "./calls/states.ts";
import { taskObject } from "./calls/task.ts";
import { Usage } from "./observe/usage-object.ts";

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
    KeyRing,
    Quota,
    ServletState: servletStateObject(bundle, share),
    Session: sessionObject(bundle, share),
    States: statesObject(share),
    Task: taskObject(share),
    Usage,
  };
}
