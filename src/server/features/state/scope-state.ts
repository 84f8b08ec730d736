import { Fault, logError } from "../../kernel/core/errors.ts";
import { filesIn } from "../../kernel/files/archive.ts";
import { FileSystemError } from "../../kernel/files/errors.ts";
import { FileStore } from "../../kernel/files/file-store.ts";
import type { Files } from "../../kernel/files/files.ts";
import { parseMounts } from "../../kernel/files/mounts.ts";
import { sealingWith } from "../../kernel/files/sealing.ts";
import type { Sql } from "../../kernel/files/sql.ts";
import { limits } from "./limits.ts";
import type { Notification } from "../../kernel/core/model.ts";
import { PART } from "../../kernel/core/parts.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { mebibytes, memoryBytes } from "../../kernel/core/text.ts";
import { mapValues } from "../../kernel/core/values.ts";
import { inSpan, type Span } from "../../kernel/observe/spans.ts";
import {
  callExport,
  collectGarbage,
  type Durability,
  type Ending,
  type Program,
  type Setup,
  type InstanceSource,
} from "../../kernel/wasm/call.ts";
import { GuestError, type Guest } from "../../kernel/wasm/guest.ts";
import type { Range } from "../../kernel/wasm/marks.ts";
import { processor } from "../../kernel/wasm/processor.ts";
import { charged, fuelOfWork } from "../../kernel/wasm/wasi-files.ts";
import type { Instance } from "../../kernel/wasm/link.ts";
import { borrow, drop, usedWhenPristine } from "../../kernel/wasm/pool.ts";
import { dropKept, keepInstance, takeKept, type KeptInstance } from "./kept-instances.ts";
import type { KnownBlocks, Write } from "./state-blocks.ts";
import { changeOf, withChanges, type ChangeNotification, type CommittedEnding } from "./changes.ts";
import {
  CorruptState,
  type CallOutcome,
  type RecordedCall,
  StateRows,
  type Changed,
} from "./state-rows.ts";
import { StateSealing } from "./state-sealing.ts";

/**
 * Bytes of the caller's room that files must leave for memory changed by the same call, or half
 * of the room if that is less.
 */
const MEMORY_ROOM_BYTES = 1024 * 1024;

/**
 * Fuel per byte of memory to decrypt and load it, to compare it if it may have changed, to encrypt it, and to write it:
 * proportional to the CPU time, as other prices are. All four, for the largest state, are a third of the default budget.
 */
const LOAD_FUEL = 4;
const COMPARE_FUEL = 1;
const SEAL_FUEL = 3;
const WRITE_FUEL = 5;

/** A database for this state alone, such as the storage of a Durable Object. */
export interface StateStorage {
  sql: Sql;
  transactionSync(change: () => void): void;
}

/** The parts of a servlet that its state depends on. */
export type StatefulServlet = Pick<PreparedServlet, "name" | "manifest" | "hash" | "files">;

/** A run of a servlet's export with its state. */
export interface ScopeRun {
  servlet: StatefulServlet;
  program: Program;
  export: string;
  input: string;
  setup: Setup & Durability;
  /** True if it may be run again from its record: its ending is stored with its changes. */
  isDurable: boolean;
  /** True if the result is known to be unwanted. If absent, the signal of `setup` decides. */
  isCancelled?(): boolean;
  /** Bytes of memory and files that may be stored, as an estimate: `reserve` decides. Without a limit if absent. */
  room?: number;
  /**
   * Called before a commit, with the bytes of memory and files that will be stored, and whether the call adds to the
   * files. Throws if they exceed a quota.
   */
  reserve?(bytes: number, addsFiles: boolean): Promise<void>;
}

/** A run, and its progress. */
interface Running extends ScopeRun {
  files: Files | undefined;
  /** Notifications that are sent once the call is committed. */
  changes: ChangeNotification[];
  /** The notifications sent by this run, after `after` notifications of earlier runs. */
  said: { after: number; notices: Notification[] };
  /** The stored blocks of its memory, and the blocks that a pristine instance uses. */
  memory: Pick<KeptInstance, "blocks" | "used">;
  /** Bytes of all files at its start. */
  fileBytes: number;
  isCommitted: boolean;
}

/**
 * The state of one servlet in one scope, as its last successful call left it: memory, globals, variables and files. The
 * caller runs one call at a time.
 */
export class ScopeState {
  readonly #storage: StateStorage;
  readonly #key: Uint8Array;
  rows!: StateRows;
  files!: FileStore;

  /** All contents are sealed under keys derived from `key`, of 32 bytes. */
  constructor(storage: StateStorage, key: Uint8Array) {
    this.#storage = storage;
    this.#key = key;
    this.#open();
  }

  /** Drops everything cached from the database. */
  #open(): void {
    const sealing = sealingWith(this.#key);
    this.rows = new StateRows(this.#storage.sql, new StateSealing(this.#key, sealing));
    this.files = new FileStore(this.#storage.sql, sealing);
  }

  /** Runs an export, and stores its changes before it returns the ending. */
  async call(run: ScopeRun): Promise<CommittedEnding> {
    const { servlet, program, setup } = run;
    const { recorded, seed } = setup;
    const after = recorded?.notices ?? 0;
    // An inner call gets its seed from the outer call, even if nothing of it was stored.
    const isMade = run.isDurable && seed !== undefined;
    const known = recorded ?? (isMade ? { head: { seed }, entries: [] } : undefined);
    const before = known && (await this.#endingOf(known, run));
    if (before !== undefined) {
      // The caller of the earlier run may have died before it sent them on.
      const { notices, after: first } = before.said;
      for (const notice of notices.slice(Math.max(0, after - first))) setup.notify(notice);
      return before.ending;
    }
    const { hash } = this.rows;
    if (hash !== undefined && hash !== buildIdOf(servlet)) {
      console.warn(`[${servlet.name}] Its build has changed: its memory starts empty.`);
      this.dropKept();
    }
    const files = this.#filesOf(run);
    const running: Running = {
      ...run,
      files,
      changes: [],
      said: { after, notices: [] },
      isCommitted: false,
      memory: { blocks: new Map(), used: new Uint8Array() },
      fileBytes: files?.bytes ?? 0,
    };
    const ending = await callExport(
      program,
      run.export,
      run.input,
      {
        ...setup,
        notify(notice) {
          if (run.isDurable) running.said.notices.push(notice);
          setup.notify(notice);
        },
        changed: (notice: Notification) => void running.changes.push(changeOf(notice)),
        ...(files && { files }),
      },
      this.#source(running),
    );
    return running.isCommitted ? withChanges(ending, running.changes) : ending;
  }

  /** The folders of a run; undefined if its servlet has none. Throws as `filesFor`. */
  #filesOf({ servlet, setup, room }: ScopeRun): Files | undefined {
    const files = this.filesFor(servlet, setup.world.now(), room);
    // Initial files are the operator's, so they cost no fuel.
    if (files !== undefined) processor.spend(setup.caller, fuelOfWork(files.work));
    return files;
  }

  /** The stored ending of a call. Throws `unavailable` if it cannot be read. */
  async #endingOf(
    call: RecordedCall,
    { servlet, setup }: ScopeRun,
  ): Promise<CallOutcome | undefined> {
    const { caller } = setup;
    try {
      return await this.rows.ending(call, async (bytes) => {
        processor.spend(caller, bytes * LOAD_FUEL);
        await processor.turn(caller, true);
      });
    } catch (error) {
      throw faultOf(error, servlet);
    }
  }

  /**
   * The folders of a servlet at `now` (Unix ms); undefined if it has none. The caller commits or drops their changes.
   * Files and memory together may take `room` bytes. Throws `unavailable` if the initial files cannot be read or stored,
   * `servlet_failed` if they exceed `room`.
   */
  filesFor(servlet: StatefulServlet, now: number, room = Infinity): Files | undefined {
    const { manifest, files = {} } = servlet;
    const mounts = parseMounts(manifest.allowed_paths ?? []);
    if (mounts.length === 0) return undefined;
    const initial = mapValues(files, ({ digest, archive }) => ({
      digest,
      files: () => filesIn(archive),
    }));
    const filesLimit = memoryBytes(manifest.files_limit ?? "") ?? limits.fileBytes;
    const left = Math.max(0, room - this.rows.bytes);
    const filesRoom = left - Math.min(left / 2, MEMORY_ROOM_BYTES);
    try {
      return this.files.begin(mounts, {
        now: BigInt(Math.round(now)) * 1_000_000n,
        initial,
        continues: this.rows.hash === buildIdOf(servlet),
        most: filesLimit,
        room: filesRoom,
      });
    } catch (error) {
      if (!(error instanceof FileSystemError)) throw error;
      if (error.code === "io") throw unreadable(servlet.name);
      const isFull = error.code === "nospc";
      if (isFull && filesRoom < filesLimit) throw noRoom();
      const why = isFull ? "they do not fit into its files_limit" : error.message;
      throw new Fault(
        "unavailable",
        `The files that this servlet begins with cannot be stored: ${why}. Its operator can raise "files_limit" in servlet.json, or delete the state: npm run servlets -- state delete ${servlet.name}`,
      );
    }
  }

  /** Bytes of stored memory and files. */
  get bytes(): number {
    return this.rows.bytes + this.files.bytes;
  }

  /** Drops the cached instance, so that the next call loads the stored state. */
  dropKept(): void {
    dropKept(this);
  }

  /**
   * Seals changes, and writes them with the changes of files in one transaction. On failure, drops the cache of
   * the database, since the cache may be ahead of it.
   */
  async store(seal: () => Promise<readonly Write[]>, commitFiles?: () => void): Promise<void> {
    try {
      const writes = await seal();
      const save = () => this.rows.save(writes);
      // A single statement is a transaction by itself.
      if (commitFiles === undefined && writes.length <= 1) return save();
      this.#storage.transactionSync(() => {
        commitFiles?.();
        save();
      });
    } catch (error) {
      this.dropKept();
      this.#open();
      throw error;
    }
  }

  /** A new instance with the stored state. The guest pays for loading it; known blocks are not read. */
  async #load(
    guest: Guest,
    { program, servlet, setup }: Running,
    known: KnownBlocks | undefined,
  ): Promise<KeptInstance> {
    const isKept = this.rows.bytes <= limits.idleBytes;
    let instance = await borrow(program, guest, isKept);
    while (instance === undefined) instance = await borrow(program, guest, isKept);
    const used = usedWhenPristine(program, instance);
    guest.attach(instance.exports, setup);
    const afterPiece = (bytes: number) => guest.work(bytes * LOAD_FUEL);
    try {
      const loaded = await this.rows.load(instance, buildIdOf(servlet), { known, afterPiece });
      return { instance, used, ...loaded };
    } catch (error) {
      drop(instance);
      throw error;
    }
  }

  /** A source of instances: `take` returns one with the stored state, and `giveBack` stores the call's changes. */
  #source(running: Running): InstanceSource {
    const { isDurable, servlet } = running;
    return {
      renewed: () => {
        running.changes.length = 0;
        running.files = this.#filesOf(running);
        return running.files ? { files: running.files } : {};
      },
      take: async (_program, guest) => {
        // Its ending is stored under its seed, so the journal must have the seed first.
        if (isDurable) await guest.journal.begin();
        await guest.turn();
        const kept = takeKept(this);
        const { instance, vars, ...memory } = kept.instance
          ? kept
          : await this.#load(guest, running, kept.blocks).catch((error: unknown) => {
              throw faultOf(error, servlet);
            });
        running.memory = memory;
        instance.guest = guest;
        for (const [variable, value] of vars) guest.setVariable(variable, value);
        return instance;
      },
      giveBack: async (_program, instance, ending) => {
        const { guest } = instance;
        const { files } = running;
        // If the call failed or discards its changes, they are lost together with its instance.
        const isKept = ending !== undefined && ending.kind !== "suspended";
        if (!isKept || guest === undefined || guest.leaves === "nothing") {
          drop(instance);
          return files?.drop();
        }
        try {
          const { trace } = running.setup;
          const start = () => ({
            name: `commit ${servlet.name}`,
            attributes: { "edge_servlets.servlet": servlet.name },
          });
          await inSpan(trace, start, (span) => this.#commit(running, { instance, ending, span }));
        } catch (error) {
          drop(instance);
          files?.drop();
          throw faultOf(error, servlet);
        }
        instance.guest = undefined;
      },
    };
  }

  /** Stores a call's changes in one transaction. Throws, changing nothing, if too large or cancelled. */
  async #commit(
    running: Running,
    {
      instance,
      ending,
      span,
    }: { instance: Instance; ending: Exclude<Ending, { kind: "suspended" }>; span: Span },
  ): Promise<void> {
    const { files, setup, changes, said, memory, isDurable } = running;
    const guest = instance.guest!;
    const kept = { instance, vars: guest.vars, ...memory };
    // Undefined if the next call starts with empty memory.
    const change = guest.leaves === "changes" ? await this.#changed(kept, running) : undefined;
    const bytes = change?.bytes ?? 0;
    if (bytes > limits.stateBytes) throw tooLarge(bytes);
    span.set({ "edge_servlets.state_bytes": bytes, "edge_servlets.file_bytes": files?.bytes });
    const fileBytes = files?.bytes ?? 0;
    await running.reserve?.((change?.room ?? 0) + fileBytes, fileBytes > running.fileBytes);
    const how = { keepsOpen: change !== undefined };
    const afterPiece = (sealed: number) => guest.work(sealed * SEAL_FUEL);
    const seal = async () => {
      const writes = change ? await this.rows.seal(change, afterPiece) : this.rows.deletion();
      if (files) charged(guest, files, () => files.seal(how));
      ending.fuelUsed = guest.fuelMeter!.used;
      if (isDurable) {
        const ended = { ending: withChanges(ending, changes), said };
        const { recorded: begun } = setup;
        const record = guest.journal.recorded();
        writes.push(...(await this.rows.sealEnding(record, ended, { begun, afterPiece })));
      }
      // The transaction cannot be interrupted, so other guests have their turn before it.
      guest.pay((bytesIn(writes) + (files?.bytesToWrite ?? 0)) * WRITE_FUEL);
      await guest.turn();
      ending.fuelUsed = guest.fuelMeter!.used;
      if (running.isCancelled?.() ?? setup.signal().aborted)
        throw new Fault("cancelled", "The call was cancelled.");
      return writes;
    };
    await this.store(seal, files && (() => files.commit(how)));
    guest.count();
    running.isCommitted = true;
    if (change === undefined) return drop(instance);
    instance.hasStarted = true;
    const hasAllBlocks = this.rows.areAll(kept.blocks);
    keepInstance(this, { ...kept, program: running.program, hasAllBlocks });
  }

  /** A call's changes in its memory. Collects garbage first if they would take much more room. */
  async #changed(kept: KeptInstance, { servlet, files, fileBytes }: Running): Promise<Changed> {
    const build = buildIdOf(servlet);
    const guest = kept.instance.guest!;
    const compared = async (before?: readonly Range[]) => {
      await guest.turn();
      const change = this.rows.changed(kept, build, before);
      const bytes = change.ranges.reduce((sum, { from, to }) => sum + to - from, 0);
      await guest.work(bytes * COMPARE_FUEL);
      return change;
    };
    const change = await compared();
    const { room, roomBefore } = change.written;
    // Storage is reserved in parts.
    const parts = Math.ceil((room + (files?.bytes ?? 0)) / PART);
    const partsBefore = Math.max(1, Math.ceil((roomBefore + fileBytes) / PART));
    if (room - roomBefore <= PART / 2 && parts <= partsBefore) return change;
    await guest.turn();
    const isCollected = await collectGarbage(kept.instance).catch((error: unknown) => {
      logError(error);
      throw new Fault(
        "servlet_failed",
        `The state of this servlet cannot be stored: collecting its garbage takes too long. ${NOT_STORED} Delete something that it keeps, or reset its state.`,
      );
    });
    return isCollected ? compared(change.ranges) : change;
  }
}

/** Bytes of all values in these writes. */
const bytesIn = (writes: readonly Write[]): number =>
  writes
    .flat()
    .reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.length : 0), 0);

/** The fault of a call whose state cannot be loaded or stored. */
function faultOf(error: unknown, { name }: StatefulServlet): unknown {
  if (error instanceof CorruptState) return unreadable(name);
  if (!(error instanceof GuestError)) return error;
  return new Fault(
    "servlet_failed",
    `${error.message} Loading and storing its state counts as computing, too. ${NOT_STORED}`,
  );
}

/** Identifies a build: memory can only be used with the same code and folders, since files in them can be open. */
export const buildIdOf = ({
  hash,
  manifest: { allowed_paths: paths = [] },
}: Pick<StatefulServlet, "hash" | "manifest">): string => [hash, ...paths].join(" ");

/** Message part for a call whose state cannot be stored. Its servlet has ended, and may have sent requests. */
const NOT_STORED =
  "The state is as it was before the call; what the call has sent elsewhere is not undone.";

const tooLarge = (bytes: number) =>
  new Fault(
    "servlet_failed",
    `The state of this servlet would take ${mebibytes(bytes)} (limit ${mebibytes(limits.stateBytes)}). ${NOT_STORED} Delete something that it keeps, or reset its state.`,
  );

/** The fault of a call that would exceed its caller's storage. */
export const noRoom = () =>
  new Fault(
    "servlet_failed",
    `The servlets would keep too much for this caller (limit ${mebibytes(limits.callerStateBytes)} for memory and files of all of them together). ${NOT_STORED} Delete something first.`,
  );

/** The fault of a call whose stored state cannot be decrypted. */
export const unreadable = (servlet: string) =>
  new Fault(
    "unavailable",
    `The stored state of this servlet can no longer be read: the key that sealed it is gone, or it was altered. The server's operator can delete it: npm run servlets -- state delete ${servlet}`,
  );
