/**
 * Costs of instructions, in parts of a unit of fuel. `npm run bench -- fuel` measures each class. None
 * takes more than four times its price, but loads and stores that miss the caches.
 */
import { OP, type Instruction } from "./instructions.ts";

/** The parts of a unit. One pays for the simplest instruction, of which compilers turn most into nothing. */
export const PARTS = 32;

/** For each price, the opcodes or ranges of them that have it; the others cost 1. */
const PRICES: [price: number, ...opcodes: (number | [from: number, to: number])[]][] = [
  // `select`.
  [2, 0x1b, 0x1c],
  // Comparisons of integers.
  [10, [0x45, 0x5a]],
  // Counts of bits; products of integers; comparisons of floats; reinterpretations.
  [10, [0x67, 0x69], 0x6c, [0x79, 0x7b], 0x7e, [0x5b, 0x66], [0xbc, 0xbf]],
  // Branches that may be mispredicted: `if`, `br_if`.
  [14, OP.if, OP.brIf],
  // Stores.
  [12, [0x36, 0x3e]],
  // `global.set`, which may wait for the one before.
  [16, 0x24],
  // Conversions between floats.
  [24, 0xb6, 0xbb],
  // Calls.
  [32, OP.call],
  // Loads; rounding of floats, rotation, `copysign`.
  [48, [0x28, 0x35], [0x8d, 0x90], [0x9b, 0x9e], [0x77, 0x78], [0x89, 0x8a], 0x98, 0xa6],
  // Division of integers, minima and maxima of floats, conversions.
  [64, [0x6d, 0x70], [0x7f, 0x82], [0x96, 0x97], [0xa4, 0xa5], [0xa8, 0xb5], [0xb7, 0xba]],
  // Tail calls, `table.get`.
  [64, OP.returnCall, 0x25],
  // Sums, products, quotients and roots of floats: 35 to 45 ns on Intel's processors where one is subnormal.
  [384, [0x92, 0x94], [0xa0, 0xa2]],
  [448, 0x91, 0x95, 0x9f, 0xa3],
  [80, OP.brTable],
  [224, OP.callIndirect, OP.returnCallIndirect],
];

/** The same for vectors; the others cost 20. */
const VECTOR_PRICES: typeof PRICES = [
  // Shifts, which have no instruction of their own for bytes.
  [32, [0x6b, 0x6d], [0x8b, 0x8d], [0xab, 0xad], [0xcb, 0xcd]],
  // Stores, of lanes too.
  [24, 0x0b, [0x58, 0x5b]],
  // Rounding, products.
  [40, 0x82, 0xd5, 0xb5, 0xba, [0x67, 0x6a], 0x74, 0x75, 0x7a, 0x94],
  // Loads, of lanes too.
  [48, [0, 0x0a], [0x54, 0x57], 0x5c, 0x5d],
  // Minima, maxima, conversions.
  [128, [0xe8, 0xe9], [0xf4, 0xf5], [0xf8, 0xff]],
  // Sums, products, quotients and roots of floats.
  [384, [0xe4, 0xe6], [0xf0, 0xf2]],
  [448, 0xe3, 0xe7, 0xef, 0xf3],
];

/** Conversions that saturate, `data.drop` and `elem.drop`; what else has this prefix is paid for in fuel.ts. */
const BULK_PRICES: typeof PRICES = [[64, [0, 7], 9, 13]];

/** A price for each of 256 opcodes. */
function table(prices: typeof PRICES, others: number): number[] {
  const all = Array.from({ length: 256 }, () => others);
  for (const [price, ...opcodes] of prices) {
    for (const one of opcodes) {
      const [from, to] = typeof one === "number" ? [one, one] : one;
      all.fill(price, from, to + 1);
    }
  }
  return all;
}

const plain = table(PRICES, 1);
const vector = table(VECTOR_PRICES, 20);
const bulk = table(BULK_PRICES, 1);

/** Cost of an instruction, in parts, without the part that depends on its operands. */
export function priceOf({ opcode, sub = 0 }: Instruction): number {
  if (opcode === OP.simd) return vector[sub]!;
  return (opcode === OP.bulk ? bulk[sub] : plain[opcode])!;
}
