import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { AsyncLocalStorage } from "node:async_hooks";
import { expect } from "vitest";
import { SessionCalls } from "../../../../src/server/features/sessions/session-calls.ts";
import { SessionStore } from "../../../../src/server/features/sessions/session-store.ts";
import { SessionStreams } from "../../../../src/server/features/sessions/session-streams.ts";
import { TaskStore } from "../../../../src/server/features/tasks/task-store.ts";
import { Session, Task } from "../../index.ts";
import { clock } from "../../calls/client.ts";
import {
  DEAD,
  Faults,
  objectOf,
  pause,
  watch,
  type Instance,
  type Watched,
} from "../../calls/faults.ts";
import { objects as sessions, sessionOf } from "./session-steps.ts";

/** The deaths of sessions, and of their tasks, wherever something is awaited. */

/** Whose death it is: of the object that is at the place, of the other of session and task, or of all objects. */
export const VICTIMS = ["it", "other", "all"] as const;
export type Victim = (typeof VICTIMS)[number];

/** The object in which something happens. */
const here = new AsyncLocalStorage<{ state?: DurableObjectState }>();

interface SessionFaultsOptions {
  fatal?: number;
  victim?: Victim;
  atLooks?: boolean;
}

/** Where something is awaited in a session and its tasks, and where one of them is to die. */
export class SessionFaults extends Faults {
  /** Those that were to be, in their order. */
  readonly tasks: string[] = [];
  /** Where an object has died. */
  died: string | undefined;
  isOn = false;
  /** How often it was looked for something to do, since something has happened last. */
  idle = 0;
  readonly #session: string;
  #at: number;
  #victim: Victim;
  readonly #looks: boolean;
  /** Gives what is to be killed next. A stub belongs to the object that has made it. */
  #order: (() => DurableObjectStub) | "all" | undefined;
  /** True from when another object was killed until the one at the place has gone on. */
  #isKilled = false;

  /** With `atLooks`, where it only reads is a place too. */
  constructor(session: string, options: SessionFaultsOptions = {}) {
    super();
    const { fatal = -1, victim = "it", atLooks = false } = options;
    this.#session = session;
    this.#at = fatal;
    this.#victim = victim;
    this.#looks = atLooks;
  }

  /** From now on places are counted, and at this one of them it dies. */
  aim({ fatal, victim }: { fatal: number; victim: Victim }): void {
    this.passed.length = 0;
    this.#at = fatal;
    this.#victim = victim;
  }

  override async pass(name: string, isLook: boolean): Promise<void> {
    this.idle = 0;
    const state = here.getStore()?.state;
    if (!this.isOn || state === undefined) return;
    const id = state.id.toString();
    if (name === "before create" && id !== this.#session && !this.tasks.includes(id)) {
      this.tasks.push(id);
    }
    const isSession = id === this.#session;
    if (!this.#looks && (isLook || /client|asked|settled|progress$/.test(name))) return;
    if (!isSession && !this.tasks.includes(id)) return;
    const where = `${isSession ? "session" : "task"} ${name}`;
    // Several calls of one function at once are one place.
    if (this.passed.at(-1) === where) return;
    const place = this.passed.push(where) - 1;
    if (place !== this.#at) return;
    const task = this.tasks.at(-1);
    if (this.#victim === "other" && task === undefined) return;
    this.died = `${this.#victim} at ${place}, ${this.passed[place]}`;
    if (this.#victim === "it") state.abort(DEAD);
    else if (this.#victim === "all") this.#order = "all";
    else {
      this.#order = () => (isSession ? objectOf(task!) : sessionOf(this.#session));
      while (!this.#isKilled) await pause();
      this.#isKilled = false;
      return;
    }
    // It does not come back to this.
    await new Promise(() => {});
  }

  /** Kills what is to die; the object that waited for another's death has gone on then, and nothing else has. */
  async kill(): Promise<void> {
    const order = this.#order;
    if (order === undefined) return;
    this.#order = undefined;
    if (order === "all") return abortAllDurableObjects();
    await dead(order());
    this.#isKilled = true;
    await until(() => !this.#isKilled);
  }
}

/** Aborts one object. */
export async function dead(object: DurableObjectStub): Promise<void> {
  const killing = runInDurableObject(object, (_instance, state) => state.abort(DEAD));
  await expect(killing).rejects.toThrow(DEAD);
}

/** Awaited functions: those in a session, and those in a task for its session. */
const MORE: Watched = [
  [SessionStreams.prototype, ["send", "finish", "settled"]],
  [SessionStore.prototype, ["client", "asked", "forget"]],
  [SessionCalls.prototype, ["recover"]],
  [TaskStore.prototype, ["create", "asked", "forget"]],
  [Session.prototype, ["post", "listen", "notified", "progressed"]],
  [Task.prototype, ["create", "get", "update", "cancel", "adopt", "alarm"]],
];

type Anything = (...args: any[]) => any;

interface Invocation {
  plain: Anything;
  args: any[];
  /** Of the object. */
  state: DurableObjectState;
}

/** Has a method of an object done otherwise. Gives what puts it back. */
export function instead(
  of: object,
  name: string,
  work: (invocation: Invocation) => unknown,
): () => void {
  const methods = of as Record<string, Anything>;
  const own = methods[name]!;
  methods[name] = function (this: { ctx: DurableObjectState }, ...args) {
    return work({ plain: (...given) => own.apply(this, given), args, state: this.ctx });
  };
  return () => (methods[name] = own);
}

/** As `watch`, for sessions too. */
export async function watchSessions(): Promise<() => void> {
  const undo = [await watch(MORE)];
  for (const [of, names] of MORE.slice(-2)) {
    for (const name of names) {
      undo.unshift(
        instead(of, name, ({ plain, args, state }) => here.run({ state }, () => plain(...args))),
      );
    }
  }
  // A session's first work is done when it is made; it says its id just after that.
  const made = sessions.get(sessions.newUniqueId());
  const states = await runInDurableObject(
    made,
    (_instance, state) => Object.getPrototypeOf(state) as DurableObjectState,
  );
  let maker: { state?: DurableObjectState } | undefined;
  const { waitUntil } = states;
  const { recover } = SessionCalls.prototype;
  SessionCalls.prototype.recover = function () {
    maker = {};
    return here.run(maker, () => recover.call(this));
  };
  states.waitUntil = function (promise) {
    if (maker !== undefined) maker.state = this;
    maker = undefined;
    return waitUntil.call(this, promise);
  };
  undo.unshift(() => {
    states.waitUntil = waitUntil;
    SessionCalls.prototype.recover = recover;
  });
  return () => undo.forEach((one) => one());
}

export const FAR = 1e11;
/** Nothing that is waited for in these tests takes longer. */
const SOON = 86_400_000;

/** Does what the platform does while `work` goes on: lets alarms go off, and objects die. */
export async function during<T>(faults: SessionFaults, work: Promise<T>): Promise<T> {
  const ran = { isOver: false };
  const working = work.finally(() => (ran.isOver = true));
  working.catch(() => {});
  const running = new Set<string>();
  const run = async (id: string) => {
    running.add(id);
    await runInDurableObject(objectOf(id), (instance, { storage }) =>
      alarmed(instance as unknown as Instance, storage, faults),
    ).catch(() => {});
    running.delete(id);
  };
  for (let times = 0; !ran.isOver; times++) {
    if (times > 100_000) throw new Error(`it does not end; ${faults.died}`);
    await faults.kill();
    faults.idle++;
    const free = faults.idle > 1 ? faults.tasks.filter((id) => !running.has(id)) : [];
    for (const id of free) void run(id);
    await pause();
  }
  return working;
}

/** Lets an alarm go off that is due, or where nothing else happens. One that fails goes off again. */
async function alarmed(
  instance: Instance,
  storage: DurableObjectStorage,
  faults: SessionFaults,
): Promise<void> {
  const due = await storage.getAlarm();
  if (due === null) return;
  const inMs = due - FAR - Date.now();
  if (inMs > (faults.idle > 15 ? SOON : 0)) return;
  clock.aheadMs += Math.max(0, inMs);
  await instance.alarm();
  if ((await storage.getAlarm()) === due) throw new Error("the same alarm again");
}

/** Waits until something is so. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await done())) {
    if (performance.now() - begun > 30_000) throw new Error(`It does not come: ${done.toString()}`);
    await pause();
  }
}
