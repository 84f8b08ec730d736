import {
  reaches,
  failuresIn,
  hasAskedTooOften,
  waitOf,
  waitWith,
  type Choose,
} from "./task-call.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { DurableObject } from "cloudflare:workers";
import { Fault, logError } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { shortage } from "../../kernel/core/suspension.ts";
import { fittingAnswers, isComplete } from "../../kernel/asks/answers.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { Waiting } from "../../kernel/calls/engine.ts";
import type { Answers } from "../../kernel/core/asks.ts";
import type { ValuePart } from "../../kernel/core/parts.ts";
import type { Build } from "../installs/build.ts";
import { hubNameOf } from "../../kernel/calls/changes.ts";
import { ContinuationCheck, noteWaiting, replayed } from "./task-replay.ts";
import { Listing, looked } from "./task-console.ts";
import {
  endOf,
  type Uploaded,
  type DetailedTask,
  type Look,
  type TaskInspection,
  type Start,
  type TaskCall,
  type TaskViewer,
} from "../../kernel/calls/task-object.ts";
import type { TaskEnv, TaskServer } from "./task-server.ts";
import { TaskOwners } from "./task-owners.ts";
import { ChangeSignal, handedOverOf, PersonAnswer } from "./task-person.ts";
import { askedTooOften, runTask, stoppedTooOften } from "./task-run.ts";
import type { Texts } from "./task-rows.ts";
import { TaskStore } from "./task-store.ts";
import { taskProgressOf, viewOf } from "./task-view.ts";
import { Unreadable, type PartPosition } from "../../kernel/storage/vault.ts";

/**
 * A call that outlives its request. Alarms run it: the first at once, others after a sleep, an answer or the death
 * of a run. All answers to its servlet are stored, so that each run continues where the one before ended.
 * It exists only for its owner, while the owner's scopes grant what it calls; cancelling needs no scope.
 */
export class Task extends DurableObject<TaskEnv> {
  readonly #store: TaskStore;
  readonly #server: TaskServer;
  readonly #owners: TaskOwners;
  readonly #changes = new ChangeSignal();
  #running: AbortController | undefined;
  readonly #goingOn: ContinuationCheck;
  readonly #listing: Listing;
  /** True once its clock was set by a caller or an alarm. */
  #hadTime = false;
  /** Settles when a run ends or its call waits. */
  readonly #firstRun = Promise.withResolvers<void>();

  constructor(state: DurableObjectState, env: TaskEnv, server: TaskServer) {
    super(state, env);
    const { sealer } = server;
    this.#server = server;
    this.#store = new TaskStore(state.storage, sealer, state.id.toString());
    this.#owners = new TaskOwners(this.#store, env);
    const publish = () => state.waitUntil(this.#publish());
    this.#goingOn = new ContinuationCheck(this.#store, server, publish);
    this.#listing = new Listing(this.#store, server);
  }

  /** Stores a part of a large call before `create`: its params, or an answer by position. */
  async upload(what: keyof Texts | number, part: ValuePart & PartPosition): Promise<void> {
    if (!this.#store.exists) await this.#store.upload(what, part);
  }

  async create(call: TaskCall, start?: Start, uploaded?: Uploaded): Promise<DetailedTask> {
    this.#hadTime = true;
    const { begun, handed } = waitOf(call, start, this.#store);
    // It exists already if the response to an earlier request was lost.
    if (!this.#store.exists)
      await this.#store.create(call, begun, {
        hub: hubNameOf(call.principal, this.env),
        uploaded,
        handed,
      });
    await this.#failUnsupportedAsks();
    if (start !== undefined) this.ctx.waitUntil(noteWaiting(this.#store, this.#server));
    const created = await viewOf(this.#store);
    this.ctx.waitUntil(this.#publish());
    // The sender of a large call holds it in memory until this returns.
    const isLarge = uploaded !== undefined && (uploaded.call || uploaded.answers > 0);
    if (start !== undefined || isLarge) return created;
    // A call that asks its user at once says so in this response, and not a poll later.
    await Promise.race([this.#firstRun.promise, scheduler.wait(limits.firstRunMs)]);
    // Tasks of 2025-11-25 must begin as `working`; their client's first poll gets the actual status.
    return call.owner ? created : this.#readable(() => viewOf(this.#store));
  }

  async get(principal: TaskViewer): Promise<DetailedTask | undefined> {
    if (!(await this.#isFor(principal))) return undefined;
    return this.#readable(async () => {
      await this.#goingOn.check();
      return viewOf(this.#store);
    });
  }

  /** The reason why its call cannot continue with this build (JSON); undefined if it can, null if it does not wait. */
  replay(build: string): Promise<string | null | undefined> {
    return replayed(this.#store, JSON.parse(build) as Build, this.#server);
  }

  /** Shows, replays or forks the call, for the console. */
  async look(principal: TaskViewer, look: Look): Promise<Settled<TaskInspection> | undefined> {
    if (!(await this.#isFor(principal))) return undefined;
    this.ctx.waitUntil(this.#listing.tell());
    return settled(() => this.#readable(() => looked(this.#store, look, this.#server)));
  }

  /** True for the owner, at the call's endpoint or on a page, while its scopes grant what the task calls. */
  async #isFor(viewing: TaskViewer): Promise<boolean> {
    if (!this.#store.isOf(viewing)) return false;
    await this.#compareTime(viewing.at);
    const { profile } = this.#store.row;
    const principal = { ...viewing, ...(profile && { profile }) };
    await this.#readable(() => this.#keepTime());
    // To operate the server is enough for calls of servlets, whatever tools its scopes grant.
    if (principal.scopes === undefined || principal.name !== this.#store.row.principal) return true;
    const subject = await this.#readable(() => this.#store.subject());
    return subject === undefined || reaches(await this.#server.registry(), principal, subject);
  }

  async update(principal: TaskViewer, answers: Answers): Promise<{ wrong?: string } | undefined> {
    if (!(await this.#isFor(principal))) return undefined;
    await this.#readable(() => taskProgressOf(this.#store));
    // The client sees it as completed, and must not answer for its user.
    if (this.#store.isHandedOver) return {};
    return this.#give((asks, given) => fittingAnswers(asks, answers, Date.now(), given));
  }

  /** The call if it was handed over or `isAny` is set. Waits at most `ms` for its end or a change after `since`. */
  async handedOver(principal: TaskViewer, { since = 0, ms = 0, isAny = false } = {}) {
    if (!(await this.#isFor(principal)) || !(isAny || this.#store.isHandedOver)) return undefined;
    await this.#readable(() => this.#goingOn.check());
    await this.#changes.until(this.#store, { since, ms });
    if (!this.#store.exists) return undefined;
    return this.#readable(() => handedOverOf(this.#store, () => this.#server.registry()));
  }

  /** Takes a person's answer to this open ask; false if it is not open (any more). */
  async reply(principal: TaskViewer, key: string, result: Json) {
    if (!(await this.#isFor(principal))) return undefined;
    // Read here first: `answer` reads it in `blockConcurrencyWhile`, where an exception would end the object.
    await this.#readable(() => this.#store.asked());
    const reply = new PersonAnswer(key, result);
    const { wrong } = await this.#give((asks, given) => reply.fitting(asks, given));
    return wrong === undefined ? reply.isInTime && {} : { wrong };
  }

  /**
   * Cancels the task; with `isForgotten` it is deleted, too. A call that was handed over continues, unless a person
   * cancels it.
   */
  async cancel(
    principal: TaskViewer,
    { isForgotten = false, isByPerson = false } = {},
  ): Promise<boolean> {
    if (!this.#store.isOf(principal)) return false;
    if (isForgotten) await this.#listing.end();
    const isLinked = this.#store.isHandedOver && this.#store.owner === undefined;
    if (!this.#store.isOver && (isForgotten || isByPerson || !isLinked)) {
      this.#stop();
      await this.#publish();
    }
    if (isForgotten) await this.#store.forget();
    return true;
  }

  /** Fails the task with this reason: its caller has lost access. */
  async fail(principal: TaskViewer, reason: string): Promise<void> {
    if (!this.#store.isOf(principal) || this.#store.isOver) return;
    await this.#readable(() => this.#store.end(endOf(new Fault("unauthorized", reason))));
    this.#running?.abort(new DOMException(reason, "AbortError"));
    await this.#publish();
  }

  /** Subscribes a session to the task's progress. */
  async adopt(principal: TaskViewer, session: string): Promise<void> {
    if (!(await this.#isFor(principal))) return;
    await this.#readable(() => taskProgressOf(this.#store));
    this.#store.adopt(session);
    this.ctx.waitUntil(this.#publish());
  }

  #stop(): void {
    if (!this.#store.isOver) this.#store.cancel();
    this.#running?.abort(new DOMException("the task was cancelled", "AbortError"));
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    this.#hadTime = true;
    return this.#store.alarm.ring(info, async (now) => {
      const begun = await this.#server.starts!.take(
        this.#store.exists ? this.#store.row.principal : "",
      );
      try {
        if (await this.#goesOn(now)) await this.#run(now, begun);
      } catch (error) {
        await this.#lose(error);
        await this.#goesOn(now);
      } finally {
        begun();
      }
    });
  }

  /**
   * The clock of a live object does not go back with the machine's. If it is ahead of a caller's that was set back,
   * the object ends: its caller asks again, and the new object has the current time. A run is not interrupted.
   */
  async #compareTime(at = Date.now()): Promise<void> {
    if (Date.now() - at <= limits.clockSlackMs) this.#hadTime = true;
    else if (this.#hadTime && this.#running === undefined) {
      await this.ctx.storage.sync();
      this.ctx.abort("The clock was set back.");
      throw new Error("The clock was set back.");
    }
  }

  /**
   * Ensures that the task continues when due. The platform may have lost its alarm, or the clock may have been
   * set back, so each access to a task calls this.
   */
  async #keepTime(): Promise<void> {
    const { alarm } = this.#store;
    if (!this.#store.exists || alarm.isRinging) return;
    if (this.#store.isSetBack) await this.#putForward();
    else if (!(await alarm.isPlanned()) && !alarm.isRinging) await alarm.set(Date.now());
  }

  async #putForward(): Promise<void> {
    // Read here first: an exception inside `blockConcurrencyWhile` would end the object.
    await this.#store.waits();
    await this.#store.recorded();
    await this.ctx.blockConcurrencyWhile(async () => {
      if (this.#store.isSetBack) await this.#store.putForward();
    });
  }

  /** Runs `work`. If stored data cannot be decrypted any more, marks the task failed and runs `work` again. */
  async #readable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#lose(error);
      return work();
    }
  }

  /** Marks the task failed if this error says that its data cannot be decrypted; throws any other error. */
  async #lose(error: unknown): Promise<void> {
    if (!(error instanceof Unreadable)) throw error;
    this.#running?.abort(error);
    await this.#store.lose();
  }

  /** Returns false if its call is over, after doing what the alarm was set for. */
  async #goesOn(now: number): Promise<boolean> {
    // Parts were uploaded, but the task was never created.
    if (!this.#store.exists) await this.ctx.storage.deleteAll();
    else if (now >= this.#store.expires) await this.#store.forget();
    if (!this.#store.exists) return false;
    // The object may have died before it was sent.
    this.ctx.waitUntil(this.#listing.tell());
    const isOwned = this.#store.owner !== undefined;
    if (isOwned && !(await this.#publish())) {
      await this.#store.alarm.set(now + limits.ownerMs);
      return false;
    }
    if (!this.#store.exists) return false;
    if (!this.#store.isOver) return true;
    await this.#store.rest(now);
    return false;
  }

  /** True if a run is due. Otherwise applies deadlines and sets the next alarm. */
  async #isDue(now: number): Promise<boolean> {
    if (this.#store.isSetBack) {
      await this.#putForward();
      return false;
    }
    const waits = await this.#store.waits();
    if (waits?.kind === "input") {
      // A deadline may be over.
      await this.#give((asks) => fittingAnswers(asks, {}, now), { isNotified: true });
      return false;
    }
    if (waits !== undefined && "until" in waits && now < waits.until) {
      await this.#store.alarm.set(waits.until);
      return false;
    }
    if (waits?.kind === "sleep") await this.#store.wake(now, waits);
    return true;
  }

  /**
   * Adds the answers that `choose` returns for the open asks; the call continues when all are there. Runs one at a
   * time, so that no answer is lost.
   */
  #give(choose: Choose, { isNotified = false } = {}): Promise<{ wrong?: string }> {
    return this.ctx.blockConcurrencyWhile(async () => {
      const waits = await this.#store.waits();
      if (waits?.kind !== "input" || this.#store.isOver) return {};
      const next = waitWith(waits, choose);
      if ("wrong" in next) return next;
      if (isComplete(next.asks, next.given)) await this.#store.answer(next.asks, next.given);
      else await this.#store.wait(next, isNotified);
      this.ctx.waitUntil(this.#publish());
      return {};
    });
  }

  /** Runs its call if that is due. `begun` is called when the run waits for something. */
  async #run(now: number, begun: () => void): Promise<void> {
    // An earlier run is still alive.
    if (this.#running !== undefined) return this.#store.alarm.set(now + limits.rerunMs);
    const { signal } = (this.#running = new AbortController());
    try {
      if (!(await this.#isDue(now))) return;
      const runs = this.#store.countRun((count) => Date.now() + limits.rerunMs * 2 ** (count - 1));
      if (runs > limits.maxRuns) {
        await this.#store.end(await stoppedTooOften(this.#store));
      } else {
        const end = await runTask({
          store: this.#store,
          owners: this.#owners,
          registry: await this.#server.registry(),
          countStored: this.#server.countStored,
          onProgress: (message) =>
            this.ctx.waitUntil(this.#store.setMessage(message).then(() => this.#publish())),
          signal,
          begun,
        });
        await this.#owners.settled;
        if (end !== undefined && "waiting" in end) await this.#wait(end.waiting);
        else if (end !== undefined) await this.#store.end(end);
      }
      this.#firstRun.resolve();
      this.ctx.waitUntil(this.#publish());
    } finally {
      this.#running = undefined;
    }
  }

  async #wait(waiting: Waiting): Promise<void> {
    if (await hasAskedTooOften(this.#store, waiting)) return this.#store.end(askedTooOften());
    const { reason } = waiting;
    let next = waiting;
    if (reason.kind === "retry" && reason.ms > 0) {
      // The guest drew the random part, so that a replay draws the same.
      const longer = shortage(await this.#store.waits(), reason.ms / limits.shortageMs);
      next = Object.assign({}, waiting, { reason: longer });
    }
    const { begun, handed } = waitOf(await this.#store.call(), next, this.#store);
    await this.#store.suspend(begun, handed);
    this.ctx.waitUntil(noteWaiting(this.#store, this.#server));
    await this.#failUnsupportedAsks();
  }

  /** Fails the asks that nobody can answer. */
  async #failUnsupportedAsks(): Promise<void> {
    const failures = await failuresIn(this.#store);
    if (Object.keys(failures).length > 0) await this.#give(() => failures);
  }

  /** Notifies the owners and listeners of the task's progress; false if an owner could not be notified. */
  async #publish(): Promise<boolean> {
    this.#changes.tell();
    this.ctx.waitUntil(this.#listing.tell());
    if (!this.#store.exists) return true;
    const { owner } = this.#store;
    try {
      const { isHandedOver } = this.#store;
      const isThere = await this.#owners.progressed((work) => this.ctx.blockConcurrencyWhile(work));
      if (!this.#store.exists) return true;
      if (owner !== undefined && isHandedOver) this.#store.release();
      else if (owner?.isHidden === true) {
        if (isThere === false) this.#stop();
        if (!this.#store.isOver || this.#running !== undefined) return true;
        await this.#listing.leave();
        await this.#store.forget();
        return true;
      }
    } catch (error) {
      if (error instanceof Unreadable) throw error;
      if (!this.#store.exists) return true; // It was notified before, and the task is deleted.
      logError(error);
      if (owner !== undefined) return false;
    }
    await this.#owners.publish().catch(logError); // Clients that listen also poll.
    return true;
  }
}
