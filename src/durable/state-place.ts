import { sealingWith } from "../files/sealing.ts";
import { limits } from "../limits.ts";
import type { Recorded } from "../record.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import { programOf } from "../servlets/connect.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { setupOf, type CallParts } from "../servlets/setup.ts";
import { newInstanceOf } from "../wasm/pool.ts";
import type { PlainEnding } from "./plain-ending.ts";
import type { RunContext } from "./remote-hooks.ts";
import { buildOf, ScopeState, unreadable } from "./scope-state.ts";
import { exportOf, summaryOf, type StateSummary } from "./state-export.ts";
import { importInto } from "./state-import.ts";
import { heldStream, steady } from "./state-streams.ts";
import { hasTable } from "./tables.ts";

/** A run of an export in the state of a scope. */
export interface PlaceRun {
  servlet: PreparedServlet;
  export: string;
  input: string;
  /** Its call, and the parts of it that the guest may use. */
  call: RunContext & CallParts;
  recorded: Recorded | undefined;
  seed: string | undefined;
  /** True if it may be run again from its record. */
  isDurable: boolean;
  /** Bytes of memory and files that may be stored, as far as is known. */
  room?: number;
  /** Called before a commit, with the bytes that will be stored. Throws where they may not be. */
  reserve(bytes: number): Promise<void>;
}

/** Where the state of a servlet in one scope is kept, and its guest runs. */
export interface StatePlace {
  call(run: PlaceRun): Promise<PlainEnding>;
  /** What is kept; `build` is that of the servlet (see `buildOf`) that would use it. */
  summary(build: string | undefined): Promise<StateSummary>;
  /** The whole as a file: see `src/state-file.ts`. */
  exported(servlet: string): Promise<Iterator<Uint8Array> | AsyncIterator<Uint8Array>>;
  /** Replaces what is kept by a file's content. */
  imported(
    servlet: PreparedServlet,
    filesOnly: boolean,
    file: ReadableStream<Uint8Array>,
    reserve: PlaceRun["reserve"],
  ): Promise<void>;
  /** Bytes of memory and files that are stored. */
  bytes(): Promise<number>;
  /** True if nothing was ever kept here, or all of it was deleted. */
  isEmpty(): boolean;
  delete(): void;
}

/**
 * Moves what is kept, when a servlet of the bundle has become an installed one or the other way round. Where its build
 * has changed with that, files alone, as always. It may be called again if it did not come to its end.
 */
export async function moveState(
  servlet: PreparedServlet,
  from: StatePlace,
  to: StatePlace,
): Promise<void> {
  const { name } = servlet;
  const { isOfThisBuild, isDamaged, ...kept } = await from.summary(buildOf(servlet));
  if (isDamaged) throw unreadable(name);
  if (kept.changed !== undefined || kept.fileBytes > 0) {
    const file = heldStream(await from.exported(name), limits.stateStallMs);
    // It is counted for its caller already.
    await to.imported(servlet, !isOfThisBuild, file, async () => {});
  }
  from.delete();
}

/** The state of a servlet of the bundle: in the database of its object. */
export class OwnPlace implements StatePlace {
  readonly #storage: DurableObjectStorage;
  readonly #key: Uint8Array;
  readonly #deployment: Deployment;
  #opened: ScopeState | undefined;

  /** Sealed with this key. */
  constructor(storage: DurableObjectStorage, key: Uint8Array, deployment: Deployment) {
    this.#storage = storage;
    this.#key = key;
    this.#deployment = deployment;
  }

  get #state(): ScopeState {
    return (this.#opened ??= new ScopeState(this.#storage, sealingWith(this.#key)));
  }

  call({ servlet, call, recorded, seed, ...run }: PlaceRun): Promise<PlainEnding> {
    return this.#state.call({
      ...run,
      servlet,
      program: programOf(servlet, this.#deployment),
      setup: {
        ...setupOf(servlet, this.#deployment, call),
        recorded,
        seed,
        keeper: call.keeper,
      },
    });
  }

  async summary(build: string | undefined): Promise<StateSummary> {
    return summaryOf(this.#state, build);
  }

  async exported(servlet: string): Promise<Iterator<Uint8Array>> {
    return exportOf(this.#state, servlet);
  }

  async imported(
    servlet: PreparedServlet,
    filesOnly: boolean,
    file: ReadableStream<Uint8Array>,
    reserve: PlaceRun["reserve"],
  ): Promise<void> {
    const newInstance = () => newInstanceOf(programOf(servlet, this.#deployment));
    const chunks = steady(file, limits.stateStallMs);
    await importInto(this.#state, chunks, { servlet, filesOnly, newInstance, reserve });
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
      state.rows.clear();
      state.files.deleteAll();
    });
  }

  /** Forgets what is known of the database. */
  drop(): void {
    this.#opened?.dropKept();
    this.#opened = undefined;
  }
}
