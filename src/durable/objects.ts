import { DurableObject } from "cloudflare:workers";
import { KeyRecords } from "../auth/key-records.ts";
import type { Env } from "../bindings.ts";
import { Installs } from "../builds/installs.ts";
import type { SealingServer, Server } from "../server.ts";
import { Usage } from "../usage/usage-object.ts";
import { Attempts } from "./attempts.ts";
import { CallRecord } from "./call-record.ts";
import { Grant } from "./grant.ts";
import { Hub } from "./hub.ts";
import { KeyRing } from "./key-ring.ts";
import { Profile } from "./profile.ts";
import { Quota } from "./quota.ts";
import { ServletState } from "./servlet-state.ts";
import { Session } from "./session.ts";
import { States } from "./states.ts";
import { Task } from "./task.ts";

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
    Profile: madeWith(sealing, Profile),
    Quota,
    ServletState: madeWith(sealing, ServletState),
    Session: madeWith(sealing, Session),
    States: madeWith(sealing, States),
    Task: madeWith(sealing, Task),
    Usage,
  };
}

type Constructor<T, More extends unknown[]> = new (
  state: DurableObjectState,
  env: Env,
  ...more: More
) => T;

/** The class as the platform makes its objects, which are given the server. */
function madeWith<T extends DurableObject<Env>, Given>(
  given: () => Given,
  Class: Constructor<T, [Given]>,
): Constructor<T, []> {
  const Base = Class as Constructor<DurableObject<Env>, [Given]>;
  return class extends Base {
    constructor(state: DurableObjectState, env: Env) {
      super(state, env, given());
    }
  } as Constructor<T, []>;
}
