import { namespaceOf } from "../env.ts";
import type { Keeper } from "../model.ts";
import { again } from "./again.ts";
import type { SessionObject } from "./session.ts";
import type { TaskStore } from "./task-store.ts";

type Tell = (session: DurableObjectStub<SessionObject>, id: string) => Promise<boolean>;

/** The sessions that are told how a task goes on: one message after the other. */
export class TaskOwners {
  readonly #store: TaskStore;
  readonly #id: string;
  readonly #env: object;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: TaskStore, id: string, env: object) {
    this.#store = store;
    this.#id = id;
    this.#env = env;
  }

  /** Settles when they have been told everything, or could not be. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Stores what a call is told: after its owners have heard what was said before, for that is not said again. */
  keeper(): Keeper {
    const store = this.#store;
    return {
      begin: (head) => store.begin(head),
      intend: (position, key, isRepeatable) => store.intend(position, key, isRepeatable),
      keep: async (position, entry, notices) => {
        await this.#last;
        await store.keep(position, entry, notices);
      },
    };
  }

  /** Gives whether one of them is there; undefined where the task has none. */
  tell(tell: Tell): Promise<boolean | undefined> {
    const owners = this.#store.sessions;
    const sessions = namespaceOf<SessionObject>(this.#env, "SESSIONS");
    if (owners.length === 0 || sessions === undefined) return Promise.resolve(undefined);
    const telling = this.#last.then(async () => {
      if (!this.#store.exists) return undefined;
      const there = owners.map((owner) =>
        // A stub whose object has died is of no more use.
        again(() => tell(sessions.get(sessions.idFromString(owner)), this.#id)),
      );
      return (await Promise.all(there)).includes(true);
    });
    this.#last = Promise.allSettled([telling]);
    return telling;
  }
}
