import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { AsyncLocalStorage } from "node:async_hooks";
import { SessionCalls } from "../../../src/mcp/legacy/session-calls.ts";
import { SessionStore } from "../../../src/durable/session-store.ts";
import { SessionStreams } from "../../../src/mcp/legacy/session-streams.ts";
import { TaskStore } from "../../../src/durable/task-store.ts";
import { Session, Task } from "../index.ts";
import { clock, type Json } from "./client.ts";
import {
  answersTo,
  DEAD,
  Faults,
  objectOf,
  pause,
  watch,
  type Instance,
  type Watched,
} from "./faults.ts";
import { Events, type SessionClient, type SessionEvent } from "./session-client.ts";
import { objects as sessions, sessionOf } from "./session-steps.ts";

/** Calls of sessions whose objects, or those of their tasks, die wherever something is awaited. */

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
  #order: DurableObjectStub | "all" | undefined;

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
      this.#order = isSession ? objectOf(task!) : sessionOf(this.#session);
      while (this.#order !== undefined) await pause();
      return;
    }
    // It does not come back to this.
    await new Promise(() => {});
  }

  /** Kills what is to die. */
  async kill(): Promise<void> {
    if (this.#order === undefined) return;
    if (this.#order === "all") await abortAllDurableObjects();
    else await dead(this.#order);
    this.#order = undefined;
  }
}

/** Aborts one object. */
export async function dead(object: DurableObjectStub): Promise<void> {
  await runInDurableObject(object, (_instance, state) => state.abort(DEAD)).catch(() => {});
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
    if (times > 5000) throw new Error(`it does not end; ${faults.died}`);
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
  for (let times = 0; !(await done()); times++) {
    if (times > 3000) throw new Error("it does not come");
    await pause();
  }
}

/** The outcome of a call, for its client. */
export interface Called {
  /** The response to its request. */
  answer: Json;
  /** All that was on its stream, in the order in which it came, of the last time that it was called. */
  events: SessionEvent[];
  /** How often it was called. */
  times: number;
  /** The requests of the server whose answer was sent more than once. */
  answeredAgain: unknown[];
}

/** The server has lost the call, and says so. */
export const isLost = ({ error }: Json): boolean => String(error?.message).endsWith("Call again.");

/** Done before a message is taken; the connection may be dropped before. */
export type Between = (message: Json, drop: () => Promise<void>) => Promise<unknown>;

export const WITH_PROGRESS = { _meta: { progressToken: "p" } };

/** Calls a tool as a client does that does not give up. */
export async function callThrough(
  client: SessionClient,
  [name, args, other = {}]: [name: string, args: Json, other?: Json],
  between: Between = async () => {},
): Promise<Called> {
  const answeredAgain: unknown[] = [];
  for (let times = 1; times <= 5; times++) {
    const response = await tried(() => client.call(name, args, other));
    if (response === undefined) continue;
    const events: SessionEvent[] = [];
    if (response.headers.get("content-type") === "application/json") {
      const answer: Json = await response.json();
      return { answer, events, times, answeredAgain };
    }
    const take = async (message: Json, drop: () => Promise<void>) => {
      await between(message, drop);
      if (!("method" in message && "id" in message)) return;
      const { id, method, params } = message;
      const { it } = answersTo({ it: { method, params } });
      for (let sent = 1; ; sent++) {
        const taken = await tried(() => client.answer(id, it));
        if (taken?.status === 202) break;
        if (taken !== undefined || sent > 5) throw new Error(`the answer is not taken: ${sent}`);
        if (sent === 1) answeredAgain.push(id);
      }
    };
    const answer = await followed(client, response, { events, take });
    if (answer !== undefined && !isLost(answer)) return { answer, events, times, answeredAgain };
  }
  throw new Error("it is called again and again");
}

/** Undefined where a request has failed, and may be sent again. */
async function tried(send: () => Promise<Response>): Promise<Response | undefined> {
  const response = await send();
  if (response.status < 500) return response;
  await response.body?.cancel();
  return undefined;
}

/** Reads a stream to its end, over many connections; gives what answers the call. Undefined where it has had no event. */
async function followed(
  client: SessionClient,
  first: Response,
  {
    events,
    take,
  }: { events: SessionEvent[]; take(message: Json, drop: () => Promise<void>): Promise<void> },
): Promise<Json | undefined> {
  let response: Response | undefined = first;
  let last: string | undefined;
  for (let times = 0; times < 500; times++) {
    if (response?.status === 200) {
      const stream = new Events(response);
      const next = () => stream.next().catch(() => undefined);
      for (let event = await next(); event !== undefined; event = await next()) {
        last = event.id ?? last;
        const { message } = event;
        if (message === undefined) continue;
        events.push(event);
        if ("result" in message || "error" in message) {
          await stream.drop();
          return message;
        }
        await take(message, () => stream.drop());
      }
    } else if (response !== undefined) {
      throw new Error(`the stream is not there: ${response.status} ${await response.text()}`);
    }
    if (last === undefined) return undefined;
    const after: string = last;
    response = await tried(() => client.listen(after));
  }
  throw new Error("the stream ends again and again");
}
