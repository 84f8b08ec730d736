import { DurableObject } from "cloudflare:workers";
import { limits } from "../limits.ts";
import { addSums, noSums, OTHERS, type Counted, type Dimension, type Sums } from "./counts.ts";

/** How long a page looks back, and in which steps; times in ms. */
export const SPANS = {
  hour: { ms: 3_600_000, step: 60_000 },
  day: { ms: 86_400_000, step: 3_600_000 },
  month: { ms: 30 * 86_400_000, step: 86_400_000 },
} as const;
export type Span = keyof typeof SPANS;

/** What was counted in one span. */
export interface Report {
  /** In order of time; steps without runs are absent. `start` in Unix ms. */
  steps: { start: number; sums: Sums }[];
  total: Sums;
  /** The most used names, by runs. */
  named: { name: string; sums: Sums }[];
}

/** RPC interface of the counters of a server. */
export interface UsageObject extends Rpc.DurableObjectBranded {
  add(total: Sums, named: Counted[]): Promise<void>;
  report(span: Span, by: Dimension): Promise<Report>;
}

interface Row extends Record<string, SqlStorageValue> {
  start: number;
  name: string;
  sums: string;
}

const TABLE = `
CREATE TABLE IF NOT EXISTS counts (span TEXT NOT NULL, start INTEGER NOT NULL, by TEXT NOT NULL, name TEXT NOT NULL,
  sums TEXT NOT NULL, PRIMARY KEY (span, start, by, name)) WITHOUT ROWID;`;

/** The counters of all isolates, by minute, hour and day. What is older than a span is deleted. */
export class Usage extends DurableObject implements UsageObject {
  readonly #sql = this.ctx.storage.sql;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#sql.exec(TABLE);
  }

  async add(total: Sums, named: Counted[]): Promise<void> {
    const now = Date.now();
    this.ctx.storage.transactionSync(() => {
      for (const [span, { ms, step }] of Object.entries(SPANS)) {
        const start = now - (now % step);
        this.#addTo({ span, start, by: "", name: "" }, total);
        for (const { by, name, sums } of named) this.#addTo({ span, start, by, name }, sums);
        this.#sql.exec("DELETE FROM counts WHERE span = ? AND start < ?", span, now - ms - step);
      }
    });
  }

  #addTo(of: { span: string; start: number; by: string; name: string }, sums: Sums): void {
    const { span, start, by } = of;
    const key = [span, start, by];
    const where = "FROM counts WHERE span = ? AND start = ? AND by = ?";
    const read = (name: string) =>
      this.#sql
        .exec<{ sums: string }>(`SELECT sums ${where} AND name = ?`, ...key, name)
        .toArray()[0];
    let { name } = of;
    let known = read(name);
    if (known === undefined) {
      const { count } = this.#sql
        .exec<{ count: number }>(`SELECT COUNT(*) AS count ${where}`, ...key)
        .one();
      if (count >= limits.usageNames) known = read((name = OTHERS));
    }
    const all = known === undefined ? noSums() : (JSON.parse(known.sums) as Sums);
    addSums(all, sums);
    const row = [...key, name, JSON.stringify(all)];
    this.#sql.exec("INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?)", ...row);
  }

  async report(span: Span, by: Dimension): Promise<Report> {
    const since = Date.now() - SPANS[span].ms;
    const rows = (of: string) =>
      this.#sql
        .exec<Row>(
          "SELECT start, name, sums FROM counts WHERE span = ? AND by = ? AND start > ? ORDER BY start",
          ...[span, of, since],
        )
        .toArray()
        .map(({ sums, ...row }) => ({ ...row, sums: JSON.parse(sums) as Sums }));
    const steps = rows("").map(({ start, sums }) => ({ start, sums }));
    const total = noSums();
    for (const { sums } of steps) addSums(total, sums);
    const named = new Map<string, Sums>();
    for (const { name, sums } of rows(by)) {
      const all = named.get(name) ?? noSums();
      addSums(all, sums);
      named.set(name, all);
    }
    const sorted = [...named]
      .map(([name, sums]) => ({ name, sums }))
      .toSorted((a, b) => b.sums.runs - a.sums.runs);
    return { steps, total, named: sorted.slice(0, limits.usageNames + 1) };
  }
}
