import type { TaskCall } from "../../kernel/calls/task-object.ts";
import { logError } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { changes, progressTextOf } from "../../kernel/calls/changes.ts";
import type { Notification } from "../../kernel/core/model.ts";
import type { Keeper, Recorded } from "../../kernel/core/record.ts";
import type { UnrecordedCall } from "../../kernel/core/unknown-outcome.ts";
import { retry } from "../../kernel/core/retry.ts";
import type { TaskEnv, TaskHub, TaskListener } from "./task-server.ts";
import type { StoredBytes } from "../../kernel/storage/stored-bytes.ts";
import type { TaskStore } from "./task-store.ts";
import { hasDeadlines, startDeadlines } from "./task-call.ts";
import { taskProgressOf, viewOf } from "./task-view.ts";

type Notify = (session: DurableObjectStub<TaskListener>, id: string) => Promise<boolean>;

/** The sessions that are notified of a task's progress, one message after the other. */
export class TaskOwners {
  readonly #store: TaskStore;
  readonly #env: TaskEnv;
  #last: Promise<unknown> = Promise.resolve();
  /** True once listeners were sent the final status. */
  #isOver = false;

  constructor(store: TaskStore, env: TaskEnv) {
    this.#store = store;
    this.#env = env;
  }

  /** Settles when all notifications were sent or have failed. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Stores a call's answers, each after the earlier notifications were sent, since those are not repeated. */
  keeper(sender: UnrecordedCall, stored: StoredBytes): Keeper {
    const store = this.#store;
    return {
      begin: (head, place) => store.begin(head, place),
      intend: async (position, key, method, place) => {
        if (method !== "once") return false;
        sender.hasSent = true;
        return store.intend(position, key, place);
      },
      keep: async (position, entry, notices, place) => {
        await this.#last;
        await stored.add(entry.answer);
        await store.keep(position, entry, notices, place);
      },
    };
  }

  /**
   * Takes the servlet's notifications, and sends each to the sessions, in order and once. Calls `onProgress` with
   * the text of the task's own progress, if its client sees the task.
   */
  notifier(
    { restarts = 0 }: TaskCall,
    recorded: Recorded | undefined,
    onProgress: (message: string) => void,
  ): (notice: Notification) => void {
    const { owner } = this.#store;
    const hub = this.#hub;
    let nth = restarts * (limits.notifications + 1) + (recorded?.notices ?? 0);
    const publish = changes({ hub }, (notice) => {
      const number = nth;
      this.notify((session, id) => session.notified(id, number, notice)).catch(logError);
      const message = owner?.isHidden === true ? undefined : progressTextOf(notice);
      if (message !== undefined) onProgress(message);
    });
    return (notice) => {
      if (notice.isInner !== true) nth++;
      publish(notice);
    };
  }

  /** The hub of the task's principal. */
  get #hub(): (() => DurableObjectStub<TaskHub>) | undefined {
    const { hub } = this.#store.row;
    const { HUBS: hubs } = this.#env;
    return hubs && (() => hubs.getByName(hub));
  }

  /** Sends the task's status to its subscribed streams. */
  async publish(): Promise<void> {
    // For the client, a call that was handed over has ended.
    if (this.#isOver) return;
    this.#isOver = this.#store.isHandedOver;
    const hub = this.#hub?.();
    const method = "notifications/tasks";
    if (!(await hub?.isHeard({ method, params: { taskId: this.#store.id } }))) return;
    await hub?.publish([{ method, params: await viewOf(this.#store) }]);
  }

  /** Sends the task's status, as `notify`; deadlines start once a session knows the asks. `inTurn` runs work alone. */
  progressed(inTurn: (work: () => Promise<void>) => Promise<void>): Promise<boolean | undefined> {
    return this.notify(async (session, id) => {
      const progress = await taskProgressOf(this.#store);
      const isWaiting = await session.progressed(id, progress);
      if (hasDeadlines(progress.asks))
        await inTurn(() => startDeadlines(this.#store, progress.asks));
      return isWaiting;
    });
  }

  /** Returns true if one of the sessions exists; undefined if the task has none. */
  notify(send: Notify): Promise<boolean | undefined> {
    const owners = this.#store.sessions;
    const { SESSIONS: sessions } = this.#env;
    if (owners.length === 0 || sessions === undefined) return Promise.resolve(undefined);
    const sending = this.#last.then(async () => {
      if (!this.#store.exists) return undefined;
      const there = owners.map((owner) =>
        // A stub cannot be used again after its object has died.
        retry(() => send(sessions.get(sessions.idFromString(owner)), this.#store.id)),
      );
      return (await Promise.all(there)).includes(true);
    });
    this.#last = Promise.allSettled([sending]);
    return sending;
  }
}
