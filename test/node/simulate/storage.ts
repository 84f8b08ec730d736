import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Actor, Scheduler } from "./scheduler.ts";

/** Writes that are durable together, or not at all. */
interface Batch {
  number: number;
  /** The alarm after it. */
  alarm: number | null;
}

type Value = string | number | null | ArrayBuffer | Uint8Array;

const WRITES = /^\s*(INSERT|UPDATE|DELETE|CREATE|DROP)/i;

/**
 * A Durable Object's storage as the platform documents it: what is written without waiting in between is
 * one batch; a batch is confirmed later, in order; nothing leaves the object before all that was
 * written is confirmed; what is not confirmed when the object dies may be lost.
 * https://developers.cloudflare.com/durable-objects/reference/in-memory-state/
 */
export class Storage {
  readonly #scheduler: Scheduler;
  readonly #database = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();
  readonly #onAlarm: () => void;
  #actor: Actor | undefined;
  #alarm: number | null = null;
  /** The alarm that is going off: other writes leave it on the disk until its handler has ended. */
  #ringing: number | null = null;
  #unconfirmed: Batch[] = [];
  #confirmed: Batch = { number: 0, alarm: null };
  #open: Batch | undefined;
  #last = 0;
  #leaving: { behind: number; go: () => void }[] = [];

  constructor(scheduler: Scheduler, onAlarm: () => void) {
    this.#scheduler = scheduler;
    this.#onAlarm = onAlarm;
  }

  /** When the alarm goes off that outlives a crash, in Unix ms. */
  get durableAlarm(): number | null {
    return this.#confirmed.alarm;
  }

  /** The newest that was set. */
  get nextAlarm(): number | null {
    return this.#alarm;
  }

  get isEmpty(): boolean {
    return this.#confirmed.alarm === null && this.#tables().length === 0;
  }

  /** One row, as it is now, for those who judge. */
  peek(sql: string): Record<string, unknown> | undefined {
    return this.#prepared(sql).get();
  }

  has(table: string): boolean {
    const sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
    return this.#prepared(sql).get(table) !== undefined;
  }

  #tables(): string[] {
    const sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    return this.#prepared(sql)
      .all()
      .map(({ name }) => String(name));
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** The storage as the object of this actor sees it. */
  for(actor: Actor) {
    this.#actor = actor;
    const own = <T extends unknown[], R>(work: (...args: T) => R) => {
      return (...args: T): R => {
        if (!actor.isAlive) throw new Error("the storage of an object that has died");
        return work(...args);
      };
    };
    const exec = own((sql: string, ...bindings: Value[]) => {
      if (WRITES.test(sql)) this.#begin();
      return cursor(this.#run(sql, bindings));
    });
    // The platform keeps whole milliseconds, and no times that are past.
    const setAlarm = own((at: number) => this.#setAlarm(Math.max(Math.trunc(at), Date.now())));
    return {
      sql: { exec },
      transactionSync: own(<T>(work: () => T): T => this.#transaction(work)),
      setAlarm: async (at: number) => setAlarm(at),
      getAlarm: own(async () => this.#alarm),
      deleteAlarm: own(async () => this.#setAlarm(null)),
      deleteAll: own(async () => this.#deleteAll()),
      sync: own(
        () =>
          new Promise<void>((resolve) => {
            this.leave(() => this.#scheduler.after(0, "stored", actor, resolve));
          }),
      ),
      kv: {
        get: own((key: string) => {
          if (!this.has("_kv")) return undefined;
          const row = this.#database.prepare("SELECT value FROM _kv WHERE key = ?").get(key);
          return row && (JSON.parse(String(row["value"])) as unknown);
        }),
        put: own((key: string, value: unknown) => {
          this.#begin();
          this.#database.exec("CREATE TABLE IF NOT EXISTS _kv (key TEXT PRIMARY KEY, value TEXT)");
          const put = this.#database.prepare("INSERT OR REPLACE INTO _kv VALUES (?, ?)");
          put.run(key, JSON.stringify(value));
        }),
      },
    };
  }

  #run(sql: string, bindings: Value[]): Record<string, unknown>[] {
    if (bindings.length === 0 && /;\s*\S/.test(sql)) {
      this.#database.exec(sql);
      return [];
    }
    const given = bindings.map((value) =>
      value instanceof ArrayBuffer ? new Uint8Array(value) : value,
    );
    return this.#prepared(sql)
      .all(...(given as SQLInputValue[]))
      .map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            value instanceof Uint8Array ? value.slice().buffer : value,
          ]),
        ),
      );
  }

  /** An alarm that goes off is none any more, but one that dies with its object goes off again. */
  beginAlarm(): void {
    this.#ringing = this.#alarm;
    this.#alarm = null;
  }

  /** Forgets the alarm that went off, unless another was set. */
  endAlarm(): void {
    if (this.#alarm === null) this.#setAlarm(null);
  }

  /** The alarm has failed: it goes off again, unless another was set. */
  failAlarm(at: number | null): void {
    this.#ringing = null;
    this.#alarm ??= at;
  }

  #setAlarm(at: number | null): void {
    this.#begin();
    this.#ringing = null;
    this.#alarm = at;
  }

  #transaction<T>(work: () => T): T {
    this.#begin();
    const [alarm, ringing] = [this.#alarm, this.#ringing];
    this.#database.exec("SAVEPOINT inner_transaction");
    try {
      const result = work();
      this.#database.exec("RELEASE inner_transaction");
      return result;
    } catch (error) {
      this.#database.exec("ROLLBACK TO inner_transaction; RELEASE inner_transaction");
      this.#alarm = alarm;
      this.#ringing = ringing;
      throw error;
    }
  }

  #deleteAll(): void {
    this.#begin();
    for (const table of this.#tables()) this.#database.exec(`DROP TABLE ${table}`);
    this.#ringing = this.#alarm = null;
  }

  /** Each batch is a savepoint within that of the one before. */
  #begin(): void {
    if (this.#open !== undefined) return;
    this.#open = { number: ++this.#last, alarm: null };
    this.#database.exec(`SAVEPOINT batch_${this.#open.number}`);
  }

  /** The code of an event has run: what it has written is on its way to the disk. */
  settle(): void {
    const batch = this.#open;
    if (batch === undefined) return;
    this.#open = undefined;
    batch.alarm = this.#alarm ?? this.#ringing;
    this.#unconfirmed.push(batch);
    const ms = this.#scheduler.latency();
    this.#scheduler.after(
      ms,
      "confirm",
      () => undefined,
      () => {
        if (this.#unconfirmed.includes(batch)) this.#confirm(batch);
      },
    );
  }

  #confirm(batch: Batch): void {
    this.#confirmed = batch;
    this.#unconfirmed = this.#unconfirmed.filter(({ number }) => number > batch.number);
    if (this.#unconfirmed.length === 0 && this.#open === undefined) {
      const first = this.#database.isTransaction;
      if (first) this.#database.exec("COMMIT");
    }
    this.#onAlarm();
    const ready = this.#leaving.filter(({ behind }) => behind <= batch.number);
    this.#leaving = this.#leaving.filter(({ behind }) => behind > batch.number);
    for (const { go } of ready) go();
  }

  /** Lets something leave the object once all that was written before is confirmed. */
  leave(go: () => void): void {
    const behind = this.#open?.number ?? this.#unconfirmed.at(-1)?.number ?? 0;
    if (behind <= this.#confirmed.number) go();
    else this.#leaving.push({ behind, go });
  }

  /** Its object has died: of what was not confirmed, so many batches are on the disk. Gives how many were lost. */
  die(survivors: number): number {
    this.#actor = undefined;
    this.#leaving = [];
    const kept = this.#unconfirmed[survivors - 1] ?? this.#unconfirmed.at(-1);
    const last = survivors > 0 && kept !== undefined ? kept : this.#confirmed;
    const lost = [...this.#unconfirmed, ...(this.#open ? [this.#open] : [])].find(
      ({ number }) => number > last.number,
    );
    const count = this.#unconfirmed.filter(({ number }) => number > last.number).length;
    if (lost !== undefined) this.#database.exec(`ROLLBACK TO batch_${lost.number}`);
    if (this.#database.isTransaction) this.#database.exec("COMMIT");
    this.#unconfirmed = [];
    this.#open = undefined;
    this.#confirmed = { number: this.#last, alarm: last.alarm };
    this.#ringing = null;
    this.#alarm = last.alarm;
    this.#onAlarm();
    return count;
  }

  get unconfirmed(): number {
    return this.#unconfirmed.length;
  }

  get actor(): Actor | undefined {
    return this.#actor;
  }

  close(): void {
    this.#database.close();
  }
}

function cursor(rows: Record<string, unknown>[]) {
  return {
    toArray: () => rows,
    one: () => {
      if (rows.length !== 1) throw new Error(`expected one row, got ${rows.length}`);
      return rows[0];
    },
    [Symbol.iterator]: () => rows[Symbol.iterator](),
  };
}
