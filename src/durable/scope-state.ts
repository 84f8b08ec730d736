import { Fault } from "../errors.ts";
import { filesIn } from "../files/archive.ts";
import { FileStore } from "../files/file-store.ts";
import type { Files } from "../files/files.ts";
import { parseMounts } from "../files/mounts.ts";
import type { Sealing } from "../files/sealing.ts";
import type { Sql } from "../files/sql.ts";
import type { Recorded } from "../record.ts";
import type { BundledServlet } from "../servlets/bundle.ts";
import {
  callExport,
  type Durability,
  type Ending,
  type Program,
  type Setup,
  type Source,
} from "../wasm/call.ts";
import type { Guest } from "../wasm/guest.ts";
import { makeInstance } from "../wasm/pool.ts";
import { keepInstance, takeKept, type Kept } from "./kept-instances.ts";
import { plainEnding, type PlainEnding } from "./plain-ending.ts";
import { CorruptState, StateRows } from "./state-rows.ts";

/** A database of its own: the storage of a Durable Object is one. */
export interface StateStorage {
  sql: Sql;
  transactionSync(change: () => void): void;
}

/** How a call of a servlet is run in its state. */
export interface ScopeRun {
  export: string;
  input: string;
  program: Program;
  setup: Setup & Durability;
  /** True if it may be run again from its record: its ending is stored with what it has changed. */
  isDurable: boolean;
  /** Called in the transaction in which the call is committed. */
  onCommit?(): void;
}

/**
 * What one servlet keeps in one scope: its memory, globals and variables, and its files, as its last
 * successful call left them. One call at a time.
 */
export class ScopeState {
  readonly rows: StateRows;
  readonly files: FileStore;
  readonly #storage: StateStorage;

  constructor(storage: StateStorage, sealing: Sealing) {
    this.#storage = storage;
    this.rows = new StateRows(storage.sql, sealing);
    this.files = new FileStore(storage.sql, sealing);
  }

  /** See `StateRows.ending`. */
  ending(recorded: Recorded): PlainEnding | undefined {
    return this.rows.ending(recorded);
  }

  /** Runs an export, and stores what it has changed before its ending is returned. */
  async call(servlet: BundledServlet, run: ScopeRun): Promise<Ending> {
    this.#checkBuild(servlet);
    const files = this.filesFor(servlet, run.setup.world.now());
    const setup = { ...run.setup, ...(files && { files }) };
    return callExport(run.program, run.export, run.input, setup, this.#source(servlet, run, files));
  }

  /** Begins anew where the memory is of another build. */
  #checkBuild({ name, hash }: BundledServlet): void {
    if (this.rows.hash === undefined || this.rows.hash === hash) return;
    console.warn(`[${name}] Its build has changed: its memory begins anew.`);
    this.rows.clear();
    takeKept(this);
  }

  /** The folders of a servlet for one call at a time in ms; undefined if it has none. Who asks commits or drops them. */
  filesFor({ manifest, files = {} }: BundledServlet, now: number): Files | undefined {
    const mounts = parseMounts(manifest.allowed_paths ?? []);
    if (mounts.length === 0) return undefined;
    const initial = Object.fromEntries(
      Object.entries(files).map(([host, { digest, archive }]) => [
        host,
        { digest, files: () => filesIn(archive) },
      ]),
    );
    return this.files.begin(mounts, {
      now: BigInt(Math.round(now)) * 1_000_000n,
      initial,
      continues: this.rows.hash !== undefined,
    });
  }

  /** Forgets the instance that is kept for the next call: what is stored has been changed. */
  dropKept(): void {
    takeKept(this);
  }

  transaction(change: () => void): void {
    this.#storage.transactionSync(change);
  }

  /** A new instance in the stored state. */
  async #load(program: Program, guest: Guest, name: string): Promise<Kept> {
    const instance = await makeInstance(program, guest);
    try {
      return { instance, vars: this.rows.load(instance) };
    } catch (error) {
      if (error instanceof CorruptState) throw new Fault("unavailable", corruptMessage(name));
      throw error;
    }
  }

  /** Takes instances in the stored state, and stores the state that they are given back in. */
  #source(
    { name, hash }: BundledServlet,
    { isDurable, onCommit }: ScopeRun,
    files: Files | undefined,
  ): Source {
    return {
      take: async (program, guest) => {
        // Its ending is found by its seed, which must be known before.
        if (isDurable) await guest.journal.begin();
        const { instance, vars } = takeKept(this) ?? (await this.#load(program, guest, name));
        instance.guest = guest;
        for (const [variable, value] of vars) guest.setVariable(variable, value);
        return instance;
      },
      giveBack: (_program, instance, ending) => {
        const { guest } = instance;
        // What a call has changed that failed, or wants it so, is dropped with its instance.
        if (ending === undefined || guest === undefined || guest.leaves === "nothing") {
          files?.drop();
          return;
        }
        const { vars, journal } = guest;
        const isReset = guest.leaves === "new state";
        this.transaction(() => {
          files?.commit({ keepsOpen: !isReset });
          if (isReset) this.rows.clear();
          else this.rows.save(instance, vars, hash);
          if (isDurable) this.rows.saveEnding(journal.recorded(), plainEnding(ending));
          onCommit?.();
        });
        if (isReset) return;
        instance.guest = undefined;
        instance.hasStarted = true;
        keepInstance(this, { instance, vars });
      },
    };
  }
}

/** What the caller of a servlet is told whose state cannot be opened. */
const corruptMessage = (servlet: string): string =>
  `The stored state of this servlet can no longer be read: the key that sealed it is gone, or it was altered. Its operator can delete it: npm run servlets -- state delete ${servlet}`;
