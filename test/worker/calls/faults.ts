import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { TaskStore } from "../../../src/server/features/tasks/task-store.ts";
import type { Task } from "../../../src/server/features/tasks/task.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { responsesIn } from "../../../src/server/kernel/asks/answers.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { bundle } from "../../bundle.gen.ts";
import { ABLE, callOf, clock, limited, send, TASKS, type Json } from "./client.ts";

/** Runs tasks step by step, and lets their objects die wherever something is awaited. */

const objects = env.TASKS!;
export const objectOf = (id: string) => objects.get(objects.idFromString(id));
export const withTasks = { capabilities: { ...ABLE, ...TASKS } };

export type Instance = Omit<Task, "alarm"> & { alarm(info?: object): Promise<void> };

/** How objects die. */
export type Death =
  /** One in the midst of what it does: what was not committed is lost. */
  | "at once"
  /** All, when what was done last is committed. */
  | "with all others";

interface FaultOptions {
  fatal: number;
  death: Death;
  atLooks: boolean;
  fragile: boolean;
}

/** Whose object it is in which something happens: objects of other tests go on meanwhile. */
const here = new AsyncLocalStorage<Faults>();

/** Where something is awaited, and where the object is to die. */
export class Faults {
  /** Names of the places that were passed, in their order. */
  readonly passed: string[] = [];
  readonly #fatal: number;
  readonly #death: Death;
  readonly #atLooks: boolean;
  readonly fragile: boolean;
  /** Done once, at the place of this number, while the rest goes on. */
  meanwhile: { at: number; work: (instance: Instance) => Promise<unknown> } | undefined;
  #instance: Instance | undefined;
  #deadly: string | undefined;
  #state: DurableObjectState | undefined;
  #isDying = false;

  /**
   * The object dies at the place of this number, if at any; with `atLooks`, reading is a place too. With
   * `fragile`, what it throws is taken for its death.
   */
  constructor(options: Partial<FaultOptions> = {}) {
    const { fatal = -1, death = "at once", atLooks = false, fragile = false } = options;
    this.fragile = fragile;
    this.#fatal = fatal;
    this.#death = death;
    this.#atLooks = atLooks;
    current.faults = this;
  }

  /** True in the object that is watched, while it is. */
  get isWatching(): boolean {
    return this.#state !== undefined && here.getStore() === this;
  }

  /** The object dies where it is at this place next. */
  dieAt(name: string): void {
    this.#deadly = name;
  }

  /** Does work in the task's object; false where it has died of it. Places are counted once `begin` was called. */
  async within(
    id: string,
    work: (instance: Instance, storage: DurableObjectStorage, begin: () => void) => Promise<void>,
  ): Promise<boolean> {
    const ran = { isOver: false };
    const working = runInDurableObject(objectOf(id), (instance, state) =>
      here.run(this, () =>
        work((this.#instance = instance as unknown as Instance), state.storage, () => {
          this.#state = state;
        }),
      ),
    ).finally(() => (ran.isOver = true));
    working.catch(() => {});
    while (!ran.isOver && !this.#isDying) await pause();
    this.#state = undefined;
    if (!this.#isDying) {
      if (!this.fragile) await working;
      return working.then(
        () => true,
        () => false,
      );
    }
    if (this.#death === "with all others") await abortAllDurableObjects();
    await working.catch(() => {});
    this.#isDying = false;
    return false;
  }

  async pass(name: string, isLook: boolean): Promise<void> {
    const state = this.#state;
    if (!this.isWatching || (isLook && !this.#atLooks)) return;
    const at = this.passed.push(name) - 1;
    if (at === this.meanwhile?.at) await this.meanwhile.work(this.#instance!);
    if (at !== this.#fatal && name !== this.#deadly) return;
    this.#state = undefined;
    this.#isDying = true;
    if (this.#death === "at once") state!.abort(DEAD);
    // It does not come back to this.
    await new Promise(() => {});
  }
}

export const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

/** For this reason the runtime does not write to the terminal that an object was aborted. */
export const DEAD = "Instance dispose";

/** The newest of them all. */
const current: { faults?: Faults } = {};

/** Methods that are awaited. */
export type Watched = [of: object, names: string[]][];

/** Awaited functions: those in a task's object, and those outside it. */
const WATCHED: Watched = [
  [TaskStore.prototype, ["suspend", "wait", "answer", "wake", "begin", "intend", "keep", "end"]],
  [Sealer.prototype, ["seal"]],
  [liveWorld, ["sleep", "fetch"]],
];

/** Where it only looks: to die before this is the same as to die after what was before. */
const LOOKS: Watched = [
  [TaskStore.prototype, ["call", "waits", "recorded", "read"]],
  [Sealer.prototype, ["open"]],
];

/** What takes its turn as it is called: to let others go on before that would change their order. */
const QUEUED = new Set(["send", "finish"]);

type Awaited = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Has the newest faults told of whatever is awaited, and of more; alarms wait. Gives what puts it back. */
export async function watch(more: Watched = []): Promise<() => void> {
  const undo = [await holdAlarms()];
  for (const [of, names] of [...WATCHED, ...LOOKS, ...more] as [Awaited, string[]][]) {
    for (const name of names) {
      const plain = of[name]!;
      const isLook = LOOKS.some(([, looks]) => looks.includes(name));
      undo.push(() => (of[name] = plain));
      of[name] = async function (this: unknown, ...args: unknown[]) {
        if (!QUEUED.has(name)) await current.faults?.pass(`before ${name}`, isLook);
        const value = await plain.apply(this, args);
        await current.faults?.pass(`after ${name}`, isLook);
        return value;
      };
    }
  }
  return () => undo.forEach((one) => one());
}

/** Alarms wait until they are asked for. */
const FAR = 1e11;

/** Keeps alarms from going off by themselves. Gives what puts it back. */
async function holdAlarms(): Promise<() => void> {
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

/** Has all tests of a file watched in this way. Gives the manifest of the servlet that they call. */
export function prepareFaults(watching: () => Promise<() => void> = watch) {
  const servlet = bundle.servlets.find(({ name }) => name === "durable")!;
  const { manifest, restorable } = servlet;
  const { fetch } = globalThis;
  let undo = () => {};
  beforeAll(async () => {
    // To look at each instance that is put back would take as long as all the rest. Its manifest stays: a server that
    // begins meanwhile would keep a digest of it.
    servlet.restorable = false;
    undo = await watching();
  });
  // Runs end when the test says so, and nobody should wait for that.
  beforeEach(() => limited({ firstRunMs: 0 }));
  afterAll(() => {
    undo();
    globalThis.fetch = fetch;
    servlet.restorable = restorable!;
  });
  return manifest;
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
    globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      const line = `${request.method} ${new URL(request.url).pathname}`;
      const { headers } = request;
      const [key, id] = [headers.get("idempotency-key"), headers.get("x-id")];
      // Earlier writes are committed before a request leaves.
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

/** A new outside world, which receives all requests from now on. */
export const newWorld = () => new Server();

export async function taskOf(id: string): Promise<Json> {
  const { result, error } = await send("tasks/get", { taskId: id }, withTasks);
  expect(error).toBeUndefined();
  return result!;
}

export const updateTask = (id: string, inputResponses: unknown, sent = withTasks) =>
  send("tasks/update", { taskId: id, inputResponses }, sent);

export async function beginTask(name: string, args: Json): Promise<string> {
  const { result } = await callOf(name, args, withTasks);
  expect(result).toMatchObject({ resultType: "task" });
  return result!["taskId"];
}

/** The outcome of a task. */
export interface Finished {
  status: string;
  /** The result of its call. */
  result: Json;
  error: unknown;
  /** Requests to its client, by key. */
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
    const finished = await takeStep(id, faults, asked);
    if (finished !== undefined) return finished;
  }
  throw new Error("the task does not end");
}

/** Answers what is asked, or lets the next alarm go off; gives what the task has come to, if it is over. */
async function takeStep(id: string, faults: Faults, asked: Json): Promise<Finished | undefined> {
  let finished: Finished | undefined;
  await faults.within(id, async (instance, storage, begin) => {
    const task = (await instance.get({ name: "anonymous" }))!;
    const { status } = task;
    const [result, requests] = [task["result"] as Json, task["inputRequests"] as Json];
    if (status === "input_required") {
      Object.assign(asked, requests);
      // An object that takes answers does nothing else, and is reset by what fails.
      if (faults.meanwhile === undefined && !faults.fragile) begin();
      await instance.update({ name: "anonymous" }, responsesIn(answersTo(requests)));
    } else if (status === "working") {
      await nextAlarm(instance, storage, begin);
    } else {
      finished = { status, result, error: task["error"], asked };
    }
  });
  return finished;
}

/** Lets the next alarm go off, at least once, as the platform does: one that dies goes off again. */
export async function nextAlarm(
  instance: Instance,
  storage: DurableObjectStorage,
  begin = () => {},
): Promise<void> {
  const due = await storage.getAlarm();
  if (due === null) throw new Error("the task waits for nothing");
  clock.aheadMs += Math.max(0, due - FAR - Date.now());
  begin();
  await instance.alarm();
  if ((await storage.getAlarm()) === due) throw new Error("the same alarm again");
}
