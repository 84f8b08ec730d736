import { createHash } from "node:crypto";
import { Chance } from "../fuzz/chance.ts";

/** Whoever runs code in the simulation: one incarnation of an object, one request, a client. */
export interface Actor {
  readonly name: string;
  isAlive: boolean;
  /** How far its machine's clock is from the true time, in ms. */
  skewMs: number;
  /** How far its clock was set back when it began, in ms: while an object lives, its clock does not go back. */
  backMs?: number;
  /** While one is open, only its own events reach the object (`blockConcurrencyWhile`). */
  section: object | undefined;
  /** Called when all code of one event has run. */
  settled?(): void;
  /** Rejects the promises that still wait for events, when the actor ends. */
  readonly pending: Set<(reason: unknown) => void>;
}

export const newActor = (name: string, skewMs = 0): Actor => ({
  name,
  isAlive: true,
  skewMs,
  section: undefined,
  pending: new Set(),
});

/** Something that is to happen. */
interface Event {
  at: number;
  what: string;
  /** Whose code it runs; asked when it happens. */
  actor: () => Actor | undefined;
  section: object | undefined;
  run: () => void;
  /** Timers of one actor go off in their order. */
  isTimer?: boolean;
}

/** Native: the global ones are replaced during a run. */
const { setImmediate: nativeImmediate } = globalThis;
const drained = () => new Promise<void>((resolve) => nativeImmediate(resolve));

export const BEGINNING = Date.UTC(2026, 0, 1);

/**
 * One thread of events, chosen by one seed: which of the events that are due happens next, how long what
 * has no time of its own takes, and which faults there are. All code that an event runs belongs to one actor.
 */
export class Scheduler {
  /** The true time, in Unix ms with fractions. */
  now = BEGINNING;
  /** How far all clocks have been set back, in ms. */
  backMs = 0;
  steps = 0;
  readonly chance: Chance;
  readonly trace: string[] = [];
  /** Whose code runs, and whose ran last. */
  current: Actor | undefined;
  last: Actor | undefined;
  #section: object | undefined;
  #events: Event[] = [];
  /** Work that is left of actors that have ended: it runs before anything else happens. */
  readonly ended: { actor: Actor; run: () => void }[] = [];
  /** Asked before an event happens; it may end the actor that the event belongs to. */
  beforeEvent: (actor: Actor | undefined, what: string) => void = () => {};

  constructor(seed: number) {
    this.chance = new Chance(seed);
  }

  /** The time that a clock shows which is right but for being set back. */
  get clock(): number {
    return this.now - this.backMs;
  }

  note(what: string, who = this.current?.name ?? "world"): void {
    this.trace.push(`${((this.now - BEGINNING) / 1000).toFixed(3).padStart(12)} ${who}: ${what}`);
  }

  get digest(): string {
    return createHash("sha256").update(this.trace.join("\n")).digest("hex").slice(0, 16);
  }

  /** Between one and some ms, now and then much longer. */
  latency(): number {
    // In quarters of a ms, so that some things happen at the same time.
    return this.chance.below(this.chance.of(0.03) ? 20_000 : 48) / 4;
  }

  after(
    ms: number,
    what: string,
    actor: Actor | (() => Actor | undefined),
    run: () => void,
  ): Event {
    const event: Event = {
      at: this.now + ms,
      what,
      actor: typeof actor === "function" ? actor : () => actor,
      section: undefined,
      run,
    };
    this.#events.push(event);
    return event;
  }

  timer(ms: number, actor: Actor, run: () => void): Event {
    const section = this.#section;
    return Object.assign(this.after(ms, "timer", actor, run), { isTimer: true, section });
  }

  drop(event: Event): void {
    const at = this.#events.indexOf(event);
    if (at >= 0) this.#events.splice(at, 1);
  }

  /** The timers of an actor that ends: what waits for them must not wait for ever. */
  takeTimers(actor: Actor): (() => void)[] {
    const own = this.#events.filter((event) => event.isTimer === true && event.actor() === actor);
    for (const event of own) this.drop(event);
    return own.map(({ run }) => run);
  }

  hasEvents(actor: Actor): boolean {
    return this.#events.some((event) => event.actor() === actor);
  }

  /** A promise that an event of this actor settles; rejected when the actor ends. */
  eventually<T>(
    actor: Actor,
    begin: (settle: (how: () => T, ms?: number) => void) => void,
  ): Promise<T> {
    if (!actor.isAlive) return Promise.reject(new Error("the actor has ended"));
    const section = this.#section;
    return new Promise<T>((resolve, reject) => {
      actor.pending.add(reject);
      begin((how, ms = this.latency()) => {
        const event = this.after(ms, "answer", actor, () => {
          actor.pending.delete(reject);
          try {
            resolve(how());
          } catch (error) {
            reject(error);
          }
        });
        event.section = section;
      });
    });
  }

  sleep(ms: number, actor = this.current!): Promise<void> {
    return this.eventually(actor, (settle) => settle(() => {}, ms));
  }

  /** From now on the code that runs is in this section. */
  enter(section: object | undefined): void {
    this.#section = section;
  }

  /** Runs code of an actor to its end, up to where it waits for events. */
  async within(actor: Actor | undefined, run: () => void): Promise<void> {
    this.current = actor;
    try {
      run();
    } finally {
      await drained();
      this.#section = undefined;
      this.current?.settled?.();
      this.last = this.current;
      this.current = undefined;
    }
  }

  /** Runs what is left of actors that have ended. */
  async finishEnded(): Promise<void> {
    const { last } = this;
    for (let one = this.ended.shift(); one !== undefined; one = this.ended.shift()) {
      await this.within(one.actor, one.run);
    }
    this.last = last;
  }

  /** Lets the next event happen; false where there is none. */
  async step(until = Infinity): Promise<boolean> {
    const free = this.#events.filter(({ actor, section }) => {
      const open = actor()?.section;
      return open === undefined || open === section;
    });
    if (free.length === 0) return false;
    const first = Math.min(...free.map(({ at }) => at));
    if (first > until) return false;
    this.now = Math.max(this.now, first);
    const due = free.filter(({ at }) => at <= this.now);
    let event = this.chance.pick(due);
    if (event.isTimer === true) {
      const actor = event.actor();
      const timers = due.filter((one) => one.isTimer === true && one.actor() === actor);
      event = timers.reduce((a, b) => (b.at < a.at ? b : a));
    }
    this.steps++;
    this.beforeEvent(event.actor(), event.what);
    await this.finishEnded();
    // It may have ended with its actor.
    if (!this.#events.includes(event)) return true;
    this.drop(event);
    const actor = event.actor();
    if (actor !== undefined && !actor.isAlive) return true;
    this.#section = event.section;
    await this.within(actor, event.run);
    await this.finishEnded();
    return true;
  }
}
