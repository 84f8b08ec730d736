/** The callers' logs that the log for everyone wakes when it has an event, and how many subscriptions they have. */
import { report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";

/** The subscriptions of all callers together. */
export interface SubscriptionCounts {
  callers: number;
  subscriptions: number;
  suspended: number;
}

/** What a log tells about itself. Times are Unix ms. */
export interface ListeningLog extends Omit<SubscriptionCounts, "callers"> {
  /** Until when it has readers of events for everyone. */
  listens: number;
  /** Until when it has subscriptions. */
  subscribed: number;
}

/** `seq` is the position up to which the log was woken, `due` when it may be woken again after a failure. */
const TABLES = `
CREATE TABLE IF NOT EXISTS listening_logs (name TEXT PRIMARY KEY, listens INTEGER NOT NULL, subscribed INTEGER NOT NULL,
  seq INTEGER NOT NULL, due INTEGER NOT NULL, subscriptions INTEGER NOT NULL, suspended INTEGER NOT NULL);`;

/** Pause after a log could not be woken. */
const RETRY_MS = 5000;

/** Logs that are woken at the same time. */
const AT_ONCE = 50;

export class ListeningLogs {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Makes the tables of an object that stores something for the first time. */
  create(): void {
    this.#sql.exec(TABLES);
  }

  /** Adds a log that has read everything up to this position, or updates it. */
  put(name: string, of: ListeningLog, head: number): void {
    this.#sql.exec(
      `INSERT INTO listening_logs VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6) ON CONFLICT (name) DO UPDATE
        SET listens = MAX(listens, ?2), subscribed = ?3, subscriptions = ?5, suspended = ?6`,
      name,
      of.listens,
      of.subscribed,
      head,
      of.subscriptions,
      of.suspended,
    );
    this.#sql.exec("DELETE FROM listening_logs WHERE MAX(listens, subscribed) <= ?", Date.now());
  }

  hasAny(now: number): boolean {
    const query = "SELECT COUNT(*) AS count FROM listening_logs WHERE MAX(listens, subscribed) > ?";
    return this.#sql.exec<{ count: number }>(query, now).one().count > 0;
  }

  counts(now: number): SubscriptionCounts {
    return this.#sql
      .exec<Record<"callers" | "subscriptions" | "suspended", number>>(
        `SELECT COUNT(*) AS callers, COALESCE(SUM(subscriptions), 0) AS subscriptions,
          COALESCE(SUM(suspended), 0) AS suspended FROM listening_logs
          WHERE subscribed > ? AND subscriptions > 0`,
        now,
      )
      .one();
  }

  /** When the next log that is behind `head` may be woken, in Unix ms; undefined if none is. */
  nextDue(head: number): number | undefined {
    const query = "SELECT MIN(due) AS due FROM listening_logs WHERE seq < ? AND listens > ?";
    return this.#sql.exec<{ due: number | null }>(query, head, Date.now()).one().due ?? undefined;
  }

  /** Wakes logs that are behind `head`. `wake` returns false for a log that no longer listens. Never throws. */
  async wake(head: number, wake: (name: string) => Promise<boolean>): Promise<void> {
    const now = Date.now();
    const due = this.#sql
      .exec<{ name: string }>(
        "SELECT name FROM listening_logs WHERE seq < ? AND listens > ? AND due <= ? LIMIT ?",
        head,
        now,
        now,
        limits.wokenCallers,
      )
      .toArray();
    for (let at = 0; at < due.length; at += AT_ONCE)
      await Promise.all(
        due.slice(at, at + AT_ONCE).map(async ({ name }) => {
          try {
            if (await wake(name))
              this.#sql.exec("UPDATE listening_logs SET seq = ? WHERE name = ?", head, name);
            else this.#sql.exec("UPDATE listening_logs SET listens = 0 WHERE name = ?", name);
          } catch (error) {
            report(error);
            const until = Date.now() + RETRY_MS;
            this.#sql.exec("UPDATE listening_logs SET due = ? WHERE name = ?", until, name);
          }
        }),
      );
  }
}
