import { newActor, type Actor, type Scheduler } from "./scheduler.ts";
import { Storage } from "./storage.ts";

/** How likely each fault is, and how many there may be. */
export interface Faults {
  /** That an object dies before an event of it; by kind, where it is another. */
  death: number;
  deaths: Record<string, number>;
  /** That all objects die. */
  outage: number;
  /** That an object that has nothing to do goes from memory. */
  eviction: number;
  /** That a message between objects, or a request or response, is lost. */
  loss: number;
  /** That a Worker dies before an event of it. */
  requestDeath: number;
  /** That an alarm goes off late, by up to a day. */
  lateAlarm: number;
  /** That an alarm goes off early, by up to two ms. */
  earlyAlarm: number;
  /** That an alarm never goes off. */
  lostAlarm: number;
  /** That an alarm goes off a second time. */
  repeatedAlarm: number;
  /** That time jumps ahead. */
  jump: number;
  /** That all clocks are set back, by up to ten days. */
  jumpBack: number;
  /** That about every other guest finds no room to wait in for some time. */
  full: number;
  /** How far clocks of machines are apart at most, in ms. */
  skewMs: number;
  /** That all objects of a kind die before this event; `Worker` is all requests. */
  killAt?: { event: number; kind: string };
  /** How many there may be, all together. */
  budget: number;
}

type Methods = Record<string, (...args: unknown[]) => unknown>;
type Instance = Methods & { alarm?: (info: object) => Promise<void> };
export type Class = new (state: object, env: object) => object;

/** Alarms follow each other at once that are not further apart: most messages take less. */
const SOON_MS = 1000;

const RESET = "The Durable Object has been reset.";

/** The part of the platform that an object uses. */
interface Surroundings {
  readonly scheduler: Scheduler;
  readonly env: object;
  readonly faults: Pick<Faults, "lateAlarm" | "earlyAlarm" | "lostAlarm" | "repeatedAlarm">;
  classOf(kind: string): Class;
  skew(): number;
  injects(likelihood: number, what: string): boolean;
  end(actor: Actor): void;
}

/** One Durable Object: its storage, and its instance while it is in memory. */
export class SimulatedObject {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly storage: Storage;
  readonly #ownName: string | undefined;
  readonly #platform: Surroundings;
  actor: Actor | undefined;
  instance: Instance | undefined;
  #incarnations = 0;
  #alarm: { at: number } | undefined;
  /** The time of an alarm that never goes off. */
  #lost: number | undefined;
  #isInAlarm = false;
  #retries = 0;
  /** Calls that are on their way to it or in it: rejected when it dies. */
  readonly calls = new Set<(error: Error) => void>();
  busy = 0;
  /** How often its alarm went off, and how often it was set again for the time that it went off for. */
  alarms = 0;
  sameAlarms = 0;
  /** How long, at most, its alarm went off again and again, each time soon after the last and without a call in between, in ms. */
  longestAlarms = 0;
  #alarmsFrom = 0;
  #lastAlarm = -Infinity;
  #sections: (() => void)[] = [];

  /** `ownName` is that in its id, where it has one. */
  constructor(platform: Surroundings, kind: string, id: string, name: string, ownName?: string) {
    this.#platform = platform;
    this.#ownName = ownName;
    this.kind = kind;
    this.id = id;
    this.name = name;
    this.storage = new Storage(platform.scheduler, () => this.#schedule());
  }

  /** Its instance, which is made where it has none. To be called in an event of the object. */
  wake(): Instance {
    if (this.instance !== undefined) return this.instance;
    const { scheduler } = this.#platform;
    const actor = newActor(`${this.name}.${++this.#incarnations}`, this.#platform.skew());
    if (this.kind === "Task") actor.backMs = scheduler.backMs;
    actor.settled = () => this.storage.settle();
    this.actor = actor;
    scheduler.current = actor;
    const state = {
      id: {
        toString: () => this.id,
        name: this.#ownName,
        equals: (other: { toString(): string }) => other.toString() === this.id,
      },
      storage: this.storage.for(actor),
      waitUntil: (promise: Promise<unknown>) => void Promise.resolve(promise).catch(() => {}),
      blockConcurrencyWhile: <T>(work: () => Promise<T>) => this.#alone(actor, work),
      abort: () => this.die(),
    };
    const Kind = this.#platform.classOf(this.kind);
    this.instance = new Kind(state, this.#platform.env) as Instance;
    return this.instance;
  }

  get isIdle(): boolean {
    if (this.actor === undefined || this.busy > 0 || this.calls.size > 0) return false;
    return this.actor.pending.size === 0 && this.storage.unconfirmed === 0;
  }

  /** Runs work while no events but its own reach the object. */
  #alone<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    const { scheduler } = this.#platform;
    const turn =
      actor.section === undefined
        ? Promise.resolve()
        : new Promise<void>((resolve) => this.#sections.push(resolve));
    const section = {};
    actor.section ??= section;
    return turn.then(async () => {
      actor.section = section;
      scheduler.enter(section);
      try {
        return await work();
      } catch (error) {
        if (actor.isAlive) {
          scheduler.note(`is reset: ${String(error)}`);
          queueMicrotask(() => actor.isAlive && this.die());
        }
        throw error;
      } finally {
        actor.section = undefined;
        this.#sections.shift()?.();
      }
    });
  }

  /** Everything in memory is gone, and what was not confirmed may be. */
  die(isGraceful = false): void {
    const { actor, storage } = this;
    if (actor === undefined) return;
    const { chance } = this.#platform.scheduler;
    this.actor = this.instance = undefined;
    this.#isInAlarm = false;
    this.#sections = [];
    this.busy = 0;
    const survivors = isGraceful ? Infinity : chance.below(storage.unconfirmed + 1);
    const lost = storage.die(Math.min(survivors, storage.unconfirmed));
    if (lost > 0) this.#platform.scheduler.note(`lost ${lost} writes`, actor.name);
    for (const fail of this.calls) fail(new Error(RESET));
    this.calls.clear();
    this.#platform.end(actor);
  }

  /** Sees to it that the durable alarm goes off. */
  #schedule(): void {
    const at = this.storage.durableAlarm;
    // It may have set or deleted the alarm since: this is asked again when that is confirmed.
    if (at === null || this.#isInAlarm || this.storage.unconfirmed > 0) return;
    if (this.#alarm?.at === at || this.#lost === at) return;
    this.#lost = undefined;
    const { scheduler, faults } = this.#platform;
    if (this.#platform.injects(faults.lostAlarm, `the next alarm of ${this.name} is lost`)) {
      this.#alarm = undefined;
      this.#lost = at;
      return;
    }
    const alarm = (this.#alarm = { at });
    const lateMs = this.#platform.injects(
      faults.lateAlarm,
      `the next alarm of ${this.name} is late`,
    )
      ? 10 ** (3 + scheduler.chance.below(6))
      : 0;
    const earlyMs = this.#platform.injects(
      faults.earlyAlarm,
      `the next alarm of ${this.name} is early`,
    )
      ? scheduler.chance.below(8) / 4
      : 0;
    const ms = Math.max(0, at - earlyMs - scheduler.clock);
    scheduler.after(
      ms + (earlyMs > 0 ? 0 : lateMs + scheduler.latency()),
      `alarm ${this.name}`,
      () => this.actor,
      () => {
        if (this.#alarm !== alarm) return;
        this.#alarm = undefined;
        const isAhead = scheduler.clock < at - earlyMs;
        if (this.storage.durableAlarm !== at || this.#isInAlarm || isAhead) return this.#schedule();
        void this.#ring(at);
      },
    );
  }

  /** True if its alarm never goes off. */
  get hasLostAlarm(): boolean {
    return this.#lost !== undefined && this.#lost === this.storage.durableAlarm;
  }

  async #ring(at: number): Promise<void> {
    const { scheduler, faults } = this.#platform;
    const instance = this.wake();
    const actor = this.actor!;
    scheduler.note("alarm");
    this.#isInAlarm = true;
    this.alarms++;
    if (scheduler.now - this.#lastAlarm > SOON_MS) this.#alarmsFrom = scheduler.now;
    this.#lastAlarm = scheduler.now;
    this.longestAlarms = Math.max(this.longestAlarms, scheduler.now - this.#alarmsFrom);
    this.busy++;
    this.storage.beginAlarm();
    let failure: unknown;
    try {
      await instance.alarm?.({ scheduledTime: at, retryCount: this.#retries, isRetry: false });
    } catch (error) {
      failure = error;
    }
    if (!actor.isAlive) return;
    this.busy--;
    this.#isInAlarm = false;
    if (failure !== undefined) {
      scheduler.note(`alarm failed: ${String(failure as Error)}`);
      this.storage.failAlarm(at);
      if (this.storage.durableAlarm === at && ++this.#retries <= 6) {
        const alarm = (this.#alarm = { at });
        scheduler.after(
          2000 * 2 ** (this.#retries - 1),
          `alarm ${this.name} again`,
          () => this.actor,
          () => {
            if (this.#alarm !== alarm) return;
            this.#alarm = undefined;
            if (!this.#isInAlarm && this.storage.durableAlarm === at) void this.#ring(at);
            else this.#schedule();
          },
        );
        return;
      }
    } else {
      this.#retries = 0;
      this.storage.endAlarm();
      // As workerd has it: an alarm that is set, while it goes off, for the time that it goes off for is lost.
      if (this.storage.nextAlarm === at) {
        scheduler.note("has set its alarm for the time that went off");
        this.sameAlarms++;
        this.#lost = at;
      }
      if (this.#platform.injects(faults.repeatedAlarm, `${this.name}: the same alarm again`)) {
        const again = () => {
          if (!this.#isInAlarm && this.storage.durableAlarm === null) void this.#ring(at);
        };
        scheduler.after(scheduler.latency(), "repeated alarm", () => this.actor, again);
      }
    }
    this.#schedule();
  }

  /** Runs a method for a message that has arrived; the reply waits for what was written. */
  async invoke(
    method: string,
    args: unknown[],
    reply: (how: () => unknown, actor: Actor) => void,
  ): Promise<void> {
    const instance = this.wake();
    const actor = this.actor!;
    this.busy++;
    this.#lastAlarm = -Infinity;
    this.#platform.scheduler.note(`${method}()`);
    let how: () => unknown;
    try {
      const value: unknown = await instance[method]!(...args);
      how = () => value;
    } catch (error) {
      how = () => {
        throw error;
      };
    }
    if (!actor.isAlive) return;
    this.busy--;
    this.storage.leave(() => actor.isAlive && reply(how, actor));
  }
}
