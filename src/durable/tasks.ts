import { namespaceOf } from "../env.ts";
import type { DetailedTask, Start, TaskCall, Tasks } from "../mcp/wire/tasks.ts";
import type { Principal } from "../model.ts";
import { partsOf } from "../parts.ts";
import { textBytes } from "../shape.ts";
import { retry } from "../retry.ts";
import type { TaskObject } from "./task-object.ts";
import { kept, type Brought } from "./task-rows.ts";

/** Bytes that are handed over with a call; what has more is brought before, in parts. */
const AT_ONCE = 1024 * 1024;

async function create(
  task: DurableObjectStub<TaskObject>,
  call: TaskCall,
  start: Start | undefined,
): Promise<DetailedTask> {
  const bring = async (what: number | "call", value: unknown) => {
    let nth = 0;
    for (const part of partsOf([value])) await task.bring(what, { ...part, nth: nth++ });
  };
  const brought: Brought = { answers: 0, call: textBytes(call.params) > AT_ONCE };
  let given = call;
  if (brought.call) {
    await bring("call", kept(call));
    given = { ...call, params: {} };
  }
  const suspended = start !== undefined && "reason" in start ? start : undefined;
  const recorded = suspended?.recorded ?? call.recorded;
  const { entries = [] } = recorded ?? {};
  if (recorded === undefined || textBytes(entries) <= AT_ONCE) {
    return task.create(given, start, brought);
  }
  for (const [position, entry] of entries.entries()) await bring(position, entry);
  brought.answers = entries.length;
  const rest = { ...recorded, entries: [] };
  return suspended === undefined
    ? task.create({ ...given, recorded: rest }, undefined, brought)
    : task.create(given, { ...suspended, recorded: rest }, brought);
}

/** The tasks of a Worker with this binding, by principal; undefined without the binding. */
export function tasksOf(env: object): ((principal: Principal) => Tasks) | undefined {
  const objects = namespaceOf<TaskObject>(env, "TASKS");
  if (objects === undefined) return undefined;
  const object = (id: string) => {
    try {
      return objects.get(objects.idFromString(id));
    } catch {
      return undefined; // Not a valid Durable Object id.
    }
  };
  // A stub whose object has died is of no more use; and to do one of these twice does no harm.
  const ask = <T>(id: string, work: (task: DurableObjectStub<TaskObject>) => Promise<T>) =>
    retry(async () => {
      const task = object(id);
      return task && work(task);
    });
  return ({ name, scopes }) => {
    const principal = { name, ...(scopes && { scopes }) };
    return {
      // Ids of the platform's own making cannot be guessed, and no others are accepted.
      newId: () => objects.newUniqueId().toString(),
      create(call, start, id) {
        const own = id === undefined ? objects.newUniqueId() : objects.idFromString(id);
        return retry(() => create(objects.get(own), call, start));
      },
      get: (id) => ask(id, async (task) => task.get(principal)),
      update: (id, answers) => ask(id, async (task) => task.update(principal, answers)),
      cancel: async (id) => (await ask(id, async (task) => task.cancel(name))) ?? false,
      adopt: (id, session) => ask(id, async (task) => task.adopt(principal, session)),
    };
  };
}
