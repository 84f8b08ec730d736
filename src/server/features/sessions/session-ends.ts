import { firstRow, hasTable } from "../../kernel/storage/tables.ts";

/** State of a session with a ticket. */
export interface SessionFacts {
  hasEnded: boolean;
  /** True once the session has a Durable Object of its own. */
  hasObject: boolean;
}

/** Facts by the `object` of the session's ticket. */
export type KnownSessions = Readonly<Record<string, Partial<SessionFacts>>>;

/**
 * Records which sessions have ended and which have an object, for the tickets of one hour. Isolates share it through a
 * Durable Object, which is deleted when these tickets have expired.
 */
export class SessionEnds {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS carried (session TEXT PRIMARY KEY, ended INTEGER NOT NULL, object INTEGER NOT NULL)",
    );
  }

  /** True if this storage contains a record of sessions. */
  static isIn(sql: SqlStorage): boolean {
    return hasTable(sql, "carried");
  }

  /** Merges the facts that an isolate knows into the record, and returns those recorded for these sessions. */
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
