import { limits } from "../../core/limits.ts";
import { initialEntries, paramsOf, type Outline } from "./binary.ts";
import { Refusal } from "../refusal.ts";

/** Types that tables and globals may hold: numbers, vectors, functions, external references. */
const HELD_TYPES = new Set(["7f", "7e", "7d", "7c", "7b", "70", "6f"]);

/** Refuses what takes memory that `memory_limit` does not bound. */
export function checkBounds({ tables, mutableGlobals, globals, tagTypes }: Outline): void {
  const entries = initialEntries(tables);
  if (entries > limits.tableEntries) {
    throw new Refusal(
      `its tables start with ${entries} entries (each table counts as ${limits.tableOverhead} more), and ${limits.tableEntries} is the limit: take the address of fewer functions, or split it into several servlets`,
    );
  }
  if (![...tables, ...globals].every(({ type }) => HELD_TYPES.has(type))) {
    throw new Refusal(
      "it keeps exceptions (exnref) or other references in a table or a global, which may hold numbers, functions and external references only: keep them in locals",
    );
  }
  if (mutableGlobals.length > limits.mutableGlobals) {
    throw new Refusal(
      `it has ${mutableGlobals.length} mutable globals, and ${limits.mutableGlobals} is the limit: keep its variables in memory`,
    );
  }
  const values = Math.max(0, ...tagTypes.map((type) => paramsOf(type).length));
  if (values > limits.exceptionValues) {
    throw new Refusal(
      `it has an exception with ${values} values, and ${limits.exceptionValues} is the limit: keep them in memory, and throw their address`,
    );
  }
}
