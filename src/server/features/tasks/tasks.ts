import { unsettled } from "../../kernel/core/settled.ts";
import { withoutInput } from "../../kernel/calls/call-ref.ts";
import { logError } from "../../kernel/core/errors.ts";
import type { CallerQuota, Json } from "../../kernel/core/model.ts";
import type { Answers } from "../../kernel/core/asks.ts";
import { partsOf } from "../../kernel/core/parts.ts";
import { textBytes } from "../../kernel/core/shape.ts";
import { retry } from "../../kernel/core/retry.ts";
import { afterSending } from "../../kernel/core/unknown-outcome.ts";
import type {
  CreateOptions,
  DetailedTask,
  HandedOver,
  Look,
  TaskInspection,
  Start,
  TaskCall,
  PageWait,
  Tasks,
  TasksOf,
  TaskViewer,
  Uploaded,
} from "../../kernel/calls/task-object.ts";
import type { Task } from "./task.ts";
import { storedCall } from "./task-rows.ts";

/** Maximum bytes of a call sent in one message; a larger call is uploaded in parts first. */
const AT_ONCE = 1024 * 1024;

async function create(
  task: DurableObjectStub<Task>,
  call: TaskCall,
  start: Start | undefined,
): Promise<DetailedTask> {
  const upload = async (what: number | "call", value: unknown) => {
    let nth = 0;
    for (const part of partsOf([value])) await task.upload(what, { ...part, nth: nth++ });
  };
  const uploaded: Uploaded = { answers: 0, call: textBytes(call.ref) > AT_ONCE };
  let given = call;
  if (uploaded.call) {
    await upload("call", storedCall(call));
    given = { ...call, ref: withoutInput(call.ref) };
  }
  const suspended = start !== undefined && "reason" in start ? start : undefined;
  const recorded = suspended?.recorded ?? call.recorded;
  const { entries = [] } = recorded ?? {};
  if (recorded === undefined || textBytes(entries) <= AT_ONCE) {
    return task.create(given, start, uploaded);
  }
  for (const [position, entry] of entries.entries()) await upload(position, entry);
  uploaded.answers = entries.length;
  const rest = { ...recorded, entries: [] };
  return suspended === undefined
    ? task.create({ ...given, recorded: rest }, undefined, uploaded)
    : task.create(given, { ...suspended, recorded: rest }, uploaded);
}

/** Bytes that a new task stores of its call and its client. */
function taskBytes({ ref, meta, client, recorded }: TaskCall, start?: Start): number {
  const isWaiting = start !== undefined && "reason" in start;
  const { entries = [] } = (isWaiting ? start.recorded : recorded) ?? {};
  return textBytes([ref, meta, client, entries, isWaiting ? {} : (start ?? {})]);
}

/** The tasks of one principal. Repeats a method of a task whose object has died: they are idempotent. */
export class StoredTasks implements Tasks {
  readonly #objects: DurableObjectNamespace<Task>;
  readonly #principal: TaskViewer;
  readonly #countStored: CallerQuota["countStored"];

  constructor(
    objects: DurableObjectNamespace<Task>,
    { name, scopes, profile, isAtPage, isOperator }: TaskViewer,
    countStored: CallerQuota["countStored"],
  ) {
    this.#objects = objects;
    this.#countStored = countStored;
    this.#principal = {
      name,
      ...(scopes && { scopes }),
      ...(profile !== undefined && { profile }),
      ...(isAtPage && { isAtPage }),
      ...(isOperator && { isOperator }),
    };
  }

  /** The principal as the viewer of a task. */
  get #viewer(): TaskViewer {
    return { ...this.#principal, at: Date.now() };
  }

  /** The platform's ids cannot be guessed, and only they are accepted. */
  newId(): string {
    return this.#objects.newUniqueId().toString();
  }

  async create(
    call: TaskCall,
    start?: Start,
    { id = this.newId(), isRetried = false }: CreateOptions = {},
  ): Promise<DetailedTask> {
    await this.#countStored(taskBytes(call, start));
    try {
      return await retry(() =>
        create(this.#objects.get(this.#objects.idFromString(id)), call, start),
      );
    } catch (error) {
      if (isRetried) throw error;
      // A hidden task stops by itself once its session no longer waits for it.
      if (call.owner?.isHidden !== true) await this.cancel(id).catch(logError);
      const isOver = start !== undefined && !("reason" in start);
      throw afterSending({ hasSent: !isOver }, error);
    }
  }

  get(id: string): Promise<DetailedTask | undefined> {
    return this.#ask(id, async (task) => task.get(this.#viewer));
  }

  update(id: string, answers: Answers): Promise<{ wrong?: string } | undefined> {
    return this.#ask(id, async (task) => task.update(this.#viewer, answers));
  }

  handedOver(id: string, wait?: PageWait): Promise<HandedOver | undefined> {
    return this.#ask(id, async (task) => task.handedOver(this.#viewer, wait));
  }

  reply(id: string, key: string, result: Json) {
    return this.#ask(id, async (task) => task.reply(this.#viewer, key, result));
  }

  /** Throws as `looked`. */
  async look(id: string, look: Look): Promise<TaskInspection | undefined> {
    const done = await this.#ask(id, async (task) => task.look(this.#viewer, look));
    return done && unsettled(done);
  }

  async cancel(id: string, isByPerson = false): Promise<boolean> {
    const cancel = async (task: DurableObjectStub<Task>) =>
      task.cancel(this.#viewer, { isByPerson });
    return (await this.#ask(id, cancel)) ?? false;
  }

  async stop(id: string, reason: string): Promise<void> {
    await this.#ask(id, async (task) => task.fail(this.#viewer, reason));
  }

  async forget(id: string): Promise<void> {
    await this.#ask(id, async (task) => task.cancel(this.#viewer, { isForgotten: true }));
  }

  async adopt(id: string, session: string): Promise<void> {
    await this.#ask(id, async (task) => task.adopt(this.#viewer, session));
  }

  async #ask<T>(
    id: string,
    work: (task: DurableObjectStub<Task>) => Promise<T>,
  ): Promise<T | undefined> {
    const objects = this.#objects;
    let object: DurableObjectId;
    try {
      object = objects.idFromString(id);
    } catch {
      return undefined; // Not a valid Durable Object id.
    }
    return retry(() => work(objects.get(object)));
  }
}

export interface TasksEnv {
  TASKS?: DurableObjectNamespace<Task>;
}

/** The tasks of a Worker with this binding; undefined without it. */
export const tasksOf = ({ TASKS }: TasksEnv): TasksOf | undefined =>
  TASKS && ((principal, countStored) => new StoredTasks(TASKS, principal, countStored));
