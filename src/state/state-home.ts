/** Where the state of a scope is kept, of the two places where it can be, and how it goes from one to the other. */
import type { PreparedServlet } from "../servlets/bundle.ts";
import type { StatePlace } from "./state-place.ts";
import { isAtEnd, positionAfter, FIRST_POSITION } from "../storage/stored-rows.ts";
import { hasTable } from "../storage/tables.ts";

/** The object's own database, and its facet. */
type Home = "own" | "facet";

/**
 * The places of one scope. One of them, its home, has all of the state. When the servlet goes from the bundle to an
 * install or back, its rows are copied to the other place, which then becomes the home. Copying that was cut off begins
 * anew.
 */
export class StateHome {
  readonly #storage: DurableObjectStorage;
  readonly #places: Record<Home, StatePlace>;
  #known: Home | undefined;
  /** True if nothing is in the place that is not the home. */
  #isAlone = false;

  constructor(storage: DurableObjectStorage, places: Record<Home, StatePlace>) {
    this.#storage = storage;
    this.#places = places;
  }

  /** The place that has the state. */
  get place(): StatePlace {
    return this.#places[this.#home];
  }

  /** The place in which this servlet runs, which then has the state. */
  async placeFor(servlet: PreparedServlet): Promise<StatePlace> {
    const wanted = servlet.module !== undefined ? "own" : "facet";
    if (this.#home !== wanted) await this.#move(servlet, wanted);
    if (!this.#isAlone) this.#clear(wanted === "own" ? "facet" : "own");
    return this.#places[wanted];
  }

  /** Copies what is kept to the other place, which becomes the home. */
  async #move(servlet: PreparedServlet, to: Home): Promise<void> {
    const [source, target] = [this.place, this.#places[to]];
    if (!source.isEmpty()) {
      this.#clear(to);
      for (let at = FIRST_POSITION; !isAtEnd(at);) {
        const rows = await source.rowsAt(at);
        const next = positionAfter(at, rows);
        if (rows.length > 0) await target.putRows(servlet, at, rows);
        at = next;
      }
    }
    this.#storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS home (id INTEGER PRIMARY KEY, home TEXT NOT NULL)",
    );
    this.#storage.sql.exec("INSERT OR REPLACE INTO home VALUES (0, ?)", to);
    this.#known = to;
    this.#isAlone = false;
    await this.#storage.sync();
  }

  /** Deletes what copying has left in a place that is not the home. */
  #clear(place: Home): void {
    if (!this.#places[place].isEmpty()) this.#places[place].delete();
    this.#isAlone = true;
  }

  get #home(): Home {
    this.#known ??= this.#stored;
    return this.#known;
  }

  get #stored(): Home {
    const { sql } = this.#storage;
    if (!hasTable(sql, "home")) return "own";
    return sql.exec<{ home: Home }>("SELECT home FROM home").toArray()[0]?.home ?? "own";
  }
}
