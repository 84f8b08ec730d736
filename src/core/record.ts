/** The record of a call. */

/** Increased when the questions of the same servlet, or the way they are recorded, change. */
export const JOURNAL_VERSION = 2;

/** A call as it was begun; every run of it is given the same. */
export interface JournalHead {
  /** Of this format: `JOURNAL_VERSION` of the server that began it. */
  version: number;
  /** SHA-256 of the servlet, in hex: another build may ask for other things. */
  hash: string;
  /** The guest's input, to the byte: a later request of the same call has another id and `_meta`. */
  input: string;
  /** 32 bytes in hex; all random numbers of the guest follow from it and the entries. */
  seed: string;
  /** Unix time in ms. */
  time: number;
}

/** One answer that a guest was given. */
export interface JournalEntry {
  /** Readable label of the question: `http GET api.example.com`. */
  what: string;
  /** SHA-256 of the whole question, in hex. */
  digest: string;
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
  /** The question that the run ended at, without an answer. */
  pending?: Pick<JournalEntry, "what" | "digest">;
  /** HTTP requests without an answer that may have been sent, and must not be sent twice. */
  intents?: readonly Announced[];
}

/** An HTTP request that was announced before it was sent: its place among the entries, and its key. */
export interface Announced {
  position: number;
  key: string;
}

/** The call with the answer to what it waits for. */
export function withRecordedAnswer(recorded: Recorded, answer: string, at: number): Recorded {
  const { pending, entries, ...rest } = recorded;
  if (pending === undefined) return recorded;
  const newest = entries.at(-1)?.at ?? rest.head.time;
  return { ...rest, entries: [...entries, { ...pending, answer, at: Math.max(at, newest) }] };
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

/** Stores a call's journal entries before the servlet sees them. */
export interface Keeper {
  /** True if it stores no entries: the call is not run again. */
  isVolatile?: boolean;
  /** Called before anything else, where the call is new. */
  begin(head: JournalHead): Promise<void>;
  /**
   * Called before an HTTP request is sent; `key` identifies it. Resolves to whether an earlier run may
   * have sent it, which counts for methods of the class `once` alone. Absent where no request is ever repeated.
   */
  intend?(position: number, key: string, method: MethodClass): Promise<boolean>;
  /** `notices` is how many notifications were sent before. */
  keep(position: number, entry: JournalEntry, notices: number): Promise<void>;
}
