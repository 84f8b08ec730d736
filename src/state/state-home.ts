/** Where the state of a scope is kept, of the two places where it can be, and how it goes from one to the other. */
import type { PreparedServlet } from "../servlets/bundle.ts";
import type { StatePlace } from "./state-place.ts";
import { isAtEnd, positionAfter, START, type Position } from "../storage/stored-rows.ts";
import { hasTable } from "../storage/tables.ts";

/** The object's own database, and its facet. */
type Home = "own" | "facet";

/** The rows that are left to copy to the other place, if that has begun. */
interface Stored {
  home: Home;
  moving: Position | undefined;
}

/**
 * The places of one scope. One of them, its home, has all of the state. When the servlet goes from the bundle to an
 * install or back, its rows are copied to the other place, which then becomes the home. Copying that was cut off goes
 * on where it was, unless the state was used at home since.
 */
export class StateHome {
  readonly #storage: DurableObjectStorage;
  readonly #places: Record<Home, StatePlace>;
  #known: Stored | undefined;
  /** True if nothing is in the place that is not the home. */
  #isAlone = false;

  constructor(storage: DurableObjectStorage, places: Record<Home, StatePlace>) {
    this.#storage = storage;
    this.#places = places;
  }

  /** The place that has the state. */
  get place(): StatePlace {
    return this.#places[this.#stored.home];
  }

  /** The place in which this servlet runs, which then has the state. */
  async placeFor(servlet: PreparedServlet): Promise<StatePlace> {
    const wanted = servlet.module !== undefined ? "own" : "facet";
    if (this.#stored.home !== wanted) await this.#move(servlet, wanted);
    else if (!this.#isAlone) this.#clear(wanted === "own" ? "facet" : "own");
    return this.#places[wanted];
  }

  /** Copies what is kept to the other place, and deletes it where it was. */
  async #move(servlet: PreparedServlet, to: Home): Promise<void> {
    const { home } = this.#stored;
    const [source, target] = [this.#places[home], this.#places[to]];
    this.#isAlone = false;
    if (!source.isEmpty()) {
      if (this.#stored.moving === undefined) {
        this.#clear(to);
        this.#store({ home, moving: START });
      }
      for (let at = this.#stored.moving ?? START; !isAtEnd(at);) {
        const rows = await source.rowsAt(at);
        const next = positionAfter(at, rows);
        if (rows.length > 0) await target.putRows(servlet, at, rows);
        this.#store({ home, moving: (at = next) });
      }
    }
    this.#store({ home: to, moving: undefined });
    await this.#storage.sync();
    this.#clear(home);
  }

  /** Deletes what is in the place that is not the home: of copying that was cut off, or came to its end. */
  #clear(place: Home): void {
    const { home, moving } = this.#stored;
    if (moving !== undefined || !this.#places[place].isEmpty()) this.#places[place].delete();
    if (moving !== undefined) this.#store({ home, moving: undefined });
    this.#isAlone = true;
  }

  get #stored(): Stored {
    return (this.#known ??= this.#read());
  }

  #read(): Stored {
    const { sql } = this.#storage;
    const row = hasTable(sql, "home")
      ? sql.exec("SELECT home, moving FROM home").toArray()[0]
      : undefined;
    if (row !== undefined) {
      const { home, moving } = row as { home: Home; moving: string | null };
      return { home, moving: moving === null ? undefined : (JSON.parse(moving) as Position) };
    }
    const { own, facet } = this.#places;
    return { home: own.isEmpty() && !facet.isEmpty() ? "facet" : "own", moving: undefined };
  }

  #store({ home, moving }: Stored): void {
    const { sql } = this.#storage;
    this.#known = undefined;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS home (id INTEGER PRIMARY KEY, home TEXT NOT NULL, moving TEXT)",
    );
    const text = moving === undefined ? null : JSON.stringify(moving);
    sql.exec("INSERT OR REPLACE INTO home VALUES (0, ?, ?)", home, text);
    this.#known = { home, moving };
  }
}
