/** The memory, globals, variables and endings of a servlet in one scope, encrypted in an object's SQLite database. */
import {
  clearKernel,
  concatenate,
  currentBody,
  globalsText,
  sizeOf,
  type InstanceViews,
} from "../../kernel/wasm/image.ts";
import type { Instance } from "../../kernel/wasm/link.ts";
import { BLOCK, mark, takeWritten, type Range } from "../../kernel/wasm/marks.ts";
import { hexDigestNow } from "../../kernel/core/digest.ts";
import { limits } from "./limits.ts";
import { PART } from "../../kernel/core/parts.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import type { Notification } from "../../kernel/core/model.ts";
import { innerStateOf, type JournalEntry, type Recorded } from "../../kernel/core/record.ts";
import type { CommittedEnding } from "./changes.ts";
import type { KeptInstance } from "./kept-instances.ts";
import { applyRest, type Rest } from "./rest.ts";
import {
  type AfterPiece,
  forgetOldest,
  StateBlocks,
  STORED_BLOCK,
  type KnownBlocks,
  type Write,
  type Written,
} from "./state-blocks.ts";
import type { StateSealing } from "./state-sealing.ts";
import type { SqlRow, Sql } from "../../kernel/files/sql.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS ending_parts (seed TEXT, nth INTEGER, bytes BLOB NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (seed, nth))",
  "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), hash TEXT NOT NULL, bytes BLOB NOT NULL, changed INTEGER NOT NULL)",
];

/** Deletes old endings beyond a number and a sum of bytes; always keeps the last one. */
const DELETE_OLD_ENDINGS = `
DELETE FROM ending_parts WHERE seed IN (
  SELECT seed FROM (
    SELECT seed, row_number() OVER newest AS nth, sum(size) OVER newest AS total
    FROM (SELECT seed, max(rowid) AS last, sum(length(bytes)) AS size FROM ending_parts GROUP BY seed)
    WINDOW newest AS (ORDER BY last DESC)
  ) WHERE nth > 1 AND (nth > ? OR total > ?)
)`;

/** The outcome of a call. */
export interface CallOutcome {
  ending: CommittedEnding;
  /** The notifications of its last run, at most `limits.outputBytes`, after `after` notifications of earlier runs. */
  said: { after: number; notices: readonly Notification[] };
}

/** An ending with digests of the answers that the call had until then. */
interface StoredEnding extends CallOutcome {
  answers: string[];
  /** A digest of the inner calls' outcomes when its last run began; absent if there were none. */
  inner?: string;
}

/** The changes of a call, to be stored. */
export interface Changed {
  hash: string;
  /** True if this build has no state yet. */
  isNew: boolean;
  written: Written;
  /** The ranges of memory that may have been written. */
  ranges: readonly Range[];
  /** A `Rest` as JSON. */
  rest: string;
  /** Bytes of the whole state after these changes. */
  bytes: number;
  /** Bytes to reserve for it: the most it can take until a call writes other blocks. */
  room: number;
}

/** The parts of a record that identify a call. */
export type RecordedCall = Pick<Recorded, "entries" | "inner"> & {
  head: Pick<Recorded["head"], "seed">;
};

/** A digest of the inner calls' outcomes. */
const innerKey = ({ inner, entries }: RecordedCall): string | undefined =>
  inner?.at === entries.length ? hexDigestNow(innerStateOf({ inner })) : undefined;

const answerKey = ({ digest, answer }: JournalEntry): string => `${digest} ${hexDigestNow(answer)}`;

/** Thrown for stored state that cannot be decrypted: its key is gone, or it was altered. */
export class CorruptState extends Error {}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Loads the stored state into instances, and stores calls' changes. Caches what it has read. */
export class StateRows {
  readonly #sql: Sql;
  readonly #sealing: StateSealing;
  readonly #blocks: StateBlocks;
  /** The hash in the table `state`; undefined until it was read. */
  #known: { hash: string | undefined } | undefined;
  /** The stored state besides blocks, as JSON; undefined if not known. */
  #rest: string | undefined;

  constructor(sql: Sql, sealing: StateSealing) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.#blocks = new StateBlocks(sql, sealing, (sealed, place) => this.#open(sealed, place));
    this.create();
  }

  /** Creates the tables that are missing. */
  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
    this.#blocks.create();
    // Left by an interrupted import.
    this.#sql.exec("DROP TABLE IF EXISTS imported");
  }

  /** The hash of the state's build; undefined before the first call. */
  get hash(): string | undefined {
    this.#known ??= { hash: this.#row("SELECT hash FROM state")?.["hash"] as string | undefined };
    return this.#known.hash;
  }

  /** When it was last changed, in Unix ms; undefined before the first call. */
  get changedAt(): number | undefined {
    const row = this.#row("SELECT changed FROM state");
    return row && Math.max(Number(row["changed"]), this.#blocks.changedAt);
  }

  /** Bytes of the stored state. */
  get bytes(): number {
    const row = this.#row("SELECT length(bytes) AS bytes FROM state");
    return this.#blocks.bytes + Number(row?.["bytes"] ?? 0);
  }

  /**
   * Loads the stored state into a pristine instance of this build. Returns the variables and the blocks: the `known`
   * ones if given, otherwise those in the database. Does not load state of another build. Throws `CorruptState`.
   */
  async load(
    instance: Instance,
    hash: string,
    {
      known,
      afterPiece = async () => {},
    }: { known?: KnownBlocks | undefined; afterPiece?: AfterPiece } = {},
  ): Promise<Pick<KeptInstance, "vars" | "blocks">> {
    const rest = this.hash === hash ? await this.rest() : undefined;
    if (rest === undefined) return { vars: new Map(), blocks: new Map() };
    const vars = applyRest(instance, rest);
    const { memory } = currentBody(instance);
    const blocks: KnownBlocks = known ?? new Map();
    for (const [nth, bytes] of blocks) memory.set(bytes, nth * BLOCK);
    await afterPiece(blocks.size * BLOCK);
    if (known === undefined) {
      for await (const page of this.#blocks.pages()) {
        for (const [nth, bytes] of page) {
          memory.set(bytes, nth * BLOCK);
          blocks.set(nth, bytes);
        }
        forgetOldest(blocks);
        await afterPiece(page.length * BLOCK);
      }
    }
    instance.hasStarted = true;
    return { vars, blocks };
  }

  /**
   * The ending of this call if an earlier run has stored one with its changes: the task that asked for it may
   * have died before it received the ending. Undefined for another call, or the same call with other answers.
   */
  async ending(
    call: RecordedCall,
    afterPiece: AfterPiece = async () => {},
  ): Promise<CallOutcome | undefined> {
    const { head, entries } = call;
    const inner = innerKey(call);
    const runs = this.#sql
      .exec(
        "SELECT DISTINCT seed FROM ending_parts WHERE seed BETWEEN ? || ' ' AND ? || '!'",
        head.seed,
        head.seed,
      )
      .toArray();
    for (const { seed } of runs) {
      const run = String(seed);
      const rows = this.#sql
        .exec("SELECT bytes FROM ending_parts WHERE seed = ? ORDER BY nth", run)
        .toArray();
      const parts: Uint8Array[] = [];
      for (const [nth, { bytes }] of rows.entries()) {
        parts.push(await this.#open(bytes, `ending ${run} ${nth}`));
        await afterPiece(parts[nth]!.length);
      }
      const stored = JSON.parse(decoder.decode(concatenate(parts))) as StoredEnding;
      const isOther = inner !== undefined && inner !== stored.inner;
      if (!isOther && entries.every((entry, at) => answerKey(entry) === stored.answers[at]))
        return stored;
    }
    return undefined;
  }

  /**
   * Seals the ending of a repeatable call. Returns its writes for the transaction of the call's changes. `begun` is
   * the record that its last run continued from.
   */
  async sealEnding(
    { head, entries }: Recorded,
    { ending, said }: CallOutcome,
    {
      begun,
      afterPiece = async () => {},
    }: { begun?: Recorded | undefined; afterPiece?: AfterPiece } = {},
  ): Promise<Write[]> {
    // A guest may send more notifications than fit into memory at once.
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
    const writes: Write[] = [["DELETE FROM ending_parts WHERE until < ? OR seed = ?", now, run]];
    for (let nth = 0; nth * PART < bytes.length; nth++) {
      const part = bytes.subarray(nth * PART, (nth + 1) * PART);
      const sealed = await this.#sealing.seal(part, `ending ${run} ${nth}`);
      writes.push(["INSERT INTO ending_parts VALUES (?, ?, ?, ?)", run, nth, sealed, until]);
      await afterPiece(part.length);
    }
    writes.push([DELETE_OLD_ENDINGS, limits.endings, limits.endingBytes]);
    return writes;
  }

  clearEndings(): void {
    this.#sql.exec("DELETE FROM ending_parts");
  }

  /**
   * A call's changes, to be stored by `seal` and `save`, with the unstored changes `before`. Clears the marks of
   * written blocks.
   */
  changed(
    { instance, vars, blocks: known, used }: KeptInstance,
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

  /**
   * Seals changes, and returns the writes for `save`. Changes of another build's state replace it. If the writes fail, discard
   * this `StateRows` and make another.
   */
  async seal({ hash, isNew, written, rest }: Changed, afterPiece?: AfterPiece): Promise<Write[]> {
    const writes = isNew ? this.deletion() : [];
    writes.push(...(await this.#blocks.seal(written, afterPiece)));
    if (isNew || rest !== this.#rest) {
      writes.push(await this.#sealRest(hash, rest));
      await afterPiece?.(rest.length);
    }
    return writes;
  }

  /** Executes writes. Several of them need a transaction around this. */
  save(writes: readonly Write[]): void {
    for (const [statement, ...values] of writes) this.#sql.exec(statement, ...values);
  }

  /** Returns the writes that delete memory, globals and variables; see `seal`. Endings stay. */
  deletion(): Write[] {
    this.#known = { hash: undefined };
    this.#rest = undefined;
    return [...this.#blocks.deletion(), ["DELETE FROM state"]];
  }

  /** The stored globals, variables and size of the memory; undefined before the first call. Throws `CorruptState`. */
  async rest(): Promise<Rest | undefined> {
    const row = this.#row("SELECT bytes FROM state");
    if (row === undefined) return undefined;
    return JSON.parse(decoder.decode(await this.#open(row["bytes"], "rest"))) as Rest;
  }

  async #sealRest(hash: string, rest: string): Promise<Write> {
    const sealed = await this.#sealing.seal(encoder.encode(rest), "rest");
    this.#known = { hash };
    this.#rest = rest;
    return ["INSERT OR REPLACE INTO state VALUES (0, ?, ?, ?)", hash, sealed, Date.now()];
  }

  /** The blocks that differ from a pristine instance's (see `StateBlocks.pages`). Throws `CorruptState`. */
  pages() {
    return this.#blocks.pages();
  }

  /** True if these known blocks are all stored blocks. */
  areAll(known: KnownBlocks): boolean {
    return this.#blocks.areAll(known);
  }

  /** Collects memory that replaces the stored memory once the writes of `replacement` are saved. */
  newMemory() {
    let bytes = 0;
    this.#sql.exec("CREATE TABLE imported (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    return {
      get bytes() {
        return bytes;
      },
      put: async (nth: number, block: Uint8Array) => {
        bytes += STORED_BLOCK;
        const sealed = await this.#sealing.seal(block, `block ${nth}`);
        this.#sql.exec("INSERT OR REPLACE INTO imported VALUES (?, ?)", nth, sealed);
      },
      /** Returns the writes that replace the stored memory with the collected blocks. */
      replacement: async (hash: string, rest: Rest | undefined): Promise<Write[]> => {
        const writes = this.deletion();
        if (rest === undefined) return writes;
        writes.push(["INSERT INTO blocks SELECT nth, bytes FROM imported"]);
        writes.push(await this.#sealRest(hash, JSON.stringify(rest)));
        return writes;
      },
      drop: () => void this.#sql.exec("DROP TABLE IF EXISTS imported"),
    };
  }

  #row(query: string, ...bindings: (string | number)[]): SqlRow | undefined {
    return this.#sql.exec(query, ...bindings).toArray()[0];
  }

  /** Decrypts a blob: an ArrayBuffer in Durable Objects, a Uint8Array in Node. */
  async #open(sealed: unknown, place: string): Promise<Uint8Array> {
    try {
      return await this.#sealing.open(new Uint8Array(sealed as ArrayBuffer), place);
    } catch {
      throw new CorruptState();
    }
  }
}

/**
 * The written ranges of the guest's memory of `size` bytes. The memory itself may be larger: bytes
 * written beyond the guest's end are zeroed again. Clears the marks.
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
