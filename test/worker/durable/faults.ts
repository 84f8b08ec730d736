import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { TaskStore } from "../../../src/durable/task-store.ts";
import type { TaskObject } from "../../../src/durable/task.ts";
import { Sealer } from "../../../src/durable/vault.ts";
import { namespaceOf } from "../../../src/env.ts";
import { liveWorld } from "../../../src/wasm/world.ts";
import { ABLE, callOf, clock, send, TASKS, type Json } from "./client.ts";

/** Runs tasks step by step, and lets their objects die wherever something is awaited. */

const objects = namespaceOf<TaskObject>(env, "TASKS")!;
export const objectOf = (id: string) => objects.get(objects.idFromString(id));
export const withTasks = { capabilities: { ...ABLE, ...TASKS } };

type Instance = TaskObject & { alarm(): Promise<void> };

/** How objects die. */
export type Death =
  /** One in the midst of what it does: what was not committed is lost. */
  | "at once"
  /** All, when what was done last is committed. */
  | "with all others";

/** Where something is awaited, and where the object is to die. */
export class Faults {
  /** Names of the places that were passed, in their order. */
  readonly passed: string[] = [];
  readonly #fatal: number;
  readonly #death: Death;
  #state: DurableObjectState | undefined;
  #isDying = false;

  /** The object dies at the place of this number, if at any. */
  constructor(fatal = -1, death: Death = "at once") {
    this.#fatal = fatal;
    this.#death = death;
    newest = this;
  }

  /** Does work in the task's object; false where it has died of it. */
  within(id: string, work: (instance: Instance) => Promise<unknown>): Promise<boolean> {
    return this.#watched(async () => {
      await runInDurableObject(objectOf(id), async (instance, state) => {
        this.#state = state;
        await work(instance as unknown as Instance);
      });
    });
  }

  /** The same for a request that a client sends. */
  during(id: string, request: () => Promise<unknown>): Promise<boolean> {
    return this.#watched(async () => {
      await runInDurableObject(objectOf(id), (_instance, state) => {
        this.#state = state;
      });
      await request();
    });
  }

  async #watched(work: () => Promise<void>): Promise<boolean> {
    let isOver = false;
    const working = work().finally(() => (isOver = true));
    working.catch(() => {});
    while (!isOver && !this.#isDying) await pause();
    this.#state = undefined;
    if (!this.#isDying) {
      await working;
      return true;
    }
    if (this.#death === "with all others") await abortAllDurableObjects();
    await working.catch(() => {});
    this.#isDying = false;
    return false;
  }

  async pass(name: string): Promise<void> {
    const state = this.#state;
    if (state === undefined || this.passed.push(name) - 1 !== this.#fatal) return;
    this.#state = undefined;
    this.#isDying = true;
    if (this.#death === "at once") state.abort(DEAD);
    // It does not come back to this.
    await new Promise(() => {});
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

/** For this reason the runtime does not write to the terminal that an object was aborted. */
const DEAD = "Instance dispose";

/** The newest of them all. */
let newest: Faults;

/** What is awaited in a task's object, and what outside of it. */
const WATCHED: [of: object, names: string[]][] = [
  [
    TaskStore.prototype,
    [
      ...["call", "waits", "recorded", "view", "suspend", "wait", "answer"],
      ...["wake", "begin", "intend", "keep", "end"],
    ],
  ],
  [Sealer.prototype, ["seal", "open"]],
  [liveWorld, ["sleep", "fetch"]],
];

type Awaited = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Has the newest faults told of whatever is awaited. Gives what puts it back. */
export function watch(): () => void {
  const undo: (() => void)[] = [];
  for (const [of, names] of WATCHED as [Awaited, string[]][]) {
    for (const name of names) {
      const plain = of[name]!;
      undo.push(() => (of[name] = plain));
      of[name] = async function (this: unknown, ...args: unknown[]) {
        await newest.pass(`before ${name}`);
        const value = await plain.apply(this, args);
        await newest.pass(`after ${name}`);
        return value;
      };
    }
  }
  return () => undo.forEach((one) => one());
}

/** Alarms wait until they are asked for. */
const FAR = 1e11;

/** Keeps alarms from going off by themselves. Gives what puts it back. */
export async function holdAlarms(): Promise<() => void> {
  const prototype = await runInDurableObject(
    objects.get(objects.newUniqueId()),
    (_instance, { storage }) => Object.getPrototypeOf(storage) as DurableObjectStorage,
  );
  const { setAlarm } = prototype;
  prototype.setAlarm = function (time, options) {
    return setAlarm.call(this, Number(time) + FAR, options);
  };
  return () => {
    prototype.setAlarm = setAlarm;
  };
}

/** When the task's next alarm is due; undefined where there is none. */
export async function alarmOf(id: string): Promise<number | undefined> {
  const at = await runInDurableObject(objectOf(id), (_instance, { storage }) => storage.getAlarm());
  return at === null ? undefined : at - FAR;
}

/** The answers of a client that always answers the same. */
export const answersTo = (requests: Json): Json =>
  Object.fromEntries(
    Object.entries(requests).map(([key, { method, params }]) => [key, answerTo(method, params)]),
  );

function answerTo(method: string, params: Json): Json {
  if (method === "roots/list") return { roots: [{ uri: "file:///a", name: "a" }] };
  if (method === "sampling/createMessage") {
    const said = `said: ${params["messages"][0].content.text}`;
    return { role: "assistant", content: { type: "text", text: said }, model: "m" };
  }
  const value = `typed: ${params["message"]}`;
  return { action: "accept", content: { value, name: value } };
}

/** A server on the internet that does nothing twice under the same key. */
export class Server {
  readonly seen: { line: string; key: string | null; id: string | null; body: string }[] = [];

  constructor() {
    globalThis.fetch = async (given) => {
      const request = given as Request;
      const line = `${request.method} ${new URL(request.url).pathname}`;
      const { headers } = request;
      const [key, id] = [headers.get("idempotency-key"), headers.get("x-id")];
      // What was written before is committed before a request leaves.
      await pause();
      this.seen.push({ line, key, id, body: await request.text() });
      return new Response(`answer to ${line}`);
    };
  }

  /** By their keys: what was sent twice under one is there once. */
  get done() {
    return new Map(this.seen.map((one) => [one.key, one]));
  }
}

export async function taskOf(id: string): Promise<Json> {
  const { result, error } = await send("tasks/get", { taskId: id }, withTasks);
  expect(error).toBeUndefined();
  return result!;
}

export const updateTask = (id: string, inputResponses: unknown, sent = withTasks) =>
  send("tasks/update", { taskId: id, inputResponses }, sent);

export async function beginTask(name: string, args: Json): Promise<string> {
  const { result } = await callOf(name, args, withTasks);
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  return result!["taskId"];
}

/** What a task has come to. */
export interface Finished {
  status: string;
  /** What its call gave. */
  result: Json;
  error: unknown;
  /** What its client was asked, by key. */
  asked: Json;
}

/** Goes on with a task until it is over; `between` is done before each step. */
export async function finish(
  id: string,
  faults: Faults,
  between: (step: number) => Promise<void> = async () => {},
): Promise<Finished> {
  const asked: Json = {};
  for (let step = 0; step < 80; step++) {
    await between(step);
    const { status, inputRequests, result, error } = await taskOf(id);
    if (status === "input_required") {
      Object.assign(asked, inputRequests);
      await faults.during(id, () => updateTask(id, answersTo(inputRequests)));
    } else if (status === "working") {
      await nextAlarm(id, faults);
    } else {
      return { status, result, error, asked };
    }
  }
  throw new Error("the task does not end");
}

/** Lets the next alarm go off, at least once, as the platform does: one that dies goes off again. */
export async function nextAlarm(id: string, faults: Faults): Promise<void> {
  const due = await alarmOf(id);
  if (due === undefined) throw new Error("the task waits for nothing");
  clock.aheadMs += Math.max(0, due - Date.now());
  const isDone = await faults.within(id, (instance) => instance.alarm());
  if (isDone && (await alarmOf(id)) === due) throw new Error("the same alarm again");
}
