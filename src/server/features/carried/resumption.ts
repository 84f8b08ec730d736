import { Fault, logError } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { CallerQuota, Json } from "../../kernel/core/model.ts";
import { Wait } from "../../kernel/core/suspension.ts";
import type { Earlier, Resumption } from "../../kernel/mcp/method.ts";
import { StoredBytes } from "../../kernel/storage/stored-bytes.ts";
import {
  withInnerRows,
  type InnerRow,
  type JournalEntry,
  type JournalHead,
  type Keeper,
  type MethodClass,
  type Recorded,
} from "../../kernel/core/record.ts";
import { afterSending } from "../../kernel/core/unknown-outcome.ts";
import type { Busy, EarlierProgress, Promotion, Since, States, Unstored } from "./states.ts";

/** The point at which a call resumes: a state and the answers that the client sent with it. */
export interface Resumed extends Pick<CallerQuota, "countStored"> {
  /** Digest of the state and the answers; the same in each retry. */
  name: () => Promise<string>;
  /** Unix time in ms when the state expires. */
  until: number;
  /** The record, with the newest answer; absent where the servlet is called again. */
  recorded: Recorded | undefined;
}

/**
 * A request that resumes a call, and its retries: all have the same state and answers. Unless the
 * state is single use, nothing is stored before one of them sends an HTTP request that changes anything; from then on
 * a `States` object has the record, and a retry resumes from that.
 */
export class StoredResumption implements Resumption {
  readonly #attempt = crypto.randomUUID();
  readonly #by: Resumed;
  readonly #find: () => Promise<DurableObjectStub<States>>;
  #object: Promise<DurableObjectStub<States>> | undefined;
  #head: JournalHead | undefined;
  /** The entries that every request with this state has, whatever the answers. */
  readonly #carried: readonly JournalEntry[];
  /** Later entries and rows of inner calls that the object does not have yet. */
  #unstored: JournalEntry[];
  #unstoredInner: InnerRow[] = [];
  /** True once the object has the record of this request. */
  #isNoted = false;
  /** Counts what the object stores of the record, but not the outcome: each state has one at most. */
  #stored: StoredBytes;
  /** Places of the requests in flight. */
  readonly #sending = new Set<string>();
  /** Serializes inner calls that were made together: each stores and sends in its turn. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Renews the lease while a request that must not be sent twice is in flight. */
  #renewal: ReturnType<typeof setInterval> | undefined;
  /** True once it sends nothing more; a guest in another isolate may not know yet. */
  #isOver = false;

  constructor(by: Resumed, find: () => Promise<DurableObjectStub<States>>) {
    this.#by = by;
    this.#find = find;
    this.#stored = new StoredBytes(() => by.countStored(), "");
    const { head, inner, entries = [] } = by.recorded ?? {};
    this.#head = head;
    // The answers to an inner call are in its own record.
    const isAnswered = inner?.at !== entries.length;
    this.#carried = isAnswered ? entries.slice(0, -1) : entries;
    this.#unstored = entries.slice(this.#carried.length);
  }

  /**
   * Claims a single-use state for these answers: undefined if it was claimed for other answers. Returns the
   * outcome of an earlier request, if any.
   */
  async claim(): Promise<{ outcome?: Json } | undefined> {
    return (await this.#states()).claim(await this.#by.name());
  }

  /** Stores the outcome unless there is one; returns the stored one. */
  async settle(outcome: Json): Promise<Json> {
    return (await this.#states()).once("outcome", outcome, this.#by.until);
  }

  async earlier(): Promise<Earlier | undefined> {
    const states = await this.#states();
    const earlier = await whenFree<EarlierProgress>(async () => states.takeOver(this.#attempt));
    if (earlier.kind === "none") return undefined;
    if (earlier.kind === "task") return earlier;
    this.#isNoted = true;
    this.#takeUnstored();
    this.#stored = new StoredBytes(() => this.#by.countStored(), earlier.since);
    return { kind: "earlier", recorded: this.#whole(earlier.since) };
  }

  async task(id: string): Promise<{ id: string; recorded?: Recorded }> {
    const states = await this.#states();
    const made = await whenFree<Promotion>(async () =>
      states.promote(this.#attempt, id, this.#by.until),
    );
    const { since } = made;
    return { id: made.id, ...(since && { recorded: this.#whole(since) }) };
  }

  /** Ends the lease: nothing is in flight, and nothing more will be sent. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    if (this.#stopRenewal()) await this.#endLease();
  }

  /** `unsent` is the place of a recorded request that was not sent. */
  #endLease(unsent?: { position: number; place: string | undefined }): Promise<void> {
    return this.#states()
      .then((states) => states.release(this.#attempt, unsent))
      .catch(logError);
  }

  /** The keeper of one run. It keeps and sends nothing once the run is to resume from an earlier request's record. */
  keeper(): Keeper {
    let over: Wait | undefined;
    const unless = <T>(work: () => Promise<T>): Promise<T> =>
      this.#inTurn(async () => {
        if (over !== undefined) throw over;
        try {
          return await work();
        } catch (error) {
          if (error instanceof Wait) over = error;
          throw error;
        }
      });
    return {
      begin: (head, place) => unless(() => this.begin(head, place)),
      intend: (position, key, method, place) =>
        unless(() => this.intend(position, key, method, place)),
      keep: (position, entry, notices, place) =>
        unless(() => this.keep(position, entry, notices, place)),
    };
  }

  async begin(head: JournalHead, place?: string): Promise<void> {
    if (place === undefined) this.#head = head;
    else await this.#keepRow({ place, position: -1, value: head });
  }

  async intend(
    position: number,
    key: string,
    method: MethodClass,
    place?: string,
  ): Promise<boolean> {
    if (method === "safe") return false;
    if (this.#isOver) throw cancelledBefore();
    const states = await this.#states();
    if (!this.#isNoted) {
      const earlier = await this.earlier();
      if (earlier !== undefined) throw new Wait(earlier);
      await this.#by.countStored();
    }
    const unstored = this.#takeUnstored();
    const begun = { head: this.#head!, inner: this.#by.recorded?.inner };
    await this.#count(this.#isNoted ? unstored : [unstored, begun.inner]);
    const isRepeated = await states.intend(this.#attempt, {
      position,
      key,
      place,
      until: this.#by.until,
      begun,
      unstored,
    });
    if (isRepeated === undefined) return this.#overtaken();
    this.#isNoted = true;
    if (this.#isOver) {
      await this.#endLease(isRepeated ? undefined : { position, place });
      throw cancelledBefore();
    }
    this.#sending.add(`${place} ${position}`);
    const lasts = Date.now() + limits.httpMs;
    this.#stopRenewal();
    this.#renewal = setInterval(() => {
      // No HTTP request takes longer, whatever has become of the run.
      if (Date.now() > lasts) this.#stopRenewal();
      else states.renew(this.#attempt).catch(logError);
    }, limits.sendingMs / 3);
    return method === "once" && isRepeated;
  }

  async keep(
    position: number,
    entry: JournalEntry,
    _notices: number,
    place?: string,
  ): Promise<void> {
    this.#sending.delete(`${place} ${position}`);
    if (place !== undefined) return this.#keepRow({ place, position, value: entry });
    if (this.#isNoted) return this.#keepNow({ answers: [[position, entry]], inner: [] });
    this.#unstored.push(entry);
    this.#unstoredInner = [];
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #keepRow(row: InnerRow): Promise<void> {
    if (this.#isNoted) await this.#keepNow({ answers: [], inner: [row] });
    else this.#unstoredInner.push(row);
  }

  async #keepNow(stored: Unstored): Promise<void> {
    await this.#count(stored);
    const states = await this.#states();
    const isSending = this.#sending.size > 0;
    if (!(await states.keep(this.#attempt, stored, isSending))) this.#overtaken();
    if (!isSending) this.#stopRenewal();
  }

  /** Counts more of the record. Throws `too_many`, with a warning if a request may have been sent. */
  async #count(stored: unknown): Promise<void> {
    await this.#stored.add(stored).catch((error: unknown) => {
      throw afterSending({ hasSent: this.#isNoted }, error);
    });
  }

  #takeUnstored(): Unstored {
    const first = this.#carried.length;
    const answers = this.#unstored.map((entry, nth) => [first + nth, entry] as const);
    const inner = this.#unstoredInner;
    [this.#unstored, this.#unstoredInner] = [[], []];
    return { answers, inner };
  }

  /**
   * The record that the client carries, followed by the later entries. Of the notices only the client's count: a
   * client that retries has not received the response with the later ones.
   */
  #whole({ recorded, inner }: Since): Recorded {
    const { notices = 0 } = this.#by.recorded ?? {};
    const entries = [...this.#carried, ...recorded.entries];
    return withInnerRows({ ...recorded, notices, entries }, inner);
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
    // Counts the polls too, since the clock may be set back.
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
