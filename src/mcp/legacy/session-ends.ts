import { firstRow, hasTable } from "../../storage/tables.ts";

/** Facts about a session with a ticket, which isolates share. */
export interface SessionFacts {
  hasEnded: boolean;
  /** True once it has an object of its own. */
  hasObject: boolean;
}

/** Facts by session: the id of the object that it has, or would have. */
export type KnownSessions = Readonly<Record<string, Partial<SessionFacts>>>;

/**
 * The record of the sessions with tickets of one hour that have ended or have an object. It stands in an object that isolates
 * share, and is deleted when the tickets have expired.
 */
export class SessionEnds {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS carried (session TEXT PRIMARY KEY, ended INTEGER NOT NULL, object INTEGER NOT NULL)",
    );
  }

  /** True for storage that has such a record. */
  static isIn(sql: SqlStorage): boolean {
    return hasTable(sql, "carried");
  }

  /** Adds what an isolate has learned, and returns what is known of these sessions. */
  exchange(learned: KnownSessions): KnownSessions {
    const add =
      "INSERT INTO carried VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET ended = MAX(ended, excluded.ended), object = MAX(object, excluded.object)";
    const known = Object.entries(learned).map(([session, { hasEnded, hasObject }]) => {
      if (hasEnded || hasObject)
        this.#sql.exec(add, session, Number(hasEnded ?? false), Number(hasObject ?? false));
      return [session, this.#factsOf(session)] as const;
    });
    return Object.fromEntries(known);
  }

  #factsOf(session: string): SessionFacts {
    const query = "SELECT ended, object FROM carried WHERE session = ?";
    const row = firstRow(this.#sql.exec<{ ended: number; object: number }>(query, session));
    return { hasEnded: row?.ended === 1, hasObject: row?.object === 1 };
  }
}
