/** The record of a call. */
import type { Answers, Asks } from "./asks.ts";
import type { Json } from "./model.ts";
import type { ToolAnswer } from "./tool-calls.ts";

/** Increased when the questions of the same servlet, or the way they are recorded, change. */
export const JOURNAL_VERSION = 2;

/** The beginning of a call; every run of the call gets the same. */
export interface JournalHead {
  /** The version of the format: `JOURNAL_VERSION` of the server that began the record. */
  version: number;
  /** SHA-256 of the servlet, in hex: another build may ask different questions. */
  hash: string;
  /** Of a servlet whose modules depend on values of its environment: the SHA-256 of their image, in hex. */
  environment?: string;
  /** The guest's exact input: a later request of the same call has another id and `_meta`. */
  input: string;
  /**
   * 32 bytes in hex, which together with the entries determine all random numbers of the guest. In a fork, and in its
   * nested calls, the fork's id is appended, so that it does not take a stored ending of the original for its own.
   */
  seed: string;
  /** Unix time in ms. */
  time: number;
}

/** A record of which only the head may be known. */
export type KnownRecord = Pick<Recorded, "head"> & Partial<Recorded>;

/** Length of a seed without the id of a fork. */
const SEED_CHARACTERS = 64;

/** The part of a seed that determines random numbers; a fork shares it with its original. */
export const randomSeed = (seed: string): string => seed.slice(0, SEED_CHARACTERS);

/** The id of the fork that a seed belongs to; empty if it is no fork. */
export const forkOf = (seed: string): string => seed.slice(SEED_CHARACTERS);

/** One answer that a guest was given. */
export interface JournalEntry {
  /** Readable label of the question: `http GET api.example.com`. */
  what: string;
  /** SHA-256 of the whole question, in hex. */
  digest: string;
  /** The human-readable part: the message of an ask, the ms of a sleep. It is not compared in a replay. */
  words?: string;
  answer: string;
  /** Unix time in ms when the answer came. */
  at: number;
}

/** Everything that a new run of a call needs to reach the same point without repeating side effects. */
export interface Recorded {
  head: JournalHead;
  entries: readonly JournalEntry[];
  /** How many notifications have been sent. */
  notices: number;
  /** The unanswered question at which the run ended. */
  pending?: Pending;
  /** The nested calls of the question at this position in the journal; stale if there are more entries. */
  inner?: { at: number; calls: readonly InnerCall[] };
  /** HTTP requests without an answer that may have been sent, and must not be sent twice. */
  intents?: readonly Announced[];
}

/** An unanswered question. A sleep has its length, and its end (Unix ms) by the machine's clock. */
export interface Pending extends Pick<JournalEntry, "what" | "digest" | "words"> {
  ms?: number;
  until?: number;
}

/** The progress of a nested call: one that the guest of another call has made. */
export interface InnerCall {
  /** Absent if the call was not interrupted, or its servlet is called again. */
  recorded?: Recorded;
  /** The answer of a call that has ended. */
  answer?: ToolAnswer;
  /** For a servlet that returned an input request: its own state, and the answers once they are there. */
  returned?: { asks: Asks; state?: string; isSingleUse?: true; responses?: Answers };
  /** How often its servlet has returned an input request. */
  rounds?: number;
  /** For a call that has not ended: the arguments that its caller's profile has set. */
  pinned?: Json;
}

/** An HTTP request that was announced before it was sent: its position in the journal, and its key. */
export interface Announced {
  position: number;
  key: string;
}

/** The call with the answer to its pending question: answers of the client as JSON, or "" at the end of a sleep. */
export function withRecordedAnswer(recorded: Recorded, answer: string, at: number): Recorded {
  if (recorded.inner === undefined) return answered(recorded, answer, at);
  return withAnswers(recorded, answer === "" ? wakesAt(recorded) : JSON.parse(answer), at);
}

function answered(recorded: Recorded, answer: string, at: number): Recorded {
  const { pending, entries, ...rest } = recorded;
  if (pending === undefined) return recorded;
  const { ms = 0, until: _until, ...question } = pending;
  const newest = (entries.at(-1)?.at ?? rest.head.time) + (answer === "" ? ms : 0);
  return { ...rest, entries: [...entries, { ...question, answer, at: Math.max(at, newest) }] };
}

/** The record with these answers for its nested calls, or with those that sleep until this time awake. */
function withAnswers(recorded: Recorded, given: Answers | number, at: number): Recorded {
  const { inner, pending } = recorded;
  if (inner === undefined) {
    if (typeof given === "number")
      return pending?.until === given ? answered(recorded, "", at) : recorded;
    const isAsked = Object.keys(given).length > 0;
    return isAsked ? answered(recorded, JSON.stringify(given), at) : recorded;
  }
  const calls = inner.calls.map((call, nth): InnerCall => {
    const own = typeof given === "number" ? given : answersOf(given, nth, inner.calls.length);
    if (call.answer !== undefined) return call;
    if (call.recorded !== undefined)
      return { ...call, recorded: withAnswers(call.recorded, own, at) };
    if (call.returned === undefined || typeof own === "number") return call;
    if (Object.keys(own).length === 0) return call;
    return { ...call, returned: { ...call.returned, responses: own } };
  });
  return { ...recorded, inner: { ...inner, calls } };
}

/** The time at which the first nested call wakes. */
function wakesAt({ inner, pending }: Recorded): number {
  if (inner === undefined) return pending?.until ?? Infinity;
  return Math.min(...inner.calls.map(({ recorded }) => (recorded ? wakesAt(recorded) : Infinity)));
}

/** A copy of the record in which all sleeps, nested ones too, end this many ms earlier. */
export function withEarlierSleeps<R extends Pick<Recorded, "pending" | "inner">>(
  recorded: R,
  ms: number,
): R {
  const { pending, inner } = recorded;
  const calls = inner?.calls.map((call) =>
    call.recorded ? { ...call, recorded: withEarlierSleeps(call.recorded, ms) } : call,
  );
  return {
    ...recorded,
    ...(pending?.until !== undefined && { pending: { ...pending, until: pending.until - ms } }),
    ...(inner && calls && { inner: { ...inner, calls } }),
  };
}

/** The state of the nested calls, without their times; "" if there are none. */
export function innerStateOf({ inner }: Pick<Recorded, "inner">): string {
  if (inner === undefined) return "";
  return JSON.stringify([
    inner.at,
    ...inner.calls.map(({ recorded, answer, returned, rounds }) => [
      ...(recorded === undefined
        ? []
        : [recorded.head.seed, recorded.entries.map((one) => [one.digest, one.answer])]),
      recorded && innerStateOf(recorded),
      answer,
      returned,
      rounds,
    ]),
  ]);
}

/** The key of an ask of one of `count` calls that were made together, as the outer call names it. */
export const keyOfInner = (key: string, nth: number, count: number): string =>
  count === 1 ? key : `${nth}.${key}`;

function answersOf(answers: Answers, nth: number, count: number): Answers {
  if (count === 1) return answers;
  const prefix = keyOfInner("", nth, count);
  const own = Object.entries(answers).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, one]) => [key.slice(prefix.length), one]));
}

/**
 * A part of the record of a nested call: its head at position -1, an entry, or an announced request at that position.
 */
export interface InnerRow {
  /** The path of the call: the position of the question and the call's number in it, for each level, as `3.0/1.2`. */
  place: string;
  position: number;
  value: JournalHead | JournalEntry | Announced;
}

/** The record with the rows stored for its nested calls since; rows are in their order, the announced requests last. */
export function withInnerRows(recorded: Recorded, rows: readonly InnerRow[]): Recorded {
  const { inner, ...rest } = recorded;
  const whole: Recorded = inner?.at === rest.entries.length ? recorded : rest;
  const kept = rows.length === 0 ? whole : structuredClone(whole);
  for (const { place, position, value } of rows) {
    const call = innerAt(kept, place);
    if (call === undefined) continue;
    if ("seed" in value) call.recorded ??= { head: value, entries: [], notices: 0 };
    else if ("key" in value) announce(call.recorded, value);
    else if (call.recorded?.entries.length === position)
      call.recorded.entries = [...call.recorded.entries, value];
  }
  return kept;
}

function announce(recorded: Recorded | undefined, one: Announced): void {
  if (recorded === undefined) return;
  const others = (recorded.intents ?? []).filter(({ position }) => position !== one.position);
  recorded.intents = [...others, one];
}

/** More calls than a servlet can make at once: a hostile isolate may send any place. */
const MOST_PLACES = 100_000;

/** The call at this place; undefined if the outer calls have moved on. */
function innerAt(recorded: Recorded, place: string): InnerCall | undefined {
  const [first, ...others] = place.split("/");
  const [at, nth] = first!.split(".").map(Number) as [number, number];
  if (at !== recorded.entries.length || !(nth < MOST_PLACES)) return undefined;
  if (recorded.inner?.at !== at) recorded.inner = { at, calls: [] };
  const calls = recorded.inner.calls as InnerCall[];
  while (calls.length <= nth) calls.push({});
  const call = calls[nth]!;
  if (others.length === 0) return call;
  return call.recorded && innerAt(call.recorded, others.join("/"));
}

/**
 * Classes of HTTP methods: those that change nothing, those that may be sent twice, and those that may not.
 * https://www.rfc-editor.org/rfc/rfc9110#section-9.2
 */
export type MethodClass = "safe" | "repeatable" | "once";

/** An HTTP request that is about to be sent. */
export interface Intent {
  /** The value of its `Idempotency-Key`. */
  key: string;
  /** True if an earlier run stopped while it sent this request, which must not be sent twice. */
  isRepeated: boolean;
}

/**
 * Stores a call's journal entries before the servlet sees them; with a place (see `InnerRow`), those of a nested call,
 * until an answer of the outer call is stored.
 */
export interface Keeper {
  /**
   * True if no entries are stored, as the call is never run again. Digests and answers are then computed only when
   * read.
   */
  isVolatile?: boolean;
  /** Called first, for a new call. */
  begin(head: JournalHead, place?: string): Promise<void>;
  /**
   * Called before an HTTP request is sent; `key` identifies it. Resolves to whether an earlier run may have sent it,
   * which matters only for methods of the class `once`. Absent if no request is ever repeated.
   */
  intend?(position: number, key: string, method: MethodClass, place?: string): Promise<boolean>;
  /** `notices` is the number of notifications sent before. */
  keep(position: number, entry: JournalEntry, notices: number, place?: string): Promise<void>;
}
