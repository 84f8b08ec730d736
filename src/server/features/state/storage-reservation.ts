import { isRecent } from "../../kernel/core/recent.ts";
import { countedBy, type QuotaKey } from "../../kernel/core/callers.ts";
import { limits } from "./limits.ts";
import { PART } from "../../kernel/core/parts.ts";
import { MOST_LENT, type QuotaEnv } from "../../kernel/auth/quota.ts";
import { noRoom } from "./scope-state.ts";
import { hasTable } from "../../kernel/storage/tables.ts";

/** How long an object caches the number of bytes that its caller may store. */
const ROOM_MS = 10_000;

interface Row {
  /** Absent before the first reservation. */
  caller?: string;
  bytes: number;
}

/**
 * The bytes that a state object may store for its caller. They are reserved before they are stored, and
 * released after they were deleted, in whole MiB: never fewer bytes are counted than stored.
 */
export class StorageReservation {
  readonly #sql: SqlStorage;
  readonly #object: string;
  readonly #quotas: QuotaEnv["QUOTAS"];

  #known: Row | undefined;
  /** Reserved bytes that are taken from the reserve; undefined if not known. */
  #lent: number | undefined;
  #available: { bytes: number; at: number } | undefined;
  /** The last release, which must finish before the next reservation. */
  #shrinking: Promise<unknown> = Promise.resolve();

  constructor({ id, storage }: DurableObjectState, { QUOTAS }: QuotaEnv) {
    this.#sql = storage.sql;
    this.#object = String(id);
    this.#quotas = QUOTAS;
  }

  /** Reserved bytes. */
  get bytes(): number {
    return this.#row.bytes;
  }

  /**
   * Estimate of the bytes that may be stored here in all: bytes stored by others for the caller in the last
   * `ROOM_MS` may not be counted yet. `demand` decides.
   */
  async available(caller: string | undefined): Promise<number> {
    if (caller === undefined || this.#quotas === undefined) return Infinity;
    const known = this.#available;
    if (known !== undefined && isRecent(known.at, ROOM_MS)) return known.bytes;
    await this.#shrinking;
    const each = countedBy(caller).map(async ({ key, shares }) =>
      this.#quotas!.getByName(key).available(this.#object, limits.callerStateBytes * shares),
    );
    const bytes = Math.min(...(await Promise.all(each)));
    this.#available = { bytes, at: Date.now() };
    return bytes;
  }

  /**
   * Reserves this many bytes in all. Throws `servlet_failed` if the caller has too few left: a call that does not
   * add to files may use some of the reserve.
   */
  async demand(caller: string | undefined, bytes: number, addsFiles: boolean): Promise<void> {
    if (caller === undefined || this.#quotas === undefined) return;
    if (bytes <= this.bytes - (addsFiles ? (this.#lent ?? MOST_LENT) : 0)) return;
    await this.#shrinking;
    const before = this.bytes;
    const wanted = Math.max(before, Math.ceil(bytes / PART) * PART);
    const counted = countedBy(caller);
    // Saved first, so that an object that dies meanwhile can release its bytes.
    if (this.#row.caller === undefined) this.#save(caller, before);
    let lent = 0;
    for (const [at, one] of counted.entries()) {
      const lentByOne = await this.#hold(one, wanted, !addsFiles);
      if (lentByOne === undefined) {
        await Promise.all(counted.slice(0, at).map((other) => this.#hold(other, before)));
        throw noRoom();
      }
      lent = Math.max(lent, lentByOne);
    }
    this.#lent = lent;
    if (wanted > before) this.#save(caller, wanted);
  }

  /** True if much of the reservation is not needed for this many bytes. */
  isTooLargeFor(bytes: number): boolean {
    return keptFor(bytes) < this.bytes;
  }

  /** Releases what is not needed for this many bytes. The count follows; if that fails, an audit corrects it. */
  async shrink(bytes: number): Promise<void> {
    const { caller } = this.#row;
    if (caller === undefined || !this.isTooLargeFor(bytes)) return;
    this.#save(caller, keptFor(bytes));
    const holds = countedBy(caller).map((one) => this.#hold(one, keptFor(bytes)));
    this.#shrinking = Promise.allSettled(holds);
    await Promise.all(holds);
  }

  /** Releases everything when `work` has deleted the state. */
  async release(work: () => Promise<void>): Promise<void> {
    const { caller } = this.#row;
    await this.#shrinking;
    await work();
    this.#known = this.#lent = undefined;
    if (caller !== undefined) await Promise.all(countedBy(caller).map((one) => this.#hold(one, 0)));
  }

  /** Returns the bytes taken from the reserve; undefined if there is no room, never when releasing. */
  async #hold(
    { key, shares }: QuotaKey,
    bytes: number,
    mayBorrow = true,
  ): Promise<number | undefined> {
    // The binding may have been removed since.
    if (this.#quotas === undefined) return 0;
    return this.#quotas.getByName(key).hold(this.#object, bytes, {
      most: limits.callerStateBytes * shares,
      reserve: mayBorrow ? limits.callerReserveBytes * shares : 0,
    });
  }

  get #row(): Row {
    if (this.#known !== undefined) return this.#known;
    const [row = { bytes: 0 }] = hasTable(this.#sql, "room")
      ? this.#sql
          .exec<Required<Row> & Record<string, SqlStorageValue>>("SELECT caller, bytes FROM room")
          .toArray()
      : [];
    return (this.#known = row);
  }

  #save(caller: string, bytes: number): void {
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS room (id INTEGER PRIMARY KEY CHECK (id = 0), caller TEXT NOT NULL, bytes INTEGER NOT NULL)",
    );
    this.#sql.exec("INSERT OR REPLACE INTO room VALUES (0, ?, ?)", caller, bytes);
    this.#known = { caller, bytes };
  }
}

/** Leaves a little more than needed, so that not each call must reserve. */
const keptFor = (bytes: number): number => (bytes === 0 ? 0 : Math.ceil(bytes / PART + 1) * PART);
