/** The memory, globals, variables and endings of a servlet in one scope, encrypted in an object's SQLite database. */
import {
  clearKernel,
  concatenate,
  currentBody,
  globalsText,
  sizeOf,
  type InstanceViews,
} from "../wasm/image.ts";
import type { Instance } from "../wasm/link.ts";
import { BLOCK, mark, takeWritten, type Range } from "../wasm/marks.ts";
import { hexDigestNow } from "../core/digest.ts";
import { limits } from "../core/limits.ts";
import { PART } from "../core/parts.ts";
import { stringBytes } from "../core/text.ts";
import type { Notification } from "../core/model.ts";
import { innerStateOf, type JournalEntry, type Recorded } from "../core/record.ts";
import type { PlainEnding } from "./plain-ending.ts";
import type { Kept } from "./kept-instances.ts";
import { applyRest, type Rest } from "./rest.ts";
import {
  forgetOldest,
  StateBlocks,
  STORED_BLOCK,
  type KnownBlocks,
  type Written,
} from "./state-blocks.ts";
import type { Sealing } from "../files/sealing.ts";
import type { SqlRow, Sql } from "../files/sql.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS ending_parts (seed TEXT, nth INTEGER, bytes BLOB NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (seed, nth))",
  "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), hash TEXT NOT NULL, bytes BLOB NOT NULL, changed INTEGER NOT NULL)",
];

/** Deletes old endings: the newest stay, up to a number and a sum of bytes, and the last one always. */
const DELETE_OLD_ENDINGS = `
DELETE FROM ending_parts WHERE seed IN (
  SELECT seed FROM (
    SELECT seed, row_number() OVER newest AS nth, sum(size) OVER newest AS total
    FROM (SELECT seed, max(rowid) AS last, sum(length(bytes)) AS size FROM ending_parts GROUP BY seed)
    WINDOW newest AS (ORDER BY last DESC)
  ) WHERE nth > 1 AND (nth > ? OR total > ?)
)`;

/** How a call has ended. */
export interface Ended {
  ending: PlainEnding;
  /** The notifications of its last run: the first `limits.outputBytes` of them. Earlier runs had sent `after` others. */
  said: { after: number; notices: readonly Notification[] };
}

/** An ending, and the digests of the answers that the call had until then. */
interface StoredEnding extends Ended {
  answers: string[];
  /** A digest of what the calls inside had come to when its last run began; absent if there were none. */
  inner?: string;
}

/** The changes of a call, to be stored. */
export interface Changed {
  hash: string;
  /** True if there is no state of this build yet. */
  isNew: boolean;
  written: Written;
  /** Where the memory may have been written. */
  ranges: readonly Range[];
  /** A `Rest` as JSON. */
  rest: string;
  /** Bytes of the whole state once they are stored. */
  bytes: number;
  /** Bytes to reserve for it: as many as it may take until a call has written other blocks. */
  room: number;
}

/** The parts of a record by which a call is known. */
export type RecordedCall = Pick<Recorded, "entries" | "inner"> & {
  head: Pick<Recorded["head"], "seed">;
};

/** A digest of what the calls inside have come to. */
const innerKey = ({ inner, entries }: RecordedCall): string | undefined =>
  inner?.at === entries.length ? hexDigestNow(innerStateOf({ inner })) : undefined;

const answerKey = ({ digest, answer }: JournalEntry): string => `${digest} ${hexDigestNow(answer)}`;

/** Stored state that cannot be decrypted: its key is gone, or it was altered. */
export class CorruptState extends Error {}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Loads the stored state into instances, and stores what calls have changed. Caches what it has read. */
export class StateRows {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  readonly #blocks: StateBlocks;
  /** The hash in the table `state`; undefined until it was read. */
  #known: { hash: string | undefined } | undefined;
  /** The stored state besides blocks, as JSON; undefined if not known. */
  #rest: string | undefined;

  constructor(sql: Sql, sealing: Sealing) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.#blocks = new StateBlocks(sql, sealing, (sealed, place) => this.#open(sealed, place));
    this.create();
  }

  /** Creates the tables that are missing. */
  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
    this.#blocks.create();
    // Left by an import that died.
    this.#sql.exec("DROP TABLE IF EXISTS imported");
  }

  /** The hash of the build that the state belongs to; undefined before the first call. */
  get hash(): string | undefined {
    this.#known ??= { hash: this.#row("SELECT hash FROM state")?.["hash"] as string | undefined };
    return this.#known.hash;
  }

  /** When it was last changed, in Unix ms; undefined before the first call. */
  get changedAt(): number | undefined {
    const row = this.#row("SELECT changed FROM state");
    return row && Math.max(Number(row["changed"]), this.#blocks.changedAt);
  }

  /** Bytes that are stored of the state. */
  get bytes(): number {
    const row = this.#row("SELECT length(bytes) AS bytes FROM state");
    return this.#blocks.bytes + Number(row?.["bytes"] ?? 0);
  }

  /**
   * Loads the stored state into a pristine instance of this build. Returns the variables, and the blocks: the `known`
   * ones, else those in the database. State of another build is not loaded. Throws `CorruptState`.
   */
  load(instance: Instance, hash: string, known?: KnownBlocks): Pick<Kept, "vars" | "blocks"> {
    const rest = this.hash === hash ? this.rest() : undefined;
    if (rest === undefined) return { vars: new Map(), blocks: new Map() };
    const vars = applyRest(instance, rest);
    const { memory } = currentBody(instance);
    const blocks = known ?? this.blocks();
    for (const [nth, bytes] of blocks) memory.set(bytes, nth * BLOCK);
    forgetOldest(blocks);
    instance.hasStarted = true;
    return { vars, blocks };
  }

  /**
   * The ending of this call if an earlier run has stored one, together with its changes: the task that asked for it may
   * have died before it got the ending. Undefined for another call, and for the same call with other answers.
   */
  ending(call: RecordedCall): Ended | undefined {
    const { head, entries } = call;
    const inner = innerKey(call);
    const runs = this.#sql
      .exec(
        "SELECT DISTINCT seed FROM ending_parts WHERE seed BETWEEN ? || ' ' AND ? || '!'",
        ...[head.seed, head.seed],
      )
      .toArray();
    for (const { seed } of runs) {
      const run = String(seed);
      const parts = this.#sql
        .exec("SELECT bytes FROM ending_parts WHERE seed = ? ORDER BY nth", run)
        .toArray()
        .map(({ bytes }, nth) => this.#open(bytes, `ending ${run} ${nth}`));
      const stored = JSON.parse(decoder.decode(concatenate(parts))) as StoredEnding;
      const isOther = inner !== undefined && inner !== stored.inner;
      if (!isOther && entries.every((entry, at) => answerKey(entry) === stored.answers[at]))
        return stored;
    }
    return undefined;
  }

  /** Stores the ending of a call that may be run again; `begun` is the record that its last run went on from. Must run in the transaction of `save`. */
  saveEnding({ head, entries }: Recorded, { ending, said }: Ended, begun?: Recorded): void {
    // A guest may say more than there is memory to store at once.
    let room = limits.outputBytes;
    const notices = said.notices.filter((one) => (room -= JSON.stringify(one).length) >= 0);
    const answers = entries.map(answerKey);
    const inner = begun && innerKey(begun);
    const stored: StoredEnding = {
      ending,
      said: { ...said, notices },
      answers,
      ...(inner && { inner }),
    };
    // A client that holds the state of a waiting call can answer it twice: same seed, other answers.
    const run = `${head.seed} ${hexDigestNow(stored.answers.join(" "))}`;
    const bytes = encoder.encode(JSON.stringify(stored));
    const now = Date.now();
    const until = now + limits.taskMs;
    this.#sql.exec("DELETE FROM ending_parts WHERE until < ? OR seed = ?", now, run);
    for (let nth = 0; nth * PART < bytes.length; nth++) {
      const part = bytes.subarray(nth * PART, (nth + 1) * PART);
      const sealed = this.#sealing.seal(part, `ending ${run} ${nth}`);
      this.#sql.exec("INSERT INTO ending_parts VALUES (?, ?, ?, ?)", run, nth, sealed, until);
    }
    this.#sql.exec(DELETE_OLD_ENDINGS, limits.endings, limits.endingBytes);
  }

  clearEndings(): void {
    this.#sql.exec("DELETE FROM ending_parts");
  }

  /**
   * The changes of a call, to be stored by `save`: all since those `before` that were not. Clears the instance's marks of
   * written blocks.
   */
  changed(
    { instance, vars, blocks: known, used }: Kept,
    hash: string,
    before: readonly Range[] = [],
  ): Changed {
    const body = currentBody(instance);
    for (const { from, to } of before) mark(body.marks!.memory, from, to - from);
    const ranges = writtenIn(body, sizeOf(instance.exports));
    clearKernel(body);
    const rest: Rest = {
      pages: (body.pages?.value as number | undefined) ?? 0,
      globals: globalsText(body.globals.map(({ value }) => value as number | bigint)),
      vars: [...vars].map(([name, value]) => [name, value.toBase64()]),
    };
    const isNew = this.hash !== hash;
    const restText = JSON.stringify(rest);
    const written = this.#blocks.written(body.memory, ranges, { known, used, isNew });
    const restBytes = stringBytes(restText);
    const [bytes, room] = [written.bytes + restBytes, written.room + restBytes];
    return { hash, isNew, written, ranges, rest: restText, bytes, room };
  }

  /** Stores changes, and replaces the state of another build. Must run in a transaction; if that fails, make another `StateRows`. */
  save({ hash, isNew, written, rest }: Changed): void {
    if (isNew) this.clear();
    this.#blocks.save(written);
    if (isNew || rest !== this.#rest) this.#putRest(hash, rest);
  }

  /** Deletes memory, globals and variables. Endings stay. */
  clear(): void {
    this.#blocks.clear();
    this.#sql.exec("DELETE FROM state");
    this.#known = this.#rest = undefined;
  }

  /** The stored globals, variables and size of the memory; undefined before the first call. Throws `CorruptState`. */
  rest(): Rest | undefined {
    const row = this.#row("SELECT bytes FROM state");
    return row && (this.#json(row["bytes"], "rest") as Rest);
  }

  putRest(hash: string, rest: Rest): void {
    this.#putRest(hash, JSON.stringify(rest));
  }

  #putRest(hash: string, rest: string): void {
    const sealed = this.#sealing.seal(encoder.encode(rest), "rest");
    this.#sql.exec("INSERT OR REPLACE INTO state VALUES (0, ?, ?, ?)", hash, sealed, Date.now());
    this.#known = { hash };
    this.#rest = rest;
  }

  /** The blocks of memory that differ from a pristine instance's, by number. Throws `CorruptState`. */
  blocks(): KnownBlocks {
    return this.#blocks.all();
  }

  /** True if these known blocks are all that are stored. */
  areAll(known: KnownBlocks): boolean {
    return this.#blocks.areAll(known);
  }

  /** Collects memory that is to replace this one. It takes effect with `replace`, which must run in a transaction. */
  newMemory() {
    let bytes = 0;
    this.#sql.exec("CREATE TABLE imported (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    return {
      get bytes() {
        return bytes;
      },
      put: (nth: number, block: Uint8Array) => {
        bytes += STORED_BLOCK;
        const sealed = this.#sealing.seal(block, `block ${nth}`);
        this.#sql.exec("INSERT OR REPLACE INTO imported VALUES (?, ?)", nth, sealed);
      },
      replace: (hash: string, rest: Rest | undefined) => {
        this.clear();
        if (rest === undefined) return;
        this.#sql.exec("INSERT INTO blocks SELECT nth, bytes FROM imported");
        this.putRest(hash, rest);
      },
      drop: () => void this.#sql.exec("DROP TABLE IF EXISTS imported"),
    };
  }

  #row(query: string, ...bindings: (string | number)[]): SqlRow | undefined {
    return this.#sql.exec(query, ...bindings).toArray()[0];
  }

  #json(sealed: unknown, place: string): unknown {
    return JSON.parse(decoder.decode(this.#open(sealed, place)));
  }

  /** Decrypts a blob, which is an ArrayBuffer in Durable Objects, and a Uint8Array in Node. */
  #open(sealed: unknown, place: string): Uint8Array {
    try {
      return this.#sealing.open(new Uint8Array(sealed as ArrayBuffer), place);
    } catch {
      throw new CorruptState();
    }
  }
}

/**
 * The ranges that were written of the guest's memory, whose size in bytes this is. The memory itself may be larger: what was
 * written behind the guest's end is made zero again. Clears the marks.
 */
function writtenIn({ marks, memory }: InstanceViews, size: number): Range[] {
  // A body without marks has only the kernel's memory.
  if (marks === undefined) return [];
  const ranges: Range[] = [];
  for (const { from, to } of takeWritten(marks.memory, memory.length)) {
    if (to > size) memory.fill(0, Math.max(from, size), to);
    if (from < size) ranges.push({ from, to: Math.min(to, size) });
  }
  return ranges;
}
