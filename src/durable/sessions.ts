import { namespaceOf } from "../env.ts";
import type { Sessions } from "../mcp/wire/session.ts";
import type { Principal } from "../model.ts";
import type { SessionObject } from "./session-object.ts";

/** The sessions of a Worker with this binding, by principal; undefined where it has not got it. */
export function sessionsOf(env: object): ((principal: Principal) => Sessions) | undefined {
  const objects = namespaceOf<SessionObject>(env, "SESSIONS");
  if (objects === undefined) return undefined;
  return ({ name, address }) => ({
    async create(client) {
      // Ids of the platform's own making cannot be guessed, and no others are accepted.
      const id = objects.newUniqueId();
      await objects.get(id).create({ name, ...(address && { address }) }, client);
      return id.toString();
    },
    get(id) {
      let object: DurableObjectStub<SessionObject>;
      try {
        object = objects.get(objects.idFromString(id));
      } catch {
        return undefined; // It is no id of ours.
      }
      return {
        post: async (post) => object.post(name, post),
        listen: async (lastEventId) => object.listen(name, lastEventId),
        end: async () => object.end(name),
      };
    },
  });
}
