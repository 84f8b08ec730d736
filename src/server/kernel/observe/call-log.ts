/** The log of the server's last calls: caller, tool, outcome, duration, and the error that the caller got. */
import { limits } from "../core/limits.ts";
import { isDue } from "../storage/tables.ts";
import type { Sealer } from "../storage/vault.ts";
import type { EndedCall } from "./counted.ts";

/** The filter of a list of calls. An absent member matches every call. */
export interface CallQuery {
  caller?: string | undefined;
  servlet?: string | undefined;
  tool?: string | undefined;
  /** Outcomes of the calls, such as `trapped`. */
  outcomes?: readonly string[] | undefined;
  /** True for failed calls alone. */
  hasFailed?: boolean | undefined;
  /** The earliest start of a call, in Unix ms. */
  since?: number | undefined;
  /** The shortest duration of a call. */
  ms?: number | undefined;
  /** A part of the error message that the caller got; case does not matter. */
  error?: string | undefined;
  /** The `next` of the previous page. */
  before?: string | undefined;
}

/** One page of calls, the newest first. */
export interface CallPage {
  calls: EndedCall[];
  /** The position of the next page, even if this page is empty; undefined on the last page. */
  next?: string | undefined;
}

/** The values of each column that calls can be filtered by. */
export type CallNames = Record<(typeof NAMED)[number], string[]>;
const NAMED = ["caller", "servlet", "tool", "outcome"] as const;

/** Age at which a call is deleted. */
const KEPT_MS = 30 * 86_400_000;
/** Fraction of `limits.loggedCalls` that trimming frees. */
const SPARE = 0.1;
/** Calls on one page. */
const PAGE = 100;
/** Errors that one page searches: opening each takes some 30 µs, and other requests wait meanwhile. */
export const SEARCHED = 1000;
/** Rows that are read for the options of the filter. */
const COMBINATIONS = 2000;

const TABLE = `
CREATE TABLE IF NOT EXISTS calls (at INTEGER NOT NULL, nth INTEGER NOT NULL, caller TEXT NOT NULL, servlet TEXT NOT NULL,
  tool TEXT NOT NULL, outcome TEXT NOT NULL, ms INTEGER NOT NULL, task TEXT, error BLOB, PRIMARY KEY (at, nth)) WITHOUT ROWID;`;

type Row = Omit<EndedCall, "error"> & { nth: number; error: ArrayBuffer | null };

/**
 * The table of calls in a Durable Object. Error messages are sealed; without a sealer they are not stored. It has no index:
 * each call would write a row of it, which costs more than to read the whole table for a page.
 */
export class CallLog {
  readonly #sql: SqlStorage;
  readonly #sealer: Sealer | undefined;

  constructor(sql: SqlStorage, sealer: Sealer | undefined) {
    this.#sql = sql;
    this.#sealer = sealer;
    sql.exec(TABLE);
  }

  /** Seals the error messages. Returns a function that stores the calls of those callers for whom `isKnown` is true. */
  async prepare(
    calls: readonly EndedCall[],
  ): Promise<(isKnown: (caller: string) => boolean) => void> {
    const rows = await Promise.all(
      calls.map(async ({ at, caller, servlet, tool, outcome, ms, task, error }) => {
        const sealed =
          error && (await this.#sealer?.seal(encoder.encode(error), purposeFor(caller)));
        return { caller, row: [at, caller, servlet, tool, outcome, ms, task, sealed || null] };
      }),
    );
    return (isKnown) => {
      const known = rows.filter(({ caller }) => isKnown(caller));
      for (const { row } of known)
        this.#sql.exec(
          "INSERT INTO calls SELECT ?1, IFNULL(MAX(nth), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM calls WHERE at = ?1",
          ...row,
        );
      this.#sql.exec("DELETE FROM calls WHERE at < ?", Date.now() - KEPT_MS);
      if (isDue(known.length, limits.loggedCalls)) this.#trim();
    };
  }

  /**
   * Deletes the oldest calls of the callers with the most calls, until a tenth of `limits.loggedCalls` is free. A caller
   * who calls often does not displace the calls of other callers.
   */
  #trim(): void {
    const ranked =
      "SELECT at, nth, ROW_NUMBER() OVER (PARTITION BY caller ORDER BY at DESC, nth DESC) AS rank FROM calls";
    this.#sql.exec(
      `DELETE FROM calls WHERE (at, nth) IN (SELECT at, nth FROM (${ranked}) ORDER BY rank, at DESC LIMIT -1 OFFSET ?)`,
      Math.floor(limits.loggedCalls * (1 - SPARE)),
    );
  }

  /** The page of calls that match the query, the newest first. */
  async list(query: CallQuery): Promise<CallPage> {
    const { error: text = "" } = query;
    const most = text === "" ? PAGE : SEARCHED;
    const rows = this.#matching(query, most + 1);
    const calls: EndedCall[] = [];
    let next: string | undefined;
    for (const [index, { nth, error: sealed, ...row }] of rows.entries()) {
      if (index === most || calls.length === PAGE) return { calls, next };
      const error = sealed === null ? "" : await this.#opened(sealed, row.caller);
      if (error.toLowerCase().includes(text.toLowerCase())) calls.push({ ...row, error });
      next = `${row.at}.${nth}`;
    }
    return { calls };
  }

  /** At most `most` rows (all if negative). The error is only tested for presence, because it is sealed. */
  #matching(query: CallQuery, most: number): Row[] {
    const { caller, servlet, tool, outcomes, hasFailed, since, ms, error, before } = query;
    const conditions: [sql: string, ...values: SqlStorageValue[]][] = [];
    if (caller !== undefined) conditions.push(["caller = ?", caller]);
    if (servlet !== undefined) conditions.push(["servlet = ?", servlet]);
    if (tool !== undefined) conditions.push(["tool = ?", tool]);
    if (outcomes !== undefined)
      conditions.push(["outcome IN (SELECT value FROM json_each(?))", JSON.stringify(outcomes)]);
    if (hasFailed === true) conditions.push(["outcome <> 'returned'"]);
    if (since !== undefined) conditions.push(["at >= ?", since]);
    if (ms !== undefined) conditions.push(["ms >= ?", ms]);
    if (error) conditions.push(["error IS NOT NULL"]);
    if (before !== undefined) {
      const [at = 0, nth = 0] = before.split(".").map(Number);
      conditions.push(["(at, nth) < (?, ?)", at, nth]);
    }
    const where = conditions.map(([sql]) => sql).join(" AND ") || "TRUE";
    const values = conditions.flatMap(([, ...given]) => given);
    return this.#sql
      .exec<Row>(
        `SELECT * FROM calls WHERE ${where} ORDER BY at DESC, nth DESC LIMIT ?`,
        ...values,
        most,
      )
      .toArray();
  }

  async #opened(sealed: ArrayBuffer, caller: string): Promise<string> {
    const opened = await this.#sealer?.open(new Uint8Array(sealed), purposeFor(caller));
    return opened === undefined ? "" : new TextDecoder().decode(opened);
  }

  /** The filterable values of all calls, or of one caller's calls. */
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

/** The purpose that an error is sealed for, so that it can be opened only in a row of the same caller. */
const purposeFor = (caller: string): string => `error ${caller}`;
