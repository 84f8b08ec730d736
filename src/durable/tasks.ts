import { namespaceOf } from "../env.ts";
import type { Tasks } from "../mcp/tasks.ts";
import type { Principal } from "../model.ts";
import type { TaskObject } from "./task.ts";

/** The tasks of a Worker with this binding, by principal; undefined where it has not got it. */
export function tasksOf(env: object): ((principal: Principal) => Tasks) | undefined {
  const objects = namespaceOf<TaskObject>(env, "TASKS");
  if (objects === undefined) return undefined;
  const object = (id: string) => {
    try {
      return objects.get(objects.idFromString(id));
    } catch {
      return undefined; // It is no id of ours.
    }
  };
  return ({ name }) => ({
    // Ids of the platform's own making cannot be guessed, and no others are accepted.
    newId: () => objects.newUniqueId().toString(),
    create(call, start, id) {
      const own = id === undefined ? objects.newUniqueId() : objects.idFromString(id);
      return objects.get(own).create(call, start);
    },
    get: async (id) => object(id)?.get(name),
    update: async (id, answers) => object(id)?.update(name, answers),
    cancel: async (id) => (await object(id)?.cancel(name)) ?? false,
    adopt: async (id, session) => object(id)?.adopt(name, session),
  });
}
