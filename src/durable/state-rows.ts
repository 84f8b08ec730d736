/** What a servlet keeps from call to call in one scope, in an object's SQLite: sealed, and in blocks of its memory. */
import {
  bodyOf,
  clearKernel,
  currentBody,
  globalsFrom,
  globalsText,
  type Body,
} from "../wasm/image.ts";
import type { Instance } from "../wasm/link.ts";
import { BLOCK, takeWritten } from "../wasm/marks.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { limits } from "../limits.ts";
import type { Entry, Recorded } from "../record.ts";
import type { PlainEnding } from "./plain-ending.ts";
import type { Kept } from "./kept-instances.ts";
import { inPieces, piecesOf } from "./pieces.ts";
import type { Sealing } from "../files/sealing.ts";
import type { Row, Sql } from "../files/sql.ts";

const TABLES = [
  "CREATE TABLE IF NOT EXISTS blocks (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
  // What calls have changed of the blocks since, in pieces.
  "CREATE TABLE IF NOT EXISTS changes (nth INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
  "CREATE TABLE IF NOT EXISTS endings (seed TEXT PRIMARY KEY, bytes BLOB NOT NULL, until INTEGER NOT NULL)",
  "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), hash TEXT NOT NULL, bytes BLOB NOT NULL, changed INTEGER NOT NULL)",
];

/** What belongs to the instance besides its memory. */
export interface Rest {
  pages: number;
  globals: string[];
  /** Extism's variables, in base64. */
  vars: [name: string, value: string][];
}

/** How a call has ended, and the answers that it was given until then. */
interface Ended {
  answers: string[];
  ending: PlainEnding;
}

/** What an instance was put into. */
export type Loaded = Omit<Kept, "instance">;

/** What a call has changed, to be stored. */
export interface Changed {
  hash: string;
  /** True if there is no state of this build yet. */
  isNew: boolean;
  memory: Uint8Array;
  /** The blocks as they are stored: those that are written now are put there. */
  known: Map<number, Uint8Array>;
  /** What has changed of blocks that are stored; undefined if all that has ever changed is stored as wholes. */
  pieces: Uint8Array | undefined;
  /** The blocks that are stored as wholes, and all that will be stored. */
  blocks: ReadonlySet<number>;
  numbers: ReadonlySet<number>;
  rest: Uint8Array;
  /** Bytes of the whole state then. */
  bytes: number;
}

/** A block as it is stored: sealed, with its number. */
const STORED_BLOCK = BLOCK + 64;

/** Changes that are stored until their blocks are stored as wholes: so many calls share what that costs. */
const MOST_CHANGES = 64;
const MOST_CHANGED_BYTES = 256 * 1024;

const noChanges = () => ({ count: 0, bytes: 0, blocks: new Set<number>() });

const answerKey = ({ digest, answer }: Entry): string =>
  `${digest} ${bytesToHex(sha256(encoder.encode(answer)))}`;

/** Thrown for a state that cannot be opened: its key is gone, or it was altered. */
export class CorruptState extends Error {}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class StateRows {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  #known: ReadonlySet<number> | undefined;
  /** The changes that are stored; known once they were loaded. */
  #changes = noChanges();

  constructor(sql: Sql, sealing: Sealing) {
    this.#sql = sql;
    this.#sealing = sealing;
    this.create();
  }

  /** Makes the tables, where they are not there. */
  create(): void {
    for (const table of TABLES) this.#sql.exec(table);
    // Of an import that died.
    this.#sql.exec("DROP TABLE IF EXISTS imported");
  }

  /** The hash of the build that the state belongs to; undefined before the first call. */
  get hash(): string | undefined {
    return this.#row("SELECT hash FROM state")?.["hash"] as string | undefined;
  }

  /** When it was last changed, in Unix ms; undefined before the first call. */
  get changedAt(): number | undefined {
    return this.#row("SELECT changed FROM state")?.["changed"] as number | undefined;
  }

  /** Bytes that are stored of the state. */
  get bytes(): number {
    const row = this.#row("SELECT length(bytes) AS bytes FROM state");
    const changes = this.#row("SELECT total(length(bytes)) AS bytes FROM changes");
    const rest = Number(row?.["bytes"] ?? 0) + Number(changes?.["bytes"]);
    return this.#numbers.size * STORED_BLOCK + rest;
  }

  /**
   * Puts a pristine instance of this build into the state, and returns the variables, and the blocks as they are
   * stored. The state of another build is left alone. Throws `CorruptState`.
   */
  load(instance: Instance, hash: string): Loaded {
    const rest = this.hash === hash ? this.rest() : undefined;
    if (rest === undefined) return { vars: new Map(), blocks: new Map() };
    const { pages, globals, vars } = rest;
    const { exports } = instance;
    const size = exports["edge_pages"];
    if (size instanceof WebAssembly.Global && pages > (size.value as number)) {
      (exports["memory"] as WebAssembly.Memory).grow(pages - (size.value as number));
      size.value = pages;
    }
    const body = (instance.body = bodyOf(exports));

    const blocks = this.blocks();
    for (const [nth, bytes] of blocks) body.memory.set(bytes, nth * BLOCK);
    for (const [at, value] of globalsFrom(globals).entries()) body.globals[at]!.value = value;
    instance.hasStarted = true;
    return {
      vars: new Map(vars.map(([name, value]) => [name, Uint8Array.fromBase64(value)])),
      blocks,
    };
  }

  /**
   * The ending that a run of this call has had, and changed the state with: whoever asked for it may have died before
   * it heard of that. Undefined for another call, or for one that goes on from other answers.
   */
  ending({ head, entries }: Recorded): PlainEnding | undefined {
    const row = this.#row("SELECT bytes FROM endings WHERE seed = ?", head.seed);
    if (row === undefined) return undefined;
    const { answers, ending } = this.#json(row["bytes"], `ending ${head.seed}`) as Ended;
    return entries.every((entry, at) => answerKey(entry) === answers[at]) ? ending : undefined;
  }

  /** Stores the ending of a call that may be run again. Run it in the transaction of `save`. */
  saveEnding({ head, entries }: Recorded, ending: PlainEnding): void {
    const ended: Ended = { answers: entries.map(answerKey), ending };
    const about = `ending ${head.seed}`;
    const sealed = this.#sealing.seal(encoder.encode(JSON.stringify(ended)), about);
    const now = Date.now();
    this.#sql.exec("DELETE FROM endings WHERE until < ?", now);
    this.#sql.exec(
      "INSERT OR REPLACE INTO endings VALUES (?, ?, ?)",
      ...[head.seed, sealed, now + limits.taskMs],
    );
  }

  /** What a call has changed, to be stored. Clears its marks. */
  changed({ instance, vars, blocks: known }: Kept, hash: string): Changed {
    const body = currentBody(instance);
    const written = writtenBlocks(body);
    clearKernel(body);
    const rest: Rest = {
      pages: (body.pages?.value as number | undefined) ?? 0,
      globals: globalsText(body.globals.map(({ value }) => value as number | bigint)),
      vars: [...vars].map(([name, value]) => [name, value.toBase64()]),
    };
    const isNew = this.hash !== hash;
    const { memory } = body;
    const numbers = isNew ? written : this.#numbers.union(written);
    const found = piecesOf(memory, known, written);
    const { count, bytes: before, blocks: changed } = this.#changes;
    const isFull = count >= MOST_CHANGES || before + found.length > MOST_CHANGED_BYTES;
    const pieces = isFull ? undefined : found;
    const blocks = isFull ? written.union(changed) : written.difference(known);
    const restBytes = encoder.encode(JSON.stringify(rest));
    const bytes =
      numbers.size * STORED_BLOCK + (isFull ? 0 : before + found.length) + restBytes.length;
    return { hash, isNew, memory, known, pieces, blocks, numbers, rest: restBytes, bytes };
  }

  /** Stores it, instead of the state of another build. Run it in a transaction; if that fails, make another `StateRows`. */
  save({ hash, isNew, memory, known, pieces, blocks, numbers, rest }: Changed): void {
    if (isNew) this.clear();
    if (pieces === undefined) this.#forgetChanges();
    else if (pieces.length > 0) {
      const { count } = this.#changes;
      const sealed = this.#sealing.seal(pieces, `changes ${count}`);
      this.#sql.exec("INSERT INTO changes VALUES (?, ?)", count, sealed);
      this.#apply(pieces, known);
    }
    for (const nth of blocks) {
      const bytes = memory.slice(nth * BLOCK, (nth + 1) * BLOCK);
      this.putBlock(nth, bytes);
      known.set(nth, bytes);
    }
    this.#known = numbers;
    this.#putRest(hash, rest);
  }

  /** Forgets the memory. */
  clear(): void {
    this.#sql.exec("DELETE FROM blocks");
    this.#forgetChanges();
    this.#sql.exec("DELETE FROM state");
    this.#known = undefined;
  }

  /** What is stored besides blocks; undefined before the first call. Throws `CorruptState`. */
  rest(): Rest | undefined {
    const row = this.#row("SELECT bytes FROM state");
    return row && (this.#json(row["bytes"], "rest") as Rest);
  }

  putRest(hash: string, rest: Rest): void {
    this.#putRest(hash, encoder.encode(JSON.stringify(rest)));
  }

  #putRest(hash: string, rest: Uint8Array): void {
    const sealed = this.#sealing.seal(rest, "rest");
    this.#sql.exec("INSERT OR REPLACE INTO state VALUES (0, ?, ?, ?)", hash, sealed, Date.now());
  }

  /** The blocks of its memory that differ from a new one's, by number. Throws `CorruptState`. */
  blocks(): Map<number, Uint8Array> {
    const blocks = new Map<number, Uint8Array>();
    for (const { nth, bytes } of this.#sql.exec("SELECT nth, bytes FROM blocks")) {
      blocks.set(nth as number, this.#open(bytes, `block ${nth as number}`).slice());
    }
    this.#changes = noChanges();
    for (const { nth, bytes } of this.#sql.exec("SELECT nth, bytes FROM changes ORDER BY nth")) {
      this.#apply(this.#open(bytes, `changes ${nth as number}`), blocks);
    }
    return blocks;
  }

  /** Counts changes that are stored, and makes them in these blocks. */
  #apply(pieces: Uint8Array, blocks: ReadonlyMap<number, Uint8Array>): void {
    this.#changes.count++;
    this.#changes.bytes += pieces.length;
    for (const { at, bytes } of inPieces(pieces)) {
      const nth = Math.floor(at / BLOCK);
      blocks.get(nth)!.set(bytes, at % BLOCK);
      this.#changes.blocks.add(nth);
    }
  }

  #forgetChanges(): void {
    this.#sql.exec("DELETE FROM changes");
    this.#changes = noChanges();
  }

  putBlock(nth: number, bytes: Uint8Array): void {
    const sealed = this.#sealing.seal(bytes, `block ${nth}`);
    this.#sql.exec("INSERT OR REPLACE INTO blocks VALUES (?, ?)", nth, sealed);
  }

  /** The numbers of the blocks that are stored. */
  get #numbers(): ReadonlySet<number> {
    this.#known ??= new Set(
      this.#sql
        .exec("SELECT nth FROM blocks")
        .toArray()
        .map(({ nth }) => nth as number),
    );
    return this.#known;
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

  #row(query: string, ...bindings: string[]): Row | undefined {
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

/** The numbers of the blocks that were written, in order; clears their marks. */
function writtenBlocks({ marks, memory }: Body): Set<number> {
  const blocks = new Set<number>();
  if (marks === undefined) return blocks; // It has no memory but the kernel's.
  for (const { from, to } of takeWritten(marks.memory, memory.length)) {
    for (let nth = from / BLOCK; nth * BLOCK < to; nth++) blocks.add(nth);
  }
  return blocks;
}
