import { clientHasLeft, Fault, orAborted } from "../core/errors.ts";
import { limits } from "./limits.ts";
import { isChange, type Notification } from "../core/model.ts";
import type { Redact } from "../core/redaction.ts";
import { Wait } from "../core/suspension.ts";
import { beginningOf, shortened, stringBytes } from "../core/text.ts";
import { Budget, BudgetExceeded, GuestError, Reservation, type Waiter } from "./budget.ts";
import type { EventStream } from "./event-stream.ts";
import { GuestMemory } from "./guest-memory.ts";
import { keptDetailBytes, type Journal, type LazyAnswer, type Question } from "./journal.ts";
import { processor } from "./processor.ts";
import { excerptOf } from "./reading.ts";
import type { LogLevel, Setup } from "./setup.ts";
import { Waits } from "./waits.ts";

export { GuestError };
export type { GuestCredentials, LogLevel, Setup } from "./setup.ts";

/** `proc_exit`. */
export class Exit {
  readonly code: number;
  constructor(code: number) {
    this.code = code;
  }
}

/**
 * Thrown to a guest whose memory has no room while it waits: the guest is unwound, and its call continues in another
 * instance once its question is answered.
 */
export class Unwound {
  /** Settles when the journal has the answer; rejects with the error that ends the call. */
  readonly answered: Promise<unknown>;
  constructor(answered: Promise<unknown>) {
    this.answered = answered;
    // It may reject before anybody awaits it.
    answered.catch(() => {});
  }
}

const UNCAUGHT = "Uncaught ";

/** One instance as its host functions see it: its memories, and the call that it is in. */
export class Guest extends GuestMemory {
  readonly setup: Setup;
  readonly journal: Journal;
  readonly budget: Budget;
  /** Set when the call is over while the guest still runs: every later host call throws it. */
  ended: unknown;
  /** Set when the call is over and the guest collects its garbage: finalizers may use its files, and nothing else. */
  isCollecting = false;
  /** Extism's variables. */
  readonly vars = new Map<string, Uint8Array>();
  varBytes = 0;
  /** By name: redacts a secret that the caller has entered on a page of the server. */
  readonly redactions = new Map<string, Redact>();
  /** Accounts of the caller that this call has found connected. */
  readonly accounts = new Set<string>();
  /** Tools for which this call need not ask its user. */
  readonly unasked = new Set<string>();
  /** The last HTTP response, without its body; its headers as JSON. */
  http = { status: 0, headers: "{}" };
  /** What a successful call does to its servlet's state; without effect for a stateless servlet. */
  leaves: "changes" | "nothing" | "new state" = "changes";
  /** The event stream that it reads. While it is open, the call does not move to another place. */
  events: EventStream | undefined;
  /** A stream whose events come with those of `events`. */
  beside: EventStream | undefined;
  /** Sends a request that tells a service that the call was cancelled. */
  whenCancelled: (() => Promise<unknown>) | undefined;
  #thrown: string | undefined;
  #reservation: Reservation | undefined;
  #gone: AbortSignal | undefined;
  #waits: Waits | undefined;

  /** `before` is the budget of the unwound guest, if this one continues its call. */
  constructor(setup: Setup, journal: Journal, before?: Budget) {
    super();
    this.setup = setup;
    this.journal = journal;
    this.budget = new Budget(setup.waitMs, before);
  }

  /** The beginning of the text in these bytes: see `excerptOf`. */
  excerpt(parts: readonly Uint8Array[], characters: number): string {
    return excerptOf(parts, characters, this.hasSecrets);
  }

  /** True if it knows secrets. */
  get hasSecrets(): boolean {
    const { credentials, hide } = this.setup;
    return credentials !== undefined || hide !== undefined || this.redactions.size > 0;
  }

  /** Redacts its secrets in the first `most` characters of a text, and drops the rest. */
  hide(text: string, most = text.length): string {
    // A secret that begins before the cut must be whole.
    let redacted = text.slice(0, most + limits.secretCharacters);
    redacted = this.setup.hide?.(redacted) ?? redacted;
    for (const redact of this.redactions.values()) redacted = redact(redacted);
    return this.setup.credentials?.hide(redacted, most) ?? beginningOf(redacted, most);
  }

  /** The message that the guest set with `error_set`; undefined where it set none. */
  error(): string | undefined {
    const bytes = this.errorBytes();
    if (bytes === undefined) return undefined;
    return shortened(this.excerpt([bytes], limits.errorCharacters), limits.errorCharacters);
  }

  /**
   * The recorded answer if this run repeats an earlier one, else the answer of `live`, which is recorded before the
   * guest gets it. `lasts` is its known duration: at least that much time passes on the guest's clock, which may be
   * ahead of the machine's.
   */
  async answer<T extends string | LazyAnswer = string>(
    question: Question,
    live: (ms: number) => Promise<T>,
    lasts = 0,
  ): Promise<string | T> {
    this.pay(limits.answerFuel);
    const known = this.journal.take(question);
    if (known !== undefined) return this.#held(known, question);
    const ms = this.journal.leftOf(lasts);
    if (this.events === undefined) {
      const gate = this.setup.gate?.(ms);
      if (gate !== undefined) await gate;
      this.#demandTime(ms);
    }
    this.count();
    const room = this.#room();
    if (room === undefined) throw this.#unwound({ question, live: () => live(ms), lasts }, ms);
    try {
      this.#reservation = room;
      const answer = this.#add(await live(ms), question, lasts);
      if (this.journal.hasKeeper) await this.journal.keep();
      const turn = this.turn();
      if (turn !== undefined) await turn;
      return answer;
    } finally {
      room.release();
    }
  }

  /** Records a live answer. */
  #add<T extends string | LazyAnswer>(given: T, question: Question, lasts: number): T {
    const answer = this.#held(given, question);
    this.journal.add(answer, this.journal.now + lasts);
    return answer;
  }

  /** Throws a `Wait` in a durable call whose run has waited for nearly as long as it may. */
  #demandTime(ms: number): void {
    const { waitedMs } = this.budget;
    if (this.setup.gate !== undefined && waitedMs > 0 && this.#spareMs(ms) < 0)
      throw this.#retry(0);
  }

  /** How long this run may wait besides a question that takes this many ms. */
  #spareMs(ms: number): number {
    return this.budget.leftMs - Math.max(ms, limits.httpMs);
  }

  /** Room for everything that it holds while it waits; undefined if there is none. */
  #room(): Reservation | undefined {
    const waiter = this.#waiter(this.memoryBytes + limits.waitingOverheadBytes);
    const room = Reservation.take(waiter);
    // Its runs were repeated so often that there is no fuel for another.
    return room ?? (this.fuelMeter!.canRepeat ? undefined : Reservation.force(waiter));
  }

  #waiter(bytes: number): Waiter {
    const { heldBytes, leftMs } = this.budget;
    const { caller, place } = this.setup;
    return { bytes: bytes + heldBytes, caller, leftMs, place };
  }

  /** Asks without holding the guest's memory: only the host's memory for it needs room. */
  #unwound({ question, live, lasts }: LiveQuestion, ms: number): Unwound {
    const { details } = question;
    let bytes = limits.unwoundOverheadBytes;
    if (typeof details !== "string") {
      details.body = details.body.slice();
      bytes += details.body.length;
    }
    const answered = async () => {
      const room = await this.#roomInTurn(this.#waiter(bytes), ms);
      try {
        this.#reservation = room;
        this.#add(await live(), question, lasts);
        await this.journal.keep();
      } finally {
        room.release();
      }
    };
    return new Unwound(answered());
  }

  /**
   * Waits for room behind earlier calls. Nothing was asked yet, so a shortage is not an answer: a durable call is
   * eventually suspended, and run again later.
   *
   * Throws a `Wait` then, and `too_many` in other calls that have sent nothing.
   */
  async #roomInTurn(waiter: Waiter, ms: number): Promise<Reservation> {
    const { gate, world, place = "" } = this.setup;
    const mayRefuse = gate === undefined && !place.includes("/") && !this.journal.hasSent;
    const mostMs = gate === undefined ? limits.roomMs : this.#spareMs(ms);
    let waitedMs = 0;
    const pausing = (signal: AbortSignal) => async (pauseMs: number) => {
      await gate?.(0);
      if (waitedMs >= mostMs && gate !== undefined) throw this.#retry(limits.shortageMs);
      if (waitedMs >= mostMs && mayRefuse) throw tooManyWait();
      waitedMs += pauseMs;
      await world.sleep(pauseMs, signal);
    };
    return this.wait((signal) => Reservation.whenFree(waiter, pausing(signal)));
  }

  #retry(ms: number): Wait {
    const { world } = this.setup;
    const spread = new Uint8Array(1);
    world.random(spread);
    const pause = Math.ceil(ms * (1 + spread[0]! / 256));
    return new Wait({ kind: "retry", until: world.now() + pause, ms: pause });
  }

  /**
   * Must be called on entry to a host function; true if other guests should run first. Nearly free: only a guest that
   * has computed for a while checks for its client.
   *
   * Throws `cancelled` if the client has left.
   */
  enter(): boolean {
    if (this.#gone?.aborted === true) throw clientHasLeft(this.#gone);
    if (!this.fuelMeter!.takeTurn()) return false;
    const isFirst = this.#gone === undefined;
    this.#gone ??= this.setup.signal();
    if (this.#gone.aborted) throw clientHasLeft(this.#gone);
    return !isFirst;
  }

  /** Lets other guests run, unless the waiting guests leave no room for this one. */
  async giveWay(): Promise<void> {
    const room = Reservation.take(this.#waiter(this.memoryBytes + limits.waitingOverheadBytes));
    if (room === undefined) return;
    this.count();
    try {
      await this.turn();
    } finally {
      room.release();
    }
  }

  /** Counts the fuel used since this was last called. */
  count(): void {
    const { fuelMeter } = this;
    if (fuelMeter !== undefined) processor.spend(this.setup.caller, fuelMeter.sinceCounted());
  }

  /** Counts fuel for its caller that the guest does not pay itself: before it may compute, or after its end. */
  spend(fuel: number): void {
    processor.spend(this.setup.caller, fuel);
  }

  /** Pays for work of the host, then waits while other guests have priority. Throws as `pay` and `turn`. */
  async work(fuel: number): Promise<void> {
    this.pay(fuel);
    this.count();
    await this.turn();
  }

  /**
   * Resolves when the guest may compute, after guests whose callers have computed less; undefined if that is now.
   *
   * Throws `cancelled` if the client has left meanwhile.
   */
  turn(): Promise<void> | undefined {
    const turn = processor.turn(this.setup.caller, this.fuelMeter === undefined);
    return turn && this.#waitFor(turn);
  }

  async #waitFor(turn: Promise<void>): Promise<void> {
    const gone = (this.#gone ??= this.setup.signal());
    await orAborted(turn, gone).catch(() => {
      throw clientHasLeft(gone);
    });
  }

  /**
   * Reserves memory for bytes that arrive while the guest waits; undefined if there is room now, else resolves when
   * there is.
   */
  grow(bytes: number, signal: AbortSignal): Promise<void> | undefined {
    return this.#reservation?.grow(bytes) === false ? this.#growLater(bytes, signal) : undefined;
  }

  async #growLater(bytes: number, signal: AbortSignal): Promise<void> {
    do await this.setup.world.sleep(100, signal);
    while (this.#reservation?.grow(bytes) === false);
  }

  /** `answer` for questions that the host answers synchronously. */
  answerNow(question: Question, live: () => string): string {
    this.pay(limits.answerFuel);
    const known = this.journal.take(question);
    if (known !== undefined) return this.#held(known, question);
    const answer = this.#held(live(), question);
    this.journal.add(answer);
    return answer;
  }

  /** An answer, which the journal holds until the call ends. */
  #held<T extends string | LazyAnswer>(answer: T, question: Question): T {
    const { what, words = "" } = question;
    const bytes = typeof answer === "string" ? stringBytes(answer) : answer.textBytes;
    const more = what.length + words.length + keptDetailBytes(question) + limits.entryBytes;
    this.budget.hold(bytes + more);
    return answer;
  }

  /**
   * Waits for whole milliseconds: plugins in Rust and Go sleep for nanoseconds, which clocks and alarms do not have.
   */
  async sleep(ms: number): Promise<void> {
    const { world } = this.setup;
    const whole = Math.ceil(ms);
    const live = (left: number) => this.wait((signal) => world.sleep(left, signal)).then(() => "");
    const question = { what: "sleep", details: String(ms), words: String(whole) };
    await this.answer(question, live, whole);
  }

  /**
   * Waits while the guest is suspended: for `atMostMs`, within the time that a call may spend on waiting.
   * `work` settles soon after its signal aborts.
   */
  async wait<T>(work: (signal: AbortSignal) => Promise<T>, atMostMs = Infinity): Promise<T> {
    const gone = (this.#gone ??= this.setup.signal());
    if (gone.aborted) throw clientHasLeft(gone);
    const { leftMs } = this.budget;
    const mostMs = Math.min(atMostMs, leftMs);
    if (leftMs <= 0) throw waitedTooLong();
    const waits = (this.#waits ??= new Waits(gone));
    const signal = waits.begin(mostMs);
    const began = Date.now();
    try {
      return await waits.settle(work(signal));
    } catch (error) {
      if (gone.aborted) throw clientHasLeft(gone);
      const isOver = leftMs < atMostMs || !(error instanceof GuestError);
      throw waits.isLate && isOver ? waitedTooLong() : error;
    } finally {
      waits.finish();
      this.budget.addWait(Date.now() - began, mostMs);
    }
  }

  closeEvents(): void {
    this.events?.cancel();
    this.events = undefined;
  }

  /** Releases the call's resources. Must be called when it is over. */
  end(): void {
    this.closeEvents();
    this.beside?.cancel();
    this.#waits?.end();
    this.journal.release();
  }

  /** Sets a variable that an earlier call has stored. */
  setVariable(name: string, value: Uint8Array): void {
    this.vars.set(name, value);
    this.varBytes += stringBytes(name) + value.length;
  }

  /** The exception that the servlet itself reported to operators: see `log`. */
  get thrown(): string | undefined {
    return this.#thrown && this.hide(this.#thrown, limits.logCharacters);
  }

  /** A line that begins with `Uncaught` is kept for the run log, which prints it if the call fails. */
  log(level: LogLevel, line: string): void {
    if (level === "error" && line.startsWith(UNCAUGHT)) {
      // Redacted when it is read: a guest may write many such lines, of which only the last counts.
      this.#thrown = line.slice(0, limits.logCharacters + limits.secretCharacters);
      return;
    }
    if (this.journal.isReplaying) return;
    const count = this.budget.count("logLines");
    if (count === undefined) return;
    const { logCharacters, logLines } = limits;
    const text = this.hide(line, logCharacters);
    const rest = count === logLines ? " (this call's further lines are dropped)" : "";
    this.setup.log(level, (line.length > logCharacters ? `${text}…` : text).trimEnd() + rest);
  }

  /** Sends a notification to the client; `bytes` is its size, charged to the budget. */
  notify(notification: Notification, bytes: number): void {
    const { setup } = this;
    const isKept = setup.changed !== undefined && isChange(notification);
    if (!isKept && !this.journal.notice()) return;
    this.budget.hold(bytes);
    if (this.budget.count("notifications") === undefined) return;
    if (isKept) return setup.changed?.(notification);
    try {
      setup.notify(notification);
    } catch (error) {
      // The call moves to where its client hears it, but not before the end of its stream, which would be lost.
      if (this.events === undefined || !(error instanceof Wait)) throw error;
    }
  }
}

/** A question that has no recorded answer. */
interface LiveQuestion {
  question: Question;
  live(): Promise<string | LazyAnswer>;
  /** How long it is known to take, in ms. */
  lasts: number;
}

const tooManyWait = () =>
  new Fault("too_many", "Too many calls are waiting for something. Try again in a moment.", {
    data: { retryAfter: 1 },
  });

const waitedTooLong = () => new BudgetExceeded("The servlet waited for too long and was stopped.");
