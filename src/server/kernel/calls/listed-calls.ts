/** The calls and sessions of a person, as the console lists them. */
import { limits } from "../core/limits.ts";
import { Connection } from "../http/connection.ts";
import { ANONYMOUS, type Principal } from "../core/model.ts";
import type { Row as ShownRow } from "./statuses.ts";
import type { Sealer } from "../storage/vault.ts";

/** A call that outlives its request, or a session. */
export interface ListedCall extends Omit<ShownRow, "kind"> {
  kind: "call" | "session";
  /** When its data is deleted, in Unix ms. */
  until: number;
}

/**
 * The name under which a caller's calls are listed; undefined for an anonymous caller, unless it is on this machine.
 */
export function listerOf({ name, address = "" }: Principal): string | undefined {
  if (name !== ANONYMOUS.name) return name;
  // As `networkOf` names the loopback addresses.
  return address.startsWith("127.") || address === "0:0:0:0" ? ANONYMOUS.name : undefined;
}

export const LISTED_TABLE = `
CREATE TABLE IF NOT EXISTS listed (id TEXT PRIMARY KEY, until INTEGER NOT NULL, updated INTEGER NOT NULL, ended INTEGER NOT NULL,
  sealed BLOB NOT NULL);`;

interface Row extends Record<string, SqlStorageValue> {
  id: string;
  sealed: ArrayBuffer;
}

/** True for a call that has ended. */
export const isEnded = ({ status }: Pick<ListedCall, "status">): boolean =>
  status !== "working" && status !== "input_required";

/** One person's list, sealed in an object's SQLite, and the open pages that follow it. */
export class ListedCalls {
  readonly #sql: SqlStorage;
  /** The open streams, the oldest first, each with its function that sends an event. */
  readonly #watching = new Map<Connection, (event: string) => void>();
  #changed: Promise<unknown> = Promise.resolve();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds or updates a call. Above `limits.listedCalls` it drops the oldest, ended ones first. */
  put(listed: ListedCall, sealer: Sealer): Promise<void> {
    return this.#inTurn(async () => {
      const { id, until, updated } = listed;
      const sealed = await sealer.seal(encoder.encode(JSON.stringify(listed)), placeOf(id));
      const ended = isEnded(listed) ? 1 : 0;
      // Messages may arrive out of order: an older one changes nothing, and an ended call stays ended.
      const { rowsWritten } = this.#sql.exec(
        `INSERT INTO listed VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET until = excluded.until,
         updated = excluded.updated, ended = excluded.ended, sealed = excluded.sealed
         WHERE excluded.updated >= updated AND excluded.ended >= ended`,
        id,
        until,
        updated,
        ended,
        sealed,
      );
      if (rowsWritten > 0) this.#tell(eventOf([listed]));
      const dropped = this.#sql.exec<{ id: string }>(
        `DELETE FROM listed WHERE id IN (SELECT id FROM listed ORDER BY ended, updated DESC LIMIT -1 OFFSET ?) RETURNING id`,
        limits.listedCalls,
      );
      for (const { id: gone } of dropped) this.#tellGone(gone);
    });
  }

  /** Keeps a listed call until this Unix time in ms, at least. */
  prolong(id: string, until: number): Promise<void> {
    return this.#inTurn(() => {
      this.#sql.exec("UPDATE listed SET until = MAX(until, ?) WHERE id = ?", until, id);
    });
  }

  drop(id: string): Promise<void> {
    return this.#inTurn(() => {
      this.#sql.exec("DELETE FROM listed WHERE id = ?", id);
      this.#tellGone(id);
    });
  }

  /** Applies changes in the order of their arrival, although sealing takes time. */
  #inTurn(change: () => Promise<void> | void): Promise<void> {
    const done = this.#changed.then(change);
    this.#changed = done.catch(() => {});
    return done;
  }

  /** All calls, the newest first. */
  async all(sealer: Sealer): Promise<ListedCall[]> {
    const rows = this.#sql
      .exec<Row>("SELECT id, sealed FROM listed WHERE until > ? ORDER BY updated DESC", Date.now())
      .toArray();
    const all = await Promise.all(
      rows.map(async ({ id, sealed }) => {
        const opened = await sealer.open(new Uint8Array(sealed), placeOf(id));
        return opened && (JSON.parse(decoder.decode(opened)) as ListedCall);
      }),
    );
    return all.filter((one) => one !== undefined);
  }

  /**
   * An event stream: the whole list, then each change. Above `limits.consoleStreams` it ends the oldest stream, and
   * says why.
   */
  async watch(caller: string, sealer: Sealer): Promise<ReadableStream<Uint8Array>> {
    const connection: Connection = new Connection({
      caller,
      keepAliveMs: limits.listenKeepAliveMs,
      life: { ms: limits.callStreamMs, ending: () => `retry: ${limits.retryMs}\n\n` },
      onOver: () => this.#watching.delete(connection),
    });
    // Changes during the reading are sent after the list.
    const early: string[] = [];
    this.#watching.set(connection, (event) => early.push(event));
    const [oldest] = this.#watching.keys();
    if (this.#watching.size > limits.consoleStreams) oldest?.close(crowded());
    try {
      const all = eventOf(await this.all(sealer));
      connection.writeAny(`retry: ${limits.retryMs}\nevent: all\n${all}${early.join("")}`);
    } catch (error) {
      connection.fail(error);
      throw error;
    }
    if (connection.isOpen) this.#watching.set(connection, (event) => connection.write(event));
    return connection.body;
  }

  #tellGone(id: string): void {
    this.#tell(`event: gone\ndata: ${JSON.stringify(id)}\n\n`);
  }

  #tell(event: string): void {
    for (const tell of this.#watching.values()) tell(event);
  }

  /** When the next call expires, in Unix ms; undefined if none is listed. */
  nextEnd(): number | undefined {
    const query = "SELECT MIN(until) AS until FROM listed";
    return this.#sql.exec<{ until: number | null }>(query).one().until ?? undefined;
  }

  dropOld(): void {
    this.#sql.exec("DELETE FROM listed WHERE until <= ?", Date.now());
  }
}

const eventOf = (calls: readonly ListedCall[]): string => `data: ${JSON.stringify(calls)}\n\n`;

/** Tells a page why its stream ends: otherwise it would reconnect at once, and end another. */
const crowded = () => `event: crowded\ndata: ${limits.consoleStreams}\n\n`;

const placeOf = (id: string): string => `listed ${id}`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
