import { Fault, logError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { CallerQuota, Json } from "../core/model.ts";
import { Wait, type WaitReason } from "../core/suspension.ts";
import type { JournalEntry, JournalHead, Keeper, MethodClass, Recorded } from "../core/record.ts";
import type { Busy, Noted, Promotion, States } from "./states.ts";

/** The point at which a call resumes: a state, and the answers that the client sent with it. */
export interface Resumed extends Pick<CallerQuota, "countStored"> {
  /** Digest of both; the same in each retry. */
  name: () => Promise<string>;
  /** Unix time in ms when the state expires. */
  until: number;
  /** The record, with the newest answer; absent where the servlet is called again. */
  recorded: Recorded | undefined;
}

/** A call that an earlier request has continued: its record, or that it has become a task. */
type Earlier = Extract<WaitReason, { kind: "earlier" | "task" }>;

/**
 * A request that resumes a call, and its retries: all have the same state and answers. Unless the
 * state is single use, nothing is stored before one of them sends an HTTP request that changes anything; from then on
 * a `States` object has the record, and a retry resumes from that.
 */
export class Resumption implements Keeper {
  readonly #attempt = crypto.randomUUID();
  readonly #by: Resumed;
  readonly #find: () => Promise<DurableObjectStub<States>>;
  #object: Promise<DurableObjectStub<States>> | undefined;
  #head: JournalHead | undefined;
  /** Entries that the object does not have yet. */
  #unstored: JournalEntry[];
  /** True once the object has the record of this request. */
  #isNoted = false;
  /** Renews the lease while a request is sent that must not be sent twice. */
  #renewal: ReturnType<typeof setInterval> | undefined;
  /** True once it sends nothing any more; a guest that runs elsewhere may not know yet. */
  #isOver = false;

  constructor(by: Resumed, find: () => Promise<DurableObjectStub<States>>) {
    this.#by = by;
    this.#find = find;
    this.#head = by.recorded?.head;
    this.#unstored = by.recorded?.entries.slice(-1) ?? [];
  }

  /**
   * Claims a single-use state for these answers: undefined where it was claimed for others. Returns the
   * outcome of an earlier request.
   */
  async claim(): Promise<{ outcome?: Json } | undefined> {
    return (await this.#states()).claim(await this.#by.name());
  }

  /** Stores the outcome unless there is one; returns the stored one. */
  async settle(outcome: Json): Promise<Json> {
    return (await this.#states()).once("outcome", outcome, this.#by.until);
  }

  /** The call as an earlier request left it, if that has sent something; this request takes it over. */
  async earlier(): Promise<Earlier | undefined> {
    const states = await this.#states();
    const noted = await whenFree<Noted>(async () => states.takeOver(this.#attempt));
    if (noted.kind === "none") return undefined;
    if (noted.kind === "task") return noted;
    this.#isNoted = true;
    this.#unstored = [];
    return { kind: "earlier", recorded: this.#whole(noted.recorded) };
  }

  /** The task that the call has become, or becomes under this id. */
  async task(id: string): Promise<Promotion> {
    const states = await this.#states();
    const made = await whenFree<Promotion>(async () =>
      states.promote(this.#attempt, id, this.#by.until),
    );
    const { recorded } = made;
    return { id: made.id, ...(recorded && { recorded: this.#whole(recorded) }) };
  }

  /** Ends the lease: nothing is being sent any more, nor will be. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    if (this.#stopRenewal()) await this.#endLease();
  }

  /** With `unsent`, the request that was recorded at this position was not sent. */
  #endLease(unsent?: number): Promise<void> {
    return this.#states()
      .then((states) => states.release(this.#attempt, unsent))
      .catch(logError);
  }

  async begin(head: JournalHead): Promise<void> {
    this.#head = head;
  }

  async intend(position: number, key: string, method: MethodClass): Promise<boolean> {
    if (method === "safe") return false;
    if (this.#isOver) throw cancelledBefore();
    const states = await this.#states();
    if (!this.#isNoted) {
      const earlier = await this.earlier();
      if (earlier !== undefined) throw new Wait(earlier);
      await this.#by.countStored();
    }
    const isRepeated = await states.intend(this.#attempt, {
      ...{ position, key, until: this.#by.until },
      ...{ head: this.#head!, entries: this.#unstored },
    });
    if (isRepeated === undefined) return this.#overtaken();
    this.#isNoted = true;
    this.#unstored = [];
    if (this.#isOver) {
      await this.#endLease(isRepeated ? undefined : position);
      throw cancelledBefore();
    }
    const lasts = Date.now() + limits.httpMs;
    this.#renewal = setInterval(() => {
      // No HTTP request takes longer, whatever has become of the run.
      if (Date.now() > lasts) this.#stopRenewal();
      else states.renew(this.#attempt).catch(logError);
    }, limits.sendingMs / 3);
    return method === "once" && isRepeated;
  }

  async keep(position: number, entry: JournalEntry): Promise<void> {
    if (!this.#isNoted) {
      this.#unstored.push(entry);
      return;
    }
    const states = await this.#states();
    if (!(await states.keep(this.#attempt, position, entry))) this.#overtaken();
    this.#stopRenewal();
  }

  /**
   * The record that the client carries, followed by the later entries. Of the notices only the client's count: a
   * client that retries has not received the response with the later ones.
   */
  #whole(since: Recorded): Recorded {
    const { entries = [], notices = 0 } = this.#by.recorded ?? {};
    return { ...since, notices, entries: [...entries.slice(0, -1), ...since.entries] };
  }

  /** Returns true if a request was being sent. */
  #stopRenewal(): boolean {
    if (this.#renewal === undefined) return false;
    clearInterval(this.#renewal);
    this.#renewal = undefined;
    return true;
  }

  #overtaken(): never {
    throw inProgress(1000);
  }

  #states(): Promise<DurableObjectStub<States>> {
    return (this.#object ??= this.#find());
  }
}

/** Polls until no other request is sending; throws `conflict` if that takes too long. */
async function whenFree<T extends object>(ask: () => Promise<T | Busy>): Promise<T> {
  const until = Date.now() + limits.resumeWaitMs;
  for (let waitedMs = 0; ; waitedMs += limits.resumePollMs) {
    const given = await ask();
    if (!("busyMs" in given)) return given;
    // By the number of polls, too: the clock may be set back.
    if (waitedMs >= limits.resumeWaitMs || Date.now() >= until) throw inProgress(given.busyMs);
    await scheduler.wait(limits.resumePollMs);
  }
}

function inProgress(ms: number): Fault {
  const retryAfter = Math.ceil(ms / 1000);
  const message = `Another request with the same requestState and answers is in progress. Retry in ${retryAfter} s.`;
  return new Fault("conflict", message, { data: { retryAfter } });
}

const cancelledBefore = () =>
  new Fault("cancelled", "The call was cancelled before it sent its request.");
