import { adviceAfter, hasSentIn } from "../core/unknown-outcome.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { Fault } from "../core/errors.ts";
import { limits } from "./limits.ts";
import { JOURNAL_VERSION, forkOf, randomSeed } from "../core/record.ts";
import type {
  Announced,
  JournalEntry,
  JournalHead,
  Intent,
  Keeper,
  MethodClass,
  Pending,
  Recorded,
} from "../core/record.ts";
import { hashText } from "../core/parts.ts";
import type { WaitReason } from "../core/suspension.ts";
import { BudgetExceeded } from "./budget.ts";
import { generator } from "./random.ts";
import type { World } from "./world.ts";

/** A question of a guest: a readable label, and everything that the answer may depend on. */
export interface Question {
  what: string;
  details: string | Details;
  /** As a `JournalEntry` has it. */
  words?: string | undefined;
}

/**
 * Hashed as text followed by base64, in pieces, so that a large body is not copied. The body may be a view of its
 * guest's memory; it is replaced by a copy before that guest is unwound.
 */
export interface Details {
  head: string;
  body: Uint8Array;
}

/** An answer whose text is written when first read: most runs are neither stored nor repeated. */
export interface LazyAnswer {
  /** Bytes that the text takes in V8's heap. */
  readonly textBytes: number;
  readonly text: string;
  /** Releases the source of the text. Must be called when the call is over. */
  release(): void;
}

/** Details up to this size, in characters and bytes, are kept until the call ends, so that most are never hashed. */
const MAX_KEPT_DETAILS = 2048;

/** Bytes of memory for a question's details; 0 if they are too large to be kept. */
export const keptDetailBytes = ({ details }: Question): number => {
  const size =
    typeof details === "string" ? details.length : details.head.length + details.body.length;
  return size <= MAX_KEPT_DETAILS ? 2 * size : 0;
};

/** A question in the journal. Its digest is computed when first read, or at once if its details are large. */
class JournalQuestion {
  readonly what: string;
  readonly #words: string | undefined;
  #details: Question["details"] | undefined;
  #digest: string | undefined;

  constructor(question: Question) {
    const { what, details, words } = question;
    this.what = what;
    this.#words = words;
    if (keptDetailBytes(question) === 0) this.#digest = digestOf(details);
    // The body may be a view of the guest's memory, which changes when the guest continues.
    else
      this.#details =
        typeof details === "string" ? details : { ...details, body: details.body.slice() };
  }

  get digest(): string {
    if (this.#digest === undefined) {
      this.#digest = digestOf(this.#details!);
      this.#details = undefined;
    }
    return this.#digest;
  }

  get plain(): Pending {
    const { what, digest } = this;
    return { what, digest, ...(this.#words !== undefined && { words: this.#words }) };
  }
}

/** An entry that this run has added. */
class LiveEntry {
  readonly #question: JournalQuestion;
  readonly #answer: string | LazyAnswer;
  readonly at: number;

  constructor(question: JournalQuestion, answer: string | LazyAnswer, at: number) {
    this.#question = question;
    this.#answer = answer;
    this.at = at;
  }

  get what(): string {
    return this.#question.what;
  }

  get digest(): string {
    return this.#question.digest;
  }

  get answer(): string {
    return typeof this.#answer === "string" ? this.#answer : this.#answer.text;
  }

  get plain(): JournalEntry {
    return { ...this.#question.plain, answer: this.answer, at: this.at };
  }

  release(): void {
    if (typeof this.#answer !== "string") this.#answer.release();
  }
}

const plainOf = (entry: JournalEntry | LiveEntry): JournalEntry =>
  entry instanceof LiveEntry ? entry.plain : entry;

/**
 * The ordered record of a call's answers. A run with entries replays them in order until they are used up; from there
 * on it is live. The guest's clock and random numbers are derived from the answers so far, so that they are the same in
 * each run.
 */
export class Journal {
  readonly #begun: Omit<JournalHead, "seed"> & { seed?: string };
  readonly #recorded: Recorded | undefined;
  readonly #entries: (JournalEntry | LiveEntry)[];
  /** Requests announced here or in an earlier run: those without an answer may have been sent. */
  readonly #announced: Announced[];
  readonly #world: World;
  readonly #keeper: Keeper | undefined;
  readonly #keepsState: boolean;
  /** Notifications that earlier runs have sent. */
  readonly #notified: number;
  /** True if the keeper has not stored it yet. */
  #isNew: boolean;
  #at = 0;
  #kept: number;
  #notices = 0;
  #pending: JournalQuestion | undefined;
  /** How much of the pending question's duration has passed in earlier runs, in ms. */
  #passed = 0;
  /** The question at the end of the record. */
  readonly #last: (Pending & { at: number }) | undefined;
  /** The earliest time of the next answer. */
  #earliest = 0;
  /** The key of the random numbers, after this many answers. */
  #chain: Uint8Array | undefined;
  #chained = 0;
  #random: ((bytes: Uint8Array) => void) | undefined;

  constructor(
    begun:
      | Recorded
      | (Pick<JournalHead, "hash" | "input"> &
          Partial<Pick<JournalHead, "seed" | "time" | "environment">>),
    world: World,
    keeper: Keeper | undefined,
    keepsState = false,
  ) {
    this.#keepsState = keepsState;
    const recorded = "head" in begun ? begun : undefined;
    this.#recorded = recorded;
    this.#begun =
      "head" in begun ? begun.head : { version: JOURNAL_VERSION, time: world.now(), ...begun };
    // The record of an earlier request with the same answers may be older than this request's answers.
    let { time } = this.#begun;
    let before = time;
    this.#entries = (recorded?.entries ?? []).map((entry) => {
      time += Math.max(0, entry.at - before);
      before = entry.at;
      return { ...entry, at: time };
    });
    this.#announced = [...(recorded?.intents ?? [])];
    this.#isNew = recorded === undefined;
    this.#last = recorded?.pending && { ...recorded.pending, at: recorded.entries.length };
    this.#kept = this.#entries.length;
    this.#notified = recorded?.notices ?? 0;
    this.#world = world;
    this.#keeper = keeper;
  }

  get position(): number {
    return this.#at;
  }

  /** True if the call may have sent a request that must not be sent twice. */
  get hasSent(): boolean {
    return hasSentIn({ entries: this.#entries, intents: this.#announced });
  }

  /** True if this run got an answer that no earlier run had. */
  get hasGoneOn(): boolean {
    return this.#at > (this.#recorded?.entries.length ?? 0);
  }

  /** True while the run repeats an earlier one. */
  get isReplaying(): boolean {
    return this.#at < this.#entries.length;
  }

  /** The time of the newest answer, in Unix ms: for the guest, no time passes between answers. */
  get now(): number {
    return this.#entries[this.#at - 1]?.at ?? this.#begun.time;
  }

  /** Counts a notification; true if no earlier run has sent it. */
  notice(): boolean {
    return ++this.#notices > this.#notified;
  }

  random(bytes: Uint8Array): void {
    this.#random ??= generator(this.#key());
    this.#random(bytes);
  }

  /**
   * The next recorded answer, or undefined if there are no more. Throws if another question was answered, and if the
   * call has reached the limit of answers.
   */
  take(question: Question): string | undefined {
    const { what, details } = question;
    const entry = this.#entries[this.#at];
    if (entry === undefined) {
      if (this.#at >= limits.journalEntries) {
        throw new BudgetExceeded(
          `The servlet asked its host more than ${limits.journalEntries} questions in one call and was stopped.`,
        );
      }
      this.#pending = new JournalQuestion(question);
      return undefined;
    }
    if (entry.what !== what || entry.digest !== digestOf(details))
      throw this.#diverged(entry, what);
    this.#at++;
    this.#random = undefined;
    return entry.answer;
  }

  /**
   * Announces an HTTP request that is about to be sent; undefined if no later run can repeat it. Its key is derived
   * from the seed, the answers so far, the position and the request: a retry has the same key, and a call that
   * continued with other answers has another.
   */
  async intend(method: MethodClass): Promise<Intent | undefined> {
    if (this.#keeper?.intend === undefined || this.#pending === undefined) return undefined;
    await this.keep();
    await this.begin();
    const request = utf8ToBytes(`request ${this.#at} ${this.#pending.digest}`);
    const hash = sha256.create().update(this.#key()).update(request).digest();
    const key = bytesToHex(hash).slice(0, 32);
    const isRepeated = await this.#keeper.intend(this.#at, key, method);
    if (method === "once") this.#announced.push({ position: this.#at, key });
    return { key, isRepeated };
  }

  /**
   * Records a live answer, which came at `earliest` or later (Unix ms). If the answer cost anything to get, the guest
   * may see it only once it is stored.
   */
  add(answer: string | LazyAnswer, earliest = this.now): void {
    if (this.#pending === undefined)
      throw new Error("add() was called without a pending question: call take() first");
    const at = Math.max(earliest, this.#earliest, this.now, this.#world.now());
    this.#entries.push(new LiveEntry(this.#pending, answer, at));
    this.#at++;
    this.#random = this.#pending = undefined;
  }

  /** Sets the earliest time of later answers, in Unix ms. */
  comesAfter(time: number): void {
    this.#earliest = Math.max(this.#earliest, time);
  }

  /**
   * The remaining duration of the pending question, out of `ms`: an earlier run may have been interrupted for another
   * reason.
   */
  leftOf(ms: number): number {
    const { until, at, digest } = this.#last ?? {};
    this.#passed = 0;
    if (until === undefined || at !== this.#at || digest !== this.#pending?.digest) return ms;
    const left = Math.min(ms, Math.max(0, until - this.#world.now()));
    this.#passed = ms - left;
    return left;
  }

  /** The seed of the pending question's calls, the same in each run. Settles once this call can be repeated. */
  async callSeed(): Promise<string> {
    await this.keep();
    await this.begin();
    const question = utf8ToBytes(`calls ${this.#at} ${this.#pending!.digest}`);
    const seed = sha256.create().update(this.#key()).update(question).digest();
    return bytesToHex(seed) + forkOf(this.#seed());
  }

  /** True if a new entry must be stored before the guest continues. */
  get hasKeeper(): boolean {
    return this.#keeper !== undefined;
  }

  /** Settles when all added entries are stored. */
  async keep(): Promise<void> {
    if (this.#keeper === undefined) return;
    if (this.#kept < this.#entries.length) await this.begin();
    const { isVolatile } = this.#keeper;
    while (this.#kept < this.#entries.length) {
      const entry = this.#entries[this.#kept]!;
      await this.#keeper.keep(this.#kept, isVolatile ? entry : plainOf(entry), this.#notices);
      this.#kept++;
    }
  }

  /** Stores the beginning of the call, unless its keeper has it. */
  async begin(): Promise<void> {
    if (!this.#isNew) return;
    this.#isNew = false;
    await this.#keeper?.begin(this.#head());
  }

  #head(): JournalHead {
    return { ...this.#begun, seed: this.#seed() };
  }

  /** Throws if the run has ended without asking a question that an earlier run asked. */
  finish(): void {
    const entry = this.#entries[this.#at];
    if (entry !== undefined) throw this.#diverged(entry, "nothing more");
  }

  /** The record of this run, for the next one; `waits` is why it was interrupted. */
  recorded(waits?: WaitReason): Recorded {
    const notices = Math.max(this.#notices, this.#notified);
    const head = this.#head();
    const isAsleep = waits?.kind === "sleep";
    const sleep = isAsleep ? { ms: waits.ms + this.#passed, until: waits.until } : {};
    const pending = this.#pending && { pending: { ...this.#pending.plain, ...sleep } };
    const open = this.#announced.filter(({ position }) => position >= this.#entries.length);
    const intents = open.length > 0 && { intents: open };
    return { head, entries: this.#entries.map(plainOf), notices, ...pending, ...intents };
  }

  /** Releases the sources of answers' texts. Must be called when the call is over. */
  release(): void {
    for (const entry of this.#entries) if (entry instanceof LiveEntry) entry.release();
  }

  #diverged(entry: Pick<JournalEntry, "what">, what: string): Fault {
    if (this.#keepsState) {
      return new Fault(
        "servlet_failed",
        `The state of this servlet has changed since the call began to wait, and with it what the call asks for, so it cannot go on. ${adviceAfter(this.#recorded)}`,
      );
    }
    return new Fault(
      "servlet_failed",
      `The servlet did not do the same again, so its call cannot go on. Its answer ${this.#at + 1} was to "${entry.what}", and now it asked for ${what === entry.what ? "the same with other content" : `"${what}"`}. Most likely something in it depends on more than its input and the host's answers, such as the order of a hash table.`,
    );
  }

  #seed(): string {
    if (this.#begun.seed === undefined) {
      const seed = new Uint8Array(32);
      this.#world.random(seed);
      this.#begun.seed = bytesToHex(seed);
    }
    return this.#begun.seed;
  }

  /**
   * A hash of the seed and all answers so far: calls with different answers share no random numbers. Times are not
   * included: a retried request comes later, and must be the same call.
   */
  #key(): Uint8Array {
    let chain = this.#chain ?? hexToBytes(randomSeed(this.#seed()));
    for (; this.#chained < this.#at; this.#chained++) {
      const { digest, answer } = this.#entries[this.#chained]!;
      const answered = hashText(sha256.create(), answer).digest();
      chain = sha256.create().update(chain).update(hexToBytes(digest)).update(answered).digest();
    }
    this.#chain = chain;
    return chain;
  }
}

/** Bytes encoded to base64 at once: a multiple of three. */
const STEP = 48 * 1024;

function digestOf(details: Question["details"]): string {
  if (typeof details === "string") return bytesToHex(sha256(utf8ToBytes(details)));
  const { head, body } = details;
  const hash = sha256.create().update(utf8ToBytes(`${head}\n`));
  for (let at = 0; at < body.length; at += STEP) {
    hash.update(utf8ToBytes(body.subarray(at, at + STEP).toBase64()));
  }
  return bytesToHex(hash.digest());
}
