/**
 * Counters by minute, hour and day in a Durable Object. A row that is written is the dearest part of a small call: minutes
 * alone are written while they pass, and hours and days are added up when they are over.
 */
import { OTHERS, SPANS, noSums, type Sums, type UsageSpan } from "../../kernel/observe/counted.ts";
import { firstRow } from "../../kernel/storage/tables.ts";
import { addSums } from "./counts.ts";
import { limits } from "./limits.ts";

/** Counters of one name in one step. */
export interface CountRow {
  /** Begin of the step, in Unix ms. */
  start: number;
  /** A dimension, `REFUSED`, or "" for the total. */
  by: string;
  name: string;
  sums: Sums;
}

const TABLE = `
CREATE TABLE IF NOT EXISTS counts (span TEXT NOT NULL, start INTEGER NOT NULL, by TEXT NOT NULL, name TEXT NOT NULL,
  sums TEXT NOT NULL, PRIMARY KEY (span, start, by, name)) WITHOUT ROWID;`;

/** The span whose steps make up a step of this one. */
const FINER: Partial<Record<UsageSpan, UsageSpan>> = { day: "hour", month: "day" };

const stepOf = (span: UsageSpan, at: number): number => at - (at % SPANS[span].step);

/** The sums of these rows in the steps of this span. */
function joined(span: UsageSpan, rows: readonly CountRow[]): CountRow[] {
  const steps = new Map<string, CountRow>();
  for (const { start: at, by, name, sums } of rows) {
    const row = { start: stepOf(span, at), by, name, sums: noSums() };
    addSums(steps.getOrInsert(`${row.start} ${by} ${name}`, row).sums, sums);
  }
  return [...steps.values()];
}

export class CountRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(TABLE);
  }

  /** Adds what was counted until this time, in Unix ms, with a total. */
  add(now: number, counted: readonly Omit<CountRow, "start">[]): void {
    this.#addUp("day", now);
    this.#addUp("month", now);
    for (const span of Object.keys(SPANS) as UsageSpan[]) {
      const { ms, step } = SPANS[span];
      this.#sql.exec("DELETE FROM counts WHERE span = ? AND start < ?", span, now - ms - step);
      // The clock may have been set back to an hour or day that is added up already.
      if (span !== "hour" && now >= this.#end(span)) continue;
      for (const one of counted) this.#addTo(span, { ...one, start: stepOf(span, now) });
    }
  }

  /** The counters by one dimension in the steps that begin after `since`, in order of time. */
  list(span: UsageSpan, by: string, since: number): CountRow[] {
    const added = this.#stored("span = ? AND by = ? AND start > ?", span, by, since);
    const finer = FINER[span];
    if (finer === undefined) return added;
    const others = joined(span, this.list(finer, by, this.#end(span) - 1));
    return [...added, ...others.filter(({ start }) => start > since)];
  }

  /** Deletes the counters of this name in one dimension. */
  forget(by: string, name: string): void {
    this.#sql.exec("DELETE FROM counts WHERE by = ? AND name = ?", by, name);
  }

  /** Makes the rows of a span's steps that are over. */
  #addUp(span: UsageSpan, now: number): void {
    const begun = stepOf(span, now);
    const over = "span = ? AND start >= ? AND start < ?";
    const rows = this.#stored(over, FINER[span]!, this.#end(span), begun);
    for (const row of joined(span, rows)) this.#addTo(span, row);
  }

  /** The end of the last step with rows. */
  #end(span: UsageSpan): number {
    const last = "SELECT start FROM counts WHERE span = ? ORDER BY start DESC LIMIT 1";
    const row = firstRow(this.#sql.exec<{ start: number }>(last, span));
    return row === undefined ? 0 : row.start + SPANS[span].step;
  }

  #stored(where: string, ...values: SqlStorageValue[]): CountRow[] {
    return this.#sql
      .exec<{ start: number; by: string; name: string; sums: string }>(
        `SELECT start, by, name, sums FROM counts WHERE ${where} ORDER BY start`,
        ...values,
      )
      .toArray()
      .map(({ sums, ...row }) => ({ ...row, sums: JSON.parse(sums) as Sums }));
  }

  #addTo(span: UsageSpan, { start, by, name: given, sums }: CountRow): void {
    const where = "span = ? AND start = ? AND by = ?";
    const read = (one: string) =>
      this.#stored(`${where} AND name = ?`, span, start, by, one)[0]?.sums;
    let name = given;
    let known = read(name);
    if (known === undefined) {
      const { count } = this.#sql
        .exec<{ count: number }>(
          `SELECT COUNT(*) AS count FROM counts WHERE ${where}`,
          span,
          start,
          by,
        )
        .one();
      if (count >= limits.usageNames) known = read((name = OTHERS));
    }
    const all = known ?? noSums();
    addSums(all, sums);
    const row = [span, start, by, name, JSON.stringify(all)];
    this.#sql.exec("INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?)", ...row);
  }
}
