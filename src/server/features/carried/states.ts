import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { limits } from "./limits.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { Announced, InnerRow, JournalEntry, Recorded } from "../../kernel/core/record.ts";
import { release } from "../../kernel/core/parts.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { hasTable } from "../../kernel/storage/tables.ts";

/** The progress of an earlier request with the same state and answers. */
export type EarlierProgress =
  | { kind: "none" }
  /** Its call has become a task. */
  | { kind: "task" }
  | { kind: "earlier"; since: Since };

/** The record of earlier requests: its entries are those from the client's newest answer on. */
export interface Since {
  recorded: Recorded;
  /** The stored rows of calls inside. */
  inner: readonly InnerRow[];
}

/** The task that a call becomes: the same for all requests with the same state and answers. */
export interface Promotion {
  id: string;
  /** The record that the task resumes, where a request may have sent something. */
  since?: Since;
}

/** Another request may still be sending, for at most this many ms. */
export interface Busy {
  busyMs: number;
}

/** An HTTP request that is about to be sent, and the answers before it. */
interface Intended extends Announced {
  /** The place of the inner call that sends it; undefined for the call itself. */
  place: string | undefined;
  /** Unix time in ms when the record expires. */
  until: number;
  begun: Run["begun"];
  /** The part that is not stored yet. */
  unstored: Unstored;
}

/** Parts of a record that are stored together. */
export interface Unstored {
  answers: readonly (readonly [position: number, entry: JournalEntry])[];
  inner: readonly InnerRow[];
}

/** The record (without its entries) of a call that resumes from a state. */
interface Run {
  /** The request that writes it. */
  attempt: string;
  begun: Pick<Recorded, "head" | "inner">;
  /** Unix time in ms until which it may be sending an HTTP request. */
  sendingUntil: number;
}

/**
 * One state of a call that waits for its client's answer, if it is too large for the client to carry or single use;
 * and the side effects and outcome of the requests that resume it, which must not be repeated. Deleted when
 * the state expires.
 */
export class States extends DurableObject<object> {
  readonly #rows: SealedRows;
  readonly #alarm = new Alarm(this.ctx.storage);

  constructor(state: DurableObjectState, env: object, { sealer }: { sealer: Sealer }) {
    super(state, env);
    this.#rows = new SealedRows(state.storage.sql, sealer);
  }

  /** Stores a sealed part of the state at this place until this Unix time in ms. */
  async put(place: number, part: Uint8Array<ArrayBuffer>, until: number): Promise<void> {
    const { storage } = this.ctx;
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS parts (at INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    );
    storage.sql.exec("INSERT INTO parts VALUES (?, ?)", place, part);
    release(part);
    await this.#alarm.set(until);
  }

  /** The places of the state's parts, in order; empty if it has expired. */
  async places(): Promise<number[]> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) return [];
    const rows = storage.sql.exec<{ at: number }>("SELECT at FROM parts ORDER BY at").toArray();
    return rows.map(({ at }) => at);
  }

  async read(place: number): Promise<ArrayBuffer> {
    const found = this.ctx.storage.sql.exec<{ bytes: ArrayBuffer }>(
      "SELECT bytes FROM parts WHERE at = ?",
      place,
    );
    return found.one().bytes;
  }

  /** Claims a single-use state for these answers; undefined if it was claimed for others or has expired. */
  async claim(answers: string): Promise<{ outcome?: Json } | undefined> {
    const until = await this.ctx.storage.getAlarm();
    if (until === null) return undefined;
    if ((await this.once("claim", answers, until)) !== answers) return undefined;
    const outcome = (await this.#read("outcome")) as Json | undefined;
    return outcome === undefined ? {} : { outcome };
  }

  /** Stores a value under a name unless it has one already; returns the stored value. */
  once<T>(name: "claim" | "outcome", value: T, until: number): Promise<T> {
    return this.#inTurn(async () => {
      const known = (await this.#read(name)) as T | undefined;
      if (known === undefined) await this.#write({ [name]: value }, { until });
      return known ?? value;
    });
  }

  /** Records that the call becomes a task, so that no later request resumes it. */
  promote(attempt: string, id: string, until: number): Promise<Promotion | Busy> {
    return this.#inTurn(async () => {
      const run = await this.#run();
      const known = (await this.#read("task")) as string | undefined;
      if (known === undefined) {
        const ms = await this.#busyMs(run, attempt);
        if (ms > 0) return { busyMs: ms };
        const texts = { task: id, ...(run && { run: { ...run, attempt } }) };
        await this.#write(texts, { until });
      }
      return { id: known ?? id, ...(run && { since: await this.#since(run) }) };
    });
  }

  /** Returns the record of earlier requests, and makes this request its writer. */
  takeOver(attempt: string): Promise<EarlierProgress | Busy> {
    return this.#inTurn(async () => {
      if ((await this.#read("task")) !== undefined) return { kind: "task" };
      const run = await this.#run();
      if (run === undefined) return { kind: "none" };
      const ms = await this.#busyMs(run, attempt);
      if (ms > 0) return { busyMs: ms };
      await this.#write({ run: { ...run, attempt } });
      return { kind: "earlier", since: await this.#since(run) };
    });
  }

  /**
   * Records that the HTTP request is about to be sent. Returns true if it may have been sent before; undefined
   * if another request or a task has taken over the call.
   */
  intend(attempt: string, intended: Intended): Promise<boolean | undefined> {
    const { position, key, place, until, begun, unstored } = intended;
    return this.#inTurn(async () => {
      const run = await this.#run();
      if (run !== undefined && run.attempt !== attempt) return undefined;
      if ((await this.#read("task")) !== undefined) return undefined;
      const sendingUntil = Date.now() + limits.sendingMs;
      let isRepeated = false;
      await this.#write(
        { run: { attempt, begun: run?.begun ?? begun, sendingUntil } satisfies Run },
        {
          ...unstored,
          until,
          also: () => (isRepeated = this.#rows.intend(position, key, place)),
        },
      );
      return isRepeated;
    });
  }

  /** Renews the lease of the request that is sending. */
  renew(attempt: string): Promise<void> {
    return this.#inTurn(async () => {
      const run = await this.#run();
      if (run?.attempt !== attempt || run.sendingUntil === 0) return;
      await this.#write({ run: { ...run, sendingUntil: Date.now() + limits.sendingMs } });
    });
  }

  /** Stores answers of the guest, which may be sending something else; false if another request has taken over the call. */
  keep(attempt: string, stored: Unstored, isSending: boolean): Promise<boolean> {
    return this.#inTurn(async () => {
      const run = await this.#run();
      if (run?.attempt !== attempt) return false;
      const sendingUntil = isSending ? run.sendingUntil : 0;
      await this.#write({ run: { ...run, sendingUntil } }, stored);
      return true;
    });
  }

  /** Ends the lease: nothing is in flight. The request `unsent` was never sent. */
  release(
    attempt: string,
    unsent?: { position: number; place: string | undefined },
  ): Promise<void> {
    return this.#inTurn(async () => {
      const run = await this.#run();
      if (run?.attempt !== attempt) return;
      const also = () => unsent && this.#rows.withdraw(unsent.position, unsent.place);
      await this.#write({ run: { ...run, sendingUntil: 0 } }, { also });
    });
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async #run(): Promise<Run | undefined> {
    return (await this.#read("run")) as Run | undefined;
  }

  /** The record from the client's newest answer on, without notices: each request counts its own. */
  async #since({ begun }: Run): Promise<Since> {
    const entries = await this.#rows.answers();
    const recorded = { ...begun, entries, notices: 0, intents: this.#rows.intents() };
    return { recorded, inner: await this.#rows.innerRows() };
  }

  async #read(name: string): Promise<unknown> {
    return hasTable(this.ctx.storage.sql, "texts") ? this.#rows.text(name) : undefined;
  }

  async #write(
    texts: Record<string, unknown>,
    more: Partial<Unstored> & {
      until?: number;
      also?: () => void;
    } = {},
  ): Promise<void> {
    const { answers = [], inner = [], until, also } = more;
    const write = await this.#rows.prepare({ texts, answers, inner });
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.sql.exec(SealedRows.texts + SealedRows.answers);
      write();
      also?.();
      if (until !== undefined) void this.#alarm.set(until);
    });
  }

  /** Longest time that another request may still be sending, in ms; bounded by the lease if the clock was set back. */
  async #busyMs(run: Run | undefined, attempt: string): Promise<number> {
    if (run === undefined || run.attempt === attempt) return 0;
    const ms = run.sendingUntil - Date.now();
    if (ms <= limits.sendingMs + limits.clockSlackMs) return ms;
    await this.#write({ run: { ...run, sendingUntil: Date.now() + limits.sendingMs } });
    return limits.sendingMs;
  }

  /** Runs `work` after all earlier work, so that it reads what was written. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.ctx.blockConcurrencyWhile(work);
  }
}
