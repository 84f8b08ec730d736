/** Code that pays for fuel; `fuel` is the index of the global that counts it. */
import { limits } from "../../core/limits.ts";
import { leb, signedLeb } from "./bytes.ts";
import { OP } from "./instructions.ts";
import { STRETCH } from "./paths.ts";
import { PARTS } from "./prices.ts";

/** Of what is copied or filled, a unit pays for two to the power of this many bytes; so many are added. */
const BYTES_SHIFT = 3;
const BYTES_ADDED = 96;
const TABLE_ENTRY = 32;

export const unitsOf = (cost: number) => Math.max(1, Math.round(cost / PARTS));

/** Subtracts from the fuel without a check; the next loop or call checks. */
export function payment(units: number, fuel: number): number[] {
  const at = leb(fuel);
  const change = units < 0 ? I64_ADD : I64_SUB;
  return [0x23, ...at, 0x42, ...signedLeb(Math.abs(units)), change, 0x24, ...at];
}
const [I64_ADD, I64_SUB, I64_MULTIPLY] = [0x7c, 0x7d, 0x7e];

/** Subtracts from the fuel, and traps where it is used up. */
export function checkedPayment(units: number, local: number, fuel: number): number[] {
  const [at, left] = [leb(fuel), leb(local)];
  return [
    ...[0x23, ...at, 0x42, ...signedLeb(units), 0x7d, 0x22, ...left, 0x24, ...at],
    ...[0x20, ...left, 0x42, 0, 0x53, OP.if, 0x40, OP.unreachable, OP.end],
  ];
}

/** A function that pays for as many bytes as its parameter says, and returns it. */
export function payForBytes(fuel: number): Uint8Array {
  const bytes = [0x20, 0, 0xad, 0x42, ...signedLeb(BYTES_ADDED), I64_ADD];
  return payFor([...bytes, 0x42, BYTES_SHIFT, 0x88], fuel);
}

/** The same for entries of a table. More than a table can have cost nothing: the instruction fails. */
export function payForEntries(fuel: number): Uint8Array {
  const most = [0x41, ...signedLeb(limits.tableEntries)];
  const entries = [0x20, 0, ...most, 0x20, 0, ...most, 0x49, 0x1b];
  return payFor([...entries, 0xad, 0x42, ...signedLeb(TABLE_ENTRY), I64_MULTIPLY], fuel);
}

/** A function that pays what these instructions leave on the stack, and returns its parameter. */
function payFor(units: number[], fuel: number): Uint8Array {
  const at = leb(fuel);
  const body = [0, 0x23, ...at, ...units, I64_SUB, 0x24, ...at, 0x20, 0, OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}

/** A function that pays for the entry of one whose first stretch is as long as it may be. */
export function payForEntry(fuel: number): Uint8Array {
  const body = [1, 1, 0x7e, ...checkedPayment(unitsOf(STRETCH), 0, fuel), OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}
