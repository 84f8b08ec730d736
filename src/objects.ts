import { DurableObject } from "cloudflare:workers";
import { KeyRecords } from "./auth/key-records.ts";
import type { Env } from "./bindings.ts";
import { Installs } from "./installs/installs.ts";
import type { SealingServer, Server } from "./server.ts";
import { Usage } from "./observe/usage-object.ts";
import { Attempts } from "./auth/attempts.ts";
import { CallRecord } from "./otc/call-record.ts";
import { Grant } from "./auth/grant.ts";
import { Hub } from "./mcp/hub.ts";
import { KeyRing } from "./storage/key-ring.ts";
import { PersonObject } from "./pages/person-object.ts";
import { Quota } from "./auth/quota.ts";
import { ServletState } from "./state/servlet-state.ts";
import { Session } from "./mcp/legacy/session.ts";
import { States } from "./calls/states.ts";
import { Task } from "./calls/task.ts";

/** The Durable Object classes of an isolate with this server, under the names that wrangler.toml has. */
export function durableObjects(server: Server) {
  const given = () => server;
  const sealing = () => {
    if (server.sealer !== undefined) return server as SealingServer;
    throw new Error(
      "The binding KEY_RING is missing. Add the Durable Object KEY_RING to wrangler.toml.",
    );
  };
  return {
    Attempts,
    CallRecord: madeWith(sealing, CallRecord),
    Grant,
    Hub: madeWith(given, Hub),
    Installs: madeWith(given, Installs),
    KeyRecords,
    KeyRing,
    Profile: madeWith(sealing, PersonObject),
    Quota,
    ServletState: madeWith(sealing, ServletState),
    Session: madeWith(sealing, Session),
    States: madeWith(sealing, States),
    Task: madeWith(sealing, Task),
    Usage: madeWith(given, Usage),
  };
}

type Constructor<T, More extends unknown[]> = new (
  state: DurableObjectState,
  env: Env,
  ...more: More
) => T;

/** The class as the platform makes its objects, which are given the server. */
function madeWith<T extends DurableObject<unknown>, Given>(
  given: () => Given,
  Class: Constructor<T, [Given]>,
): Constructor<T, []> {
  const Base = Class as Constructor<DurableObject<unknown>, [Given]>;
  return class extends Base {
    constructor(state: DurableObjectState, env: Env) {
      super(state, env, given());
    }
  } as Constructor<T, []>;
}
