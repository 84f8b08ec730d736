import type { Feature } from "../kernel.ts";
import { Hub } from "../mcp/hub.ts";
import { Session } from "../mcp/legacy/session.ts";
import { Sessions } from "../mcp/legacy/sessions.ts";
import { madeWith } from "../object-class.ts";
import { tasksFeature } from "./tasks.ts";

/** Sessions of clients up to 2025-11-25, and streams of changes. */
export const sessionsFeature: Feature = {
  name: "sessions",
  needs: [tasksFeature],
  start(kernel) {
    const { env, sealer } = kernel;
    const { SESSIONS: objects, HUBS: hubs } = env;
    const listDigests = (profile?: string) => kernel.listDigests(profile);
    return {
      parts: {
        ...(hubs && { hubs }),
        ...(sealer && objects && { sessions: new Sessions(objects, { sealer, env, listDigests }) }),
      },
      objects: {
        Hub: madeWith(() => kernel, Hub),
        Session: madeWith(() => kernel.sealing, Session),
      },
    };
  },
};
