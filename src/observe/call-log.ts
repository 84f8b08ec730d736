/** The last calls of a server: who called what, how it ended, and what the caller was told of a failure. */
import { limits } from "../core/limits.ts";
import type { Sealer } from "../storage/vault.ts";
import type { EndedCall } from "./counts.ts";

/** The calls to list. An absent member allows all values. */
export interface CallQuery {
  caller?: string | undefined;
  servlet?: string | undefined;
  tool?: string | undefined;
  /** The names of some outcomes. */
  outcomes?: readonly string[] | undefined;
  /** True for failed calls alone. */
  hasFailed?: boolean | undefined;
  /** The earliest beginning, in Unix ms. */
  since?: number | undefined;
  /** The shortest duration. */
  ms?: number | undefined;
  /** A part of the error that the caller was told, in any case. */
  told?: string | undefined;
  /** The `next` of the page before this one. */
  before?: string | undefined;
}

/** Some calls, the newest first. */
export interface CallPage {
  calls: EndedCall[];
  /** Where the next page begins; undefined for the last one. */
  next?: string | undefined;
}

/** The values by which calls can be filtered. */
export type CallNames = Record<(typeof NAMED)[number], string[]>;
const NAMED = ["caller", "servlet", "tool", "outcome"] as const;

/** Calls are kept for so long. */
const KEPT_MS = 30 * 86_400_000;
/** The part of the table that is free after it was trimmed. */
const SPARE = 0.1;
/** Calls on a page. */
const PAGE = 100;
/** Combinations of values that a filter offers. */
const COMBINATIONS = 2000;

const TABLE = `
CREATE TABLE IF NOT EXISTS calls (at INTEGER NOT NULL, caller TEXT NOT NULL, servlet TEXT NOT NULL, tool TEXT NOT NULL,
  outcome TEXT NOT NULL, ms INTEGER NOT NULL, task TEXT, told BLOB);
CREATE INDEX IF NOT EXISTS calls_at ON calls (at);
CREATE INDEX IF NOT EXISTS calls_caller ON calls (caller, at);`;

type Row = Omit<EndedCall, "told"> & { id: number; told: ArrayBuffer | null };

/** The calls in the table of an object. What callers were told is sealed; without a sealer it is not kept. */
export class CallLog {
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer | undefined;
  /** How many calls were added since the table was trimmed. */
  #added = Infinity;

  constructor(sql: SqlStorage, sealer: Sealer | undefined) {
    this.#sql = sql;
    this.#sealer = sealer;
    sql.exec(TABLE);
  }

  /** Seals what callers were told. The function that it returns writes the calls of callers who are known. */
  async prepare(
    calls: readonly EndedCall[],
  ): Promise<(isKnown: (caller: string) => boolean) => void> {
    const rows = await Promise.all(
      calls.map(async ({ at, caller, servlet, tool, outcome, ms, task, told }) => {
        const sealed = told && (await this.#sealer?.seal(encoder.encode(told), placeOf(caller)));
        return { caller, row: [at, caller, servlet, tool, outcome, ms, task, sealed || null] };
      }),
    );
    return (isKnown) => {
      for (const { row } of rows.filter(({ caller }) => isKnown(caller))) {
        this.#sql.exec("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...row);
        this.#added++;
      }
      if (this.#added > limits.loggedCalls * SPARE) this.#trim();
    };
  }

  /**
   * Deletes calls until a tenth of `limits.loggedCalls` is free: the oldest of the callers who have the most, so that
   * nobody's calls are lost because somebody else calls often.
   */
  #trim(): void {
    this.#sql.exec("DELETE FROM calls WHERE at < ?", Date.now() - KEPT_MS);
    const callers = this.#sql
      .exec<{ caller: string; count: number }>(
        "SELECT caller, COUNT(*) AS count FROM calls GROUP BY caller ORDER BY 2",
      )
      .toArray();
    let left = Math.floor(limits.loggedCalls * (1 - SPARE));
    for (const [nth, { caller, count }] of callers.entries()) {
      const share = Math.min(count, Math.floor(left / (callers.length - nth)));
      left -= share;
      const oldest = "SELECT rowid FROM calls WHERE caller = ? ORDER BY at, rowid LIMIT ?";
      if (share < count)
        this.#sql.exec(`DELETE FROM calls WHERE rowid IN (${oldest})`, caller, count - share);
    }
    this.#added = 0;
  }

  /** The calls that match, the newest first. */
  async list(query: CallQuery): Promise<CallPage> {
    const { told: text = "" } = query;
    const rows = this.#matching(query, text === "" ? PAGE + 1 : -1);
    const calls: EndedCall[] = [];
    let next: string | undefined;
    for (const { id, told: sealed, ...row } of rows) {
      const told = sealed === null ? "" : await this.#opened(sealed, row.caller);
      if (!told.toLowerCase().includes(text.toLowerCase())) continue;
      if (calls.length === PAGE) return { calls, next };
      calls.push({ ...row, told });
      next = `${row.at}.${id}`;
    }
    return { calls };
  }

  #matching(query: CallQuery, most: number): Row[] {
    const { caller, servlet, tool, outcomes, hasFailed, since, ms, told, before } = query;
    const conditions: [sql: string, ...values: SqlStorageValue[]][] = [];
    if (caller !== undefined) conditions.push(["caller = ?", caller]);
    if (servlet !== undefined) conditions.push(["servlet = ?", servlet]);
    if (tool !== undefined) conditions.push(["tool = ?", tool]);
    if (outcomes !== undefined)
      conditions.push(["outcome IN (SELECT value FROM json_each(?))", JSON.stringify(outcomes)]);
    if (hasFailed === true) conditions.push(["outcome <> 'returned'"]);
    if (since !== undefined) conditions.push(["at >= ?", since]);
    if (ms !== undefined) conditions.push(["ms >= ?", ms]);
    if (told) conditions.push(["told IS NOT NULL"]);
    if (before !== undefined) {
      const [at = 0, id = 0] = before.split(".").map(Number);
      conditions.push(["(at, rowid) < (?, ?)", at, id]);
    }
    const where = conditions.map(([sql]) => sql).join(" AND ") || "TRUE";
    const values = conditions.flatMap(([, ...given]) => given);
    return this.#sql
      .exec<Row>(
        `SELECT rowid AS id, * FROM calls WHERE ${where} ORDER BY at DESC, rowid DESC LIMIT ?`,
        ...values,
        most,
      )
      .toArray();
  }

  async #opened(sealed: ArrayBuffer, caller: string): Promise<string> {
    const opened = await this.#sealer?.open(new Uint8Array(sealed), placeOf(caller));
    return opened === undefined ? "" : new TextDecoder().decode(opened);
  }

  /** The values of all calls, or of one caller's. */
  names(caller?: string): CallNames {
    const whose = caller === undefined ? "TRUE" : "caller = ?";
    const rows = this.#sql
      .exec<Record<(typeof NAMED)[number], string>>(
        `SELECT DISTINCT ${NAMED.join(", ")} FROM calls WHERE ${whose} LIMIT ${COMBINATIONS}`,
        ...(caller === undefined ? [] : [caller]),
      )
      .toArray();
    const valuesOf = (name: (typeof NAMED)[number]) =>
      [...new Set(rows.map((row) => row[name]))].toSorted();
    return {
      caller: valuesOf("caller"),
      servlet: valuesOf("servlet"),
      tool: valuesOf("tool"),
      outcome: valuesOf("outcome"),
    };
  }

  /** Deletes the calls of one caller. */
  forget(caller: string): void {
    this.#sql.exec("DELETE FROM calls WHERE caller = ?", caller);
  }
}

const encoder = new TextEncoder();

/** What a caller was told opens for a row of this caller alone. */
const placeOf = (caller: string): string => `told ${caller}`;
