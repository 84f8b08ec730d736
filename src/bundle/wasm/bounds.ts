import { limits } from "../../core/limits.ts";
import { initialEntries, paramsOf, type Outline } from "./binary.ts";
import { Refusal } from "../refusal.ts";

/** Mutable globals of one servlet: each takes 150 bytes outside of its memory; compilers make about ten. */
const MUTABLE_GLOBALS = 10_000;
/**
 * Values in one exception: 30 bytes and 15 ns each, outside of the guest's memory, for as long as it is
 * held. Compilers throw an address.
 */
const EXCEPTION_VALUES = 8;

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
  if (mutableGlobals.length > MUTABLE_GLOBALS) {
    throw new Refusal(
      `it has ${mutableGlobals.length} mutable globals, and ${MUTABLE_GLOBALS} is the limit: keep its variables in memory`,
    );
  }
  const values = Math.max(0, ...tagTypes.map((type) => paramsOf(type).length));
  if (values > EXCEPTION_VALUES) {
    throw new Refusal(
      `it has an exception with ${values} values, and ${EXCEPTION_VALUES} is the limit: keep them in memory, and throw their address`,
    );
  }
}
