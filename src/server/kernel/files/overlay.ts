import { limits } from "./limits.ts";
import { Blocks } from "./blocks.ts";
import { Entries } from "./entries.ts";
import { nodeCodec, totalsCodec, type FileNode, type Totals } from "./records.ts";
import type { Sealing } from "./sealing.ts";
import type { Sql } from "./sql.ts";
import { Table, type Backing } from "./table.ts";

const NAMES = ["nodes", "entries", "blocks", "totals"];

/**
 * The files as one call has read and changed them: in memory, and beyond `limits.fileOverlayBytes` in staging tables.
 */
export class Overlay implements Backing {
  readonly sql: Sql;
  readonly sealing: Sealing;
  readonly work = { steps: 0, lookUps: 0, bytes: 0 };
  undo: (() => void)[] | undefined;
  readonly nodes: Table<number, FileNode>;
  readonly entries: Entries;
  readonly blocks: Blocks;
  readonly totals: Table<number, Totals>;

  constructor(sql: Sql, sealing: Sealing) {
    this.sql = sql;
    this.sealing = sealing;
    this.nodes = new Table("file_nodes", nodeCodec, this);
    this.entries = new Entries(this);
    this.blocks = new Blocks(this);
    this.totals = new Table("file_totals", totalsCodec, this);
  }

  /** Creates missing tables. */
  static prepare(sql: Sql): void {
    Table.create(sql, "file_nodes", "INTEGER");
    Table.create(sql, "file_entries", "TEXT");
    Table.create(sql, "file_blocks", "INTEGER");
    Table.create(sql, "file_totals", "INTEGER");
  }

  /** Deletes the staged rows of a call that died, or whose commit failed. */
  static deleteStaged(sql: Sql): void {
    for (const name of NAMES) sql.exec(`DELETE FROM file_${name}_staged`);
  }

  /** True if anything is stored. */
  static hasAny(sql: Sql): boolean {
    return sql.exec("SELECT 1 FROM file_totals").toArray().length > 0;
  }

  /** Deletes everything. */
  static deleteAll(sql: Sql): void {
    for (const name of NAMES) sql.exec(`DELETE FROM file_${name}`);
    Overlay.deleteStaged(sql);
  }

  get #tables() {
    return [this.blocks, this.entries, this.nodes, this.totals];
  }

  get memoryBytes(): number {
    return this.#tables.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  }

  get bytesToWrite(): number {
    return this.#tables.reduce((sum, { bytesToWrite }) => sum + bytesToWrite, 0);
  }

  get isChanged(): boolean {
    return this.#tables.some(({ isChanged }) => isChanged);
  }

  /**
   * Runs an operation atomically: if it throws, no row has changed. Its rows stay in memory meanwhile, so there must be
   * only a few. Its truncations are applied last.
   */
  whole<T>(work: () => T): T {
    this.makeRoom();
    const undo: (() => void)[] = (this.undo = []);
    try {
      const result = work();
      this.blocks.cutMarked();
      return result;
    } catch (error) {
      for (const takeBack of undo.toReversed()) takeBack();
      throw error;
    } finally {
      this.undo = undefined;
      this.blocks.unmark();
    }
  }

  makeRoom(): void {
    if (this.undo !== undefined) return;
    this.blocks.limitCuts();
    let excess = this.memoryBytes - limits.fileOverlayBytes;
    if (excess <= 0) return;
    // Half of the limit, so that not every further row makes room again.
    excess += limits.fileOverlayBytes / 2;
    for (const table of this.#tables) {
      const before = table.memoryBytes;
      if (excess > 0) table.shrinkTo(Math.max(0, before - excess));
      excess -= before - table.memoryBytes;
    }
  }

  seal(): void {
    for (const table of this.#tables) table.seal();
  }

  commit(): void {
    for (const table of this.#tables) table.commit();
  }

  drop(): void {
    for (const table of this.#tables) table.drop();
  }
}
