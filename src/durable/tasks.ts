import { namespaceOf } from "../env.ts";
import type { DetailedTask, Start, TaskCall, Tasks } from "../mcp/tasks.ts";
import type { Answers, Principal } from "../model.ts";
import { again } from "./again.ts";

/** What others may ask of a task. `principal` is whoever asks; to all but its own there is no such task. */
export interface TaskObject extends Rpc.DurableObjectBranded {
  create(call: TaskCall, start?: Start): Promise<DetailedTask>;
  get(principal: string): Promise<DetailedTask | undefined>;
  update(principal: string, answers: Answers): Promise<{ wrong?: string } | undefined>;
  cancel(principal: string): Promise<boolean>;
  /** From now on this session is told how the task goes on. */
  adopt(principal: string, session: string): Promise<void>;
}

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
  // A stub whose object has died is of no more use; and to do one of these twice does no harm.
  const ask = <T>(id: string, work: (task: DurableObjectStub<TaskObject>) => Promise<T>) =>
    again(async () => {
      const task = object(id);
      return task && work(task);
    });
  return ({ name }) => ({
    // Ids of the platform's own making cannot be guessed, and no others are accepted.
    newId: () => objects.newUniqueId().toString(),
    create(call, start, id) {
      const own = id === undefined ? objects.newUniqueId() : objects.idFromString(id);
      return again(() => objects.get(own).create(call, start));
    },
    get: (id) => ask(id, async (task) => task.get(name)),
    update: (id, answers) => ask(id, async (task) => task.update(name, answers)),
    cancel: async (id) => (await ask(id, async (task) => task.cancel(name))) ?? false,
    adopt: (id, session) => ask(id, async (task) => task.adopt(name, session)),
  });
}
