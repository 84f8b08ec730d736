import type { Recorded } from "../../kernel/core/record.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { programOf } from "../../kernel/servlets/connect.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import { setupOf, type CallParts } from "../../kernel/servlets/setup.ts";
import { newInstanceOf } from "../../kernel/wasm/pool.ts";
import type { CommittedEnding } from "./changes.ts";
import type { RunContext } from "../../kernel/core/call-context.ts";
import { ScopeState, type ScopeRun } from "./scope-state.ts";
import { exportOf, summaryOf, type StateSummary } from "./state-export.ts";
import { importInto } from "./state-import.ts";
import { steady } from "./state-streams.ts";
import {
  putRows,
  rowsAt,
  type Position,
  type StoredRow,
  isAtEnd,
  positionAfter,
  FIRST_POSITION,
} from "../../kernel/storage/stored-rows.ts";
import { hasTable, firstRow } from "../../kernel/storage/tables.ts";

/** The backends of installed servlets' state, each beside the database of its object. */
export interface Facets {
  /** Opens the facet of this object, sealed with this key. */
  open(object: DurableObjectState, key: Uint8Array): StateBackend;
  delete(object: DurableObjectState): void;
}

/** A run of an export with the state of a scope. */
export interface BackendRun
  extends
    Pick<ScopeRun, "export" | "input" | "isDurable" | "isCancelled" | "room">,
    Required<Pick<ScopeRun, "reserve">> {
  servlet: PreparedServlet;
  /** The call, with the parts of it that the guest may use. */
  call: RunContext & CallParts;
  recorded: Recorded | undefined;
  seed: string | undefined;
  time: number | undefined;
}

/** Options of an import. */
export interface Imported {
  /** True for files alone, without the memory. */
  filesOnly: boolean;
  reserve: BackendRun["reserve"];
}

/** A database with the state of a servlet in one scope, in which its guest runs. */
export interface StateBackend {
  call(run: BackendRun): Promise<CommittedEnding>;
  /** Sizes and times of the state; `build` is that of the servlet (see `buildIdOf`) that would use it. */
  summary(build: string | undefined): Promise<StateSummary>;
  /** The state as a file: see `src/server/features/state/state-file.ts`. */
  exported(servlet: string): Promise<AsyncIterable<Uint8Array>>;
  /** Replaces the state by a file's content, durably. */
  imported(
    servlet: PreparedServlet,
    file: ReadableStream<Uint8Array>,
    how: Imported,
  ): Promise<void>;
  /** Some stored rows from a position on; empty at the end of its table. */
  rowsAt(at: Position): Promise<StoredRow[]>;
  /** Durably stores rows of another backend; after the last ones the state can be used. */
  putRows(servlet: PreparedServlet, at: Position, rows: StoredRow[]): Promise<void>;
  /** Bytes of stored memory and files. */
  bytes(): Promise<number>;
  /** True if nothing is stored here. */
  isEmpty(): boolean;
  delete(): void;
}

/** The state of a bundled servlet, in its object's database. */
export class OwnBackend implements StateBackend {
  readonly #storage: DurableObjectStorage;
  readonly #key: Uint8Array;
  readonly #deployment: Deployment;
  #opened: ScopeState | undefined;

  /** The state is sealed with `key`. */
  constructor(storage: DurableObjectStorage, key: Uint8Array, deployment: Deployment) {
    this.#storage = storage;
    this.#key = key;
    this.#deployment = deployment;
  }

  get #state(): ScopeState {
    return (this.#opened ??= new ScopeState(this.#storage, this.#key));
  }

  call({ servlet, call, recorded, seed, time, ...run }: BackendRun): Promise<CommittedEnding> {
    return this.#state.call({
      ...run,
      servlet,
      program: programOf(servlet, this.#deployment),
      setup: {
        ...setupOf(servlet, this.#deployment, call),
        recorded,
        seed,
        time,
        keeper: call.keeper,
      },
    });
  }

  async summary(build: string | undefined): Promise<StateSummary> {
    return summaryOf(this.#state, build);
  }

  async exported(servlet: string): Promise<AsyncIterable<Uint8Array>> {
    return exportOf(this.#state, servlet);
  }

  async imported(
    servlet: PreparedServlet,
    file: ReadableStream<Uint8Array>,
    how: Imported,
  ): Promise<void> {
    const newInstance = () => newInstanceOf(programOf(servlet, this.#deployment));
    const chunks = steady(file);
    await importInto(this.#state, chunks, { servlet, newInstance, ...how });
    await this.#storage.sync();
  }

  async rowsAt(at: Position): Promise<StoredRow[]> {
    return rowsAt(this.#storage.sql, at);
  }

  async putRows(_servlet: PreparedServlet, at: Position, rows: StoredRow[]): Promise<void> {
    // Creates the tables. The cached state must not be used after that.
    void this.#state;
    this.drop();
    putRows(this.#storage.sql, at, rows);
  }

  async bytes(): Promise<number> {
    return this.#state.bytes;
  }

  isEmpty(): boolean {
    if (!hasTable(this.#storage.sql, "state")) return true;
    return this.#state.rows.hash === undefined && !this.#state.files.hasAny();
  }

  delete(): void {
    const state = this.#state;
    this.drop();
    this.#storage.transactionSync(() => {
      state.rows.save(state.rows.deletion());
      state.rows.clearEndings();
      state.files.deleteAll();
    });
  }

  /** Drops everything cached from the database. */
  drop(): void {
    this.#opened?.dropKept();
    this.#opened = undefined;
  }
}

/** The object's own database, and its facet. */
type Kind = "own" | "facet";

/**
 * The backends of one scope; the current one has all of the state. When the servlet moves from the bundle to an
 * install or back, its rows are copied to the other backend, which then becomes the current one. An interrupted copy
 * starts again.
 */
export class StateBackends {
  readonly #storage: DurableObjectStorage;
  readonly #all: Record<Kind, StateBackend>;
  #kind: Kind;
  /** True if the other backend is empty. */
  #isAlone = false;

  constructor(storage: DurableObjectStorage, all: Record<Kind, StateBackend>) {
    this.#storage = storage;
    this.#all = all;
    this.#kind = storedKind(storage.sql);
  }

  get current(): StateBackend {
    return this.#all[this.#kind];
  }

  /** The backend in which this servlet runs; makes it the current one. */
  async for(servlet: PreparedServlet): Promise<StateBackend> {
    const wanted = servlet.module !== undefined ? "own" : "facet";
    if (this.#kind !== wanted) await this.#move(servlet, wanted);
    if (!this.#isAlone) this.#clear(wanted === "own" ? "facet" : "own");
    return this.current;
  }

  async #move(servlet: PreparedServlet, to: Kind): Promise<void> {
    const [source, target] = [this.current, this.#all[to]];
    if (!source.isEmpty()) {
      this.#clear(to);
      for (let at = FIRST_POSITION; !isAtEnd(at);) {
        const rows = await source.rowsAt(at);
        const next = positionAfter(at, rows);
        if (rows.length > 0) await target.putRows(servlet, at, rows);
        at = next;
      }
    }
    this.#storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS home (id INTEGER PRIMARY KEY, home TEXT NOT NULL)",
    );
    this.#storage.sql.exec("INSERT OR REPLACE INTO home VALUES (0, ?)", to);
    this.#kind = to;
    this.#isAlone = false;
    await this.#storage.sync();
  }

  /** Deletes the rows left by copying in a backend that is not the current one. */
  #clear(kind: Kind): void {
    if (!this.#all[kind].isEmpty()) this.#all[kind].delete();
    this.#isAlone = true;
  }
}

function storedKind(sql: SqlStorage): Kind {
  if (!hasTable(sql, "home")) return "own";
  return firstRow(sql.exec<{ home: Kind }>("SELECT home FROM home"))?.home ?? "own";
}
