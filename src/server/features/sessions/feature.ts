import type { Feature } from "../../kernel/kernel.ts";
import { hubNameOf } from "../../kernel/calls/changes.ts";
import type { Principal } from "../../kernel/core/model.ts";
import { Hub } from "./hub.ts";
import { Session } from "./session.ts";
import * as inSession from "./session-methods.ts";
import { sessionRequests } from "./session-requests.ts";
import { Sessions } from "./sessions.ts";
import type { Methods } from "../../kernel/mcp/method.ts";
import { listenAt } from "./listen.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { tasksFeature } from "../tasks/feature.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Streams of changes; required by sessions. */
    HUBS?: DurableObjectNamespace<Hub>;
    /** Clients of the revisions up to 2025-11-25 that have sessions, with `HUBS` and `TASKS`. */
    SESSIONS?: DurableObjectNamespace<Session>;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    sessions?: Sessions;
    hubs?: DurableObjectNamespace<Hub>;
  }
}

const sessionMethods: Methods = {
  "tasks/cancel": { session: inSession.cancelSessionTask },
  "tasks/get": { session: inSession.getSessionTask },
  "tasks/list": { session: inSession.listTasks },
  "tasks/result": { session: inSession.awaitTask },
  initialize: { session: inSession.initializeAgain },
  "logging/setLevel": { session: inSession.setSessionLevel, sessionFirst: true },
  "resources/subscribe": { session: inSession.subscribe },
  "resources/unsubscribe": { session: inSession.unsubscribe },
};

/** Sessions of clients up to 2025-11-25, and streams of changes. */
export const sessionsFeature: Feature = {
  name: "sessions",
  needs: [tasksFeature],
  start(kernel) {
    const { env, sealer } = kernel;
    const { SESSIONS: objects, HUBS: hubs } = env;
    const hubOf = hubs && ((principal: Principal) => hubs.getByName(hubNameOf(principal, env)));
    const listDigests = (profile?: string) => kernel.listDigests(profile);
    const directory = sealer && objects && new Sessions(objects, { sealer, env, listDigests });
    return {
      methods: {
        ...sessionMethods,
        ...(hubOf && { "subscriptions/listen": { stream: listenAt(hubOf) } }),
      },
      parts: {
        ...(hubOf && { hubs, hubOf }),
        ...(directory && { sessions: directory, sessionRequests: sessionRequests(directory) }),
      },
      objects: {
        Hub: objectClassWith(() => kernel, Hub),
        Session: objectClassWith(() => kernel.sealing, Session),
      },
    };
  },
};
