/** A servlet's state in one scope, in an object's SQLite: sealed, and in blocks of its memory. */
import { clearKernel, concatenate, currentBody, globalsText, type Body } from "../wasm/image.ts";
import type { Instance } from "../wasm/link.ts";
import { BLOCK, takeWritten, type Range } from "../wasm/marks.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { limits } from "../limits.ts";
import { PART } from "../parts.ts";
import { stringBytes } from "../text.ts";
import type { Entry, Recorded } from "../record.ts";
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
import type { Row, Sql } from "../files/sql.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS ending_parts (seed TEXT, nth INTEGER, bytes BLOB NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (seed, nth))",
  "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), hash TEXT NOT NULL, bytes BLOB NOT NULL, changed INTEGER NOT NULL)",
];

/** Deletes all endings but the newest, as many as their number and bytes allow, and always the last one. */
const OLDEST = `
DELETE FROM ending_parts WHERE seed IN (
  SELECT seed FROM (
    SELECT seed, row_number() OVER newest AS nth, sum(size) OVER newest AS total
    FROM (SELECT seed, max(rowid) AS last, sum(length(bytes)) AS size FROM ending_parts GROUP BY seed)
    WINDOW newest AS (ORDER BY last DESC)
  ) WHERE nth > 1 AND (nth > ? OR total > ?)
)`;

/** How a call has ended, and the answers that it was given until then. */
interface Ended {
  answers: string[];
  ending: PlainEnding;
}

/** State that was loaded into an instance. */
export type Loaded = Omit<Kept, "instance">;

/** The changes of a call, to be stored. */
export interface Changed {
  hash: string;
  /** True if there is no state of this build yet. */
  isNew: boolean;
  written: Written;
  /** As JSON. */
  rest: string;
  /** Bytes of the whole state then. */
  bytes: number;
}

const hashOf = (text: string): string => bytesToHex(sha256(encoder.encode(text)));

const answerKey = ({ digest, answer }: Entry): string => `${digest} ${hashOf(answer)}`;

/** Thrown for a state that cannot be opened: its key is gone, or it was altered. */
export class CorruptState extends Error {}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class StateRows {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  readonly #blocks: StateBlocks;
  /** Undefined where it is not known whether there is a row. */
  #known: { hash: string | undefined } | undefined;
  /** The stored state besides blocks, as JSON; undefined if not known. */
  #rest: string | undefined;

  constructor(sql: Sql, sealing: Sealing) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.#blocks = new StateBlocks(sql, sealing, (sealed, place) => this.#open(sealed, place));
    this.create();
  }

  /** Makes the tables, where they are not there. */
  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
    this.#blocks.create();
    // Of an import that died.
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
   * Puts a pristine instance of this build into the state, and returns the variables, and the blocks as they are
   * stored, where they are not `known`. The state of another build is left alone. Throws `CorruptState`.
   */
  load(instance: Instance, hash: string, known?: KnownBlocks): Loaded {
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
   * The ending that a run of this call has had, and changed the state with: whoever asked for it may have died before
   * it heard of that. Undefined for another call, or for one that goes on from other answers.
   */
  ending({ head, entries }: Recorded): PlainEnding | undefined {
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
      const { answers, ending } = JSON.parse(decoder.decode(concatenate(parts))) as Ended;
      if (entries.every((entry, at) => answerKey(entry) === answers[at])) return ending;
    }
    return undefined;
  }

  /** Stores the ending of a call that may be run again. Run it in the transaction of `save`. */
  saveEnding({ head, entries }: Recorded, ending: PlainEnding): void {
    const ended: Ended = { answers: entries.map(answerKey), ending };
    // A state that a client carries can be answered twice: runs with the same seed and other answers.
    const run = `${head.seed} ${hashOf(ended.answers.join(" "))}`;
    const bytes = encoder.encode(JSON.stringify(ended));
    const now = Date.now();
    const until = now + limits.taskMs;
    this.#sql.exec("DELETE FROM ending_parts WHERE until < ? OR seed = ?", now, run);
    for (let nth = 0; nth * PART < bytes.length; nth++) {
      const part = bytes.subarray(nth * PART, (nth + 1) * PART);
      const sealed = this.#sealing.seal(part, `ending ${run} ${nth}`);
      this.#sql.exec("INSERT INTO ending_parts VALUES (?, ?, ?, ?)", run, nth, sealed, until);
    }
    this.#sql.exec(OLDEST, limits.endings, limits.endingBytes);
  }

  clearEndings(): void {
    this.#sql.exec("DELETE FROM ending_parts");
  }

  /** The changes of a call, to be stored. Clears its marks. */
  changed({ instance, vars, blocks: known }: Kept, hash: string): Changed {
    const body = currentBody(instance);
    const written = writtenIn(body);
    clearKernel(body);
    const rest: Rest = {
      pages: (body.pages?.value as number | undefined) ?? 0,
      globals: globalsText(body.globals.map(({ value }) => value as number | bigint)),
      vars: [...vars].map(([name, value]) => [name, value.toBase64()]),
    };
    const isNew = this.hash !== hash;
    const restText = JSON.stringify(rest);
    const blocks = this.#blocks.written(body.memory, known, written, isNew);
    const bytes = blocks.bytes + stringBytes(restText);
    return { hash, isNew, written: blocks, rest: restText, bytes };
  }

  /** Stores it, instead of the state of another build. Run it in a transaction; if that fails, make another `StateRows`. */
  save({ hash, isNew, written, rest }: Changed): void {
    if (isNew) this.clear();
    this.#blocks.save(written);
    if (isNew || rest !== this.#rest) this.#putRest(hash, rest);
  }

  /** Forgets the memory. */
  clear(): void {
    this.#blocks.clear();
    this.#sql.exec("DELETE FROM state");
    this.#known = this.#rest = undefined;
  }

  /** The stored state besides blocks; undefined before the first call. Throws `CorruptState`. */
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

  /** The blocks of its memory that differ from a new one's, by number. Throws `CorruptState`. */
  blocks(): KnownBlocks {
    return this.#blocks.all();
  }

  /** Memory that is to replace this one: nothing of it is used before `replace`, which runs in a transaction. */
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

  #row(query: string, ...bindings: (string | number)[]): Row | undefined {
    return this.#sql.exec(query, ...bindings).toArray()[0];
  }

  #json(sealed: unknown, place: string): unknown {
    return JSON.parse(decoder.decode(this.#open(sealed, place)));
  }

  /** Durable Objects give blobs as buffers, Node as bytes. */
  #open(sealed: unknown, place: string): Uint8Array {
    try {
      return this.#sealing.open(new Uint8Array(sealed as ArrayBuffer), place);
    } catch {
      throw new CorruptState();
    }
  }
}

/** What was written, in order; clears its marks. */
const writtenIn = ({ marks, memory }: Body): Range[] =>
  // Without marks it has no memory but the kernel's.
  marks === undefined ? [] : takeWritten(marks.memory, memory.length);
