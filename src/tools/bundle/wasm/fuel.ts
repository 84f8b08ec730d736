/**
 * Counts what a module computes. Its exported global `edge_fuel`, which the host sets, goes down as it
 * runs, and where it is below zero the module traps, which nothing in it can catch.
 *
 * A unit is about a nanosecond: what a turn of a loop or a call takes at least. A function pays as it is
 * entered, a loop before each turn, each for its longest way (paths.ts); where that costs more than
 * `STRETCH` parts, the rest is paid on the way. Prices of instructions are in prices.ts.
 */
import { limits } from "../limits.ts";
import { concatenate } from "../../../server/kernel/wasm/image.ts";
import { extend, outline, SECTION } from "./binary.ts";
import { leb, Reader, sections, signedLeb, text } from "./bytes.ts";
import { readBody, TAIL_CALLS, type FunctionBody } from "./function-body.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";
import { PARTS, priceOf } from "./prices.ts";
import { functionBlocks, flow, longestPaths, STRETCH, THROWING } from "./paths.ts";

/** Fuel of what a servlet computes while a bundle is made, once for all calls and where nobody waits for it. */
export const BUNDLE_FUEL = 10 * limits.fuelPerSecond;

/** Additional cost of calling a small function: most are inlined into their callers. */
const SMALL_CALL = 20;
/** Base cost of growing a memory or a table, or of throwing. */
const SLOW = 500;
/** A change of a table, besides what its entries cost: V8 keeps tables by functions of its own. */
const TABLE_CHANGE = 32;
/** Base cost of `memory.init`. */
const MEMORY_CHANGE = 8;
/**
 * Cost of an exception for each frame that it leaves, and for each handler there that does not take
 * it, as V8 takes for the slowest shape of them: frames of baseline code, and of many functions. Its depth is not known in
 * advance, so in a module that catches any, a function pays this as it is entered, and gets it back as it returns, all but
 * what the paying itself takes.
 */
const FRAME = 140;
const HANDLER = 400;
const DEPOSITING = 3;
/** Indices and prices that the inserted payments use. */
interface Meter {
  /** Index of the global. */
  fuel: number;
  /** Indices of the functions that pay for as many bytes, entries or pages as they are given, and give that back. */
  payForBytes: number;
  payForEntries: number;
  payForPages: number;
  /** The function that pays for the entry of one with a long way: code is smaller for that, and no slower. */
  payForEntry: number;
  /** Cost of an instruction, in parts, including the small function that it calls. */
  costOf(instruction: Instruction): number;
  /** The type of a block with such results; several need a type of their own. */
  blockType(results: readonly string[]): readonly number[];
  /** Most handlers that lie within each other in a function; an exception is caught in one of them. */
  handlers: number;
}

/** The same module with its fuel counted. It has functions, globals and exports, and imports no globals. */
export function metered(wasm: Uint8Array): Uint8Array {
  const all = sections(wasm);
  const reader = (id: number) => new Reader(all.find((one) => one.id === id)!.body);
  const { imports, functionType } = outline(wasm);
  const imported = imports.filter(({ kind }) => kind === "function").length;
  const code = reader(SECTION.code);
  const types = reader(SECTION.type).number();
  const newTypes: number[][] = [
    [0x60, 1, 0x7f, 1, 0x7f],
    [0x60, 0, 0],
  ];
  const blockType = (results: readonly string[]): readonly number[] => {
    if (results.length === 0) return [0x40];
    const bytes = results.flatMap((one) =>
      one.split(":").map((part, at) => Number.parseInt(part, at === 0 ? 16 : 10)),
    );
    if (results.length === 1) return bytes;
    return leb(types - 1 + newTypes.push([0x60, 0, ...leb(results.length), ...bytes]));
  };
  const bodies = Array.from({ length: code.number() }, (_, at) => {
    const [params, results] = functionType(imported + at)!
      .split("->")
      .map((one) => one.split(",").filter(Boolean));
    return readBody(code.take(code.number()), params!.length, results!);
  });
  const costs = bodies.map(({ isSmall, code: own }) =>
    isSmall ? SMALL_CALL + longestPaths(own, priceOf)[0]! : undefined,
  );
  const functions = imported + bodies.length;
  const meter: Meter = {
    fuel: reader(SECTION.global).number(),
    payForBytes: functions,
    payForEntries: functions + 1,
    payForPages: functions + 2,
    payForEntry: functions + 3,
    costOf: (instruction) => costs[(instruction.callee ?? -1) - imported] ?? priceOf(instruction),
    blockType,
    handlers: Math.max(0, ...bodies.map(({ handlers }) => handlers)),
  };
  const codes = bodies.map((one) => meteredBody(one, meter));
  const added = new Map<number, readonly number[][]>([
    [SECTION.type, newTypes],
    [SECTION.function, [leb(types), leb(types), leb(types), leb(types + 1)]],
    [SECTION.global, [[0x7e, 1, 0x42, 0, OP.end]]],
    [SECTION.export, [[...text("edge_fuel"), 3, ...leb(meter.fuel)]]],
  ]);
  const own = [
    payForBytes(meter.fuel),
    payForEach({ most: limits.tableEntries, price: TABLE_ENTRY }, meter.fuel),
    payForEach({ most: MOST_PAGES, price: MEMORY_PAGE }, meter.fuel),
    payForEntry(meter.fuel),
  ];
  return extend(wasm, added, [...codes, ...own]);
}

type Part = readonly number[] | Uint8Array;

/** `memory.init`, `copy` and `fill`, and those of tables: the last operand is how much. */
const BY_LENGTH = new Set([10, 11]);
const BY_ENTRIES = new Set([12, 14, 15, 17]);
const MEMORY_INIT = 8;
const TABLE_GROW = 15;
function meteredBody(body: FunctionBody, meter: Meter): Uint8Array {
  const { code, isSmall, branches, nextLocal } = body;
  const ways = longestPaths(code, meter.costOf);
  const pay = (size: number, isChecked: boolean) => {
    const units = unitsOf(Math.min(size, STRETCH));
    return isChecked ? checkedPayment(units, nextLocal, meter.fuel) : payment(units, meter.fuel);
  };
  const deposit = meter.handlers > 0 && body.throws ? FRAME + HANDLER * body.handlers : 0;
  const reader = new Reader(code);
  const out: Part[] = [isSmall ? body.locals : withLocal(body.locals)];
  const blocks = functionBlocks();
  let loops = 0;
  let unpaid = 0;
  if (ways[0]! >= STRETCH) out.push([OP.call, ...leb(meter.payForEntry)]);
  else if (!isSmall) out.push(pay(ways[0]!, branches));
  // All that returns goes to the end of a block, where the deposit is given back.
  if (deposit > 0)
    out.push(payment(deposit, meter.fuel), [OP.block, ...meter.blockType(body.results)]);
  while (reader.at < code.length) {
    if (unpaid >= STRETCH && !isSmall) {
      out.push(payment(unitsOf(unpaid), meter.fuel));
      unpaid = 0;
    }
    const at = reader.at;
    const instruction = readInstruction(reader);
    out.push(...beforehand(instruction, meter));
    if (deposit > 0 && instruction.opcode === OP.return) {
      out.push([OP.br, ...leb(blocks.length - 1)]);
    } else {
      const isEnd = reader.at === code.length;
      if (deposit > 0 && isEnd) out.push([OP.end]);
      if (deposit > 0 && (isEnd || TAIL_CALLS.has(instruction.opcode))) {
        out.push(payment(DEPOSITING - deposit, meter.fuel));
      }
      out.push(code.subarray(at, reader.at));
    }
    unpaid = flow(blocks, instruction, unpaid + meter.costOf(instruction));
    if (instruction.opcode === OP.loop) out.push(pay(ways[++loops]!, true));
  }
  const whole = concatenate(out);
  return concatenate([leb(whole.length), whole]);
}

/** Payment before an instruction whose cost depends on its operands or its surroundings. */
function beforehand({ opcode, sub = -1 }: Instruction, meter: Meter): Part[] {
  if (opcode === OP.memoryGrow)
    return [[OP.call, ...leb(meter.payForPages)], payment(SLOW, meter.fuel)];
  if (THROWING.has(opcode)) return [payment(SLOW + HANDLER * meter.handlers, meter.fuel)];
  if (opcode === OP.tableSet) return [payment(TABLE_CHANGE, meter.fuel)];
  if (opcode !== OP.bulk) return [];
  const byBytes: Part = [OP.call, ...leb(meter.payForBytes)];
  if (sub === MEMORY_INIT) return [byBytes, payment(MEMORY_CHANGE, meter.fuel)];
  if (BY_LENGTH.has(sub)) return [byBytes];
  if (!BY_ENTRIES.has(sub)) return [];
  const change = payment(sub === TABLE_GROW ? SLOW : TABLE_CHANGE, meter.fuel);
  return [[OP.call, ...leb(meter.payForEntries)], change];
}

/** Declarations of locals, with one more of type i64. */
function withLocal(locals: Uint8Array): Uint8Array {
  const old = new Reader(locals);
  return concatenate([leb(old.number() + 1), locals.subarray(old.at), [1, 0x7e]]);
}

/** Of what is copied or filled, a unit pays for two to the power of this many bytes; so many are added. */
const BYTES_SHIFT = 3;
const BYTES_ADDED = 96;
const TABLE_ENTRY = 32;
/** A page of memory: the machine makes it zero when it is first written, in parts of 4 KiB, and the host when it is put back. */
const MEMORY_PAGE = 16_000;
const MOST_PAGES = limits.memoryBytes / 65536;

const unitsOf = (cost: number) => Math.max(1, Math.round(cost / PARTS));

/** Subtracts from the fuel without a check; the next loop or call checks. */
function payment(units: number, fuel: number): number[] {
  const at = leb(fuel);
  const change = units < 0 ? I64_ADD : I64_SUB;
  return [0x23, ...at, 0x42, ...signedLeb(Math.abs(units)), change, 0x24, ...at];
}
const [I64_ADD, I64_SUB, I64_MULTIPLY] = [0x7c, 0x7d, 0x7e];

/** Subtracts from the fuel, and traps where it is used up. */
function checkedPayment(units: number, local: number, fuel: number): number[] {
  const [at, left] = [leb(fuel), leb(local)];
  return [
    0x23,
    ...at,
    0x42,
    ...signedLeb(units),
    0x7d,
    0x22,
    ...left,
    0x24,
    ...at,
    0x20,
    ...left,
    0x42,
    0,
    0x53,
    OP.if,
    0x40,
    OP.unreachable,
    OP.end,
  ];
}

/** A function that pays for as many bytes as its parameter says, and returns it. */
function payForBytes(fuel: number): Uint8Array {
  const bytes = [0x20, 0, 0xad, 0x42, ...signedLeb(BYTES_ADDED), I64_ADD];
  return payFor([...bytes, 0x42, BYTES_SHIFT, 0x88], fuel);
}

/** The same for entries of a table or pages of memory, each at a price. Where it asks for more than there can be, it pays for the most. */
function payForEach({ most, price }: { most: number; price: number }, fuel: number): Uint8Array {
  const bound = [0x41, ...signedLeb(most)];
  const count = [0x20, 0, ...bound, 0x20, 0, ...bound, 0x49, 0x1b];
  return payFor([...count, 0xad, 0x42, ...signedLeb(price), I64_MULTIPLY], fuel);
}

/** A function that pays what these instructions leave on the stack, and returns its parameter. */
function payFor(units: number[], fuel: number): Uint8Array {
  const at = leb(fuel);
  const body = [0, 0x23, ...at, ...units, I64_SUB, 0x24, ...at, 0x20, 0, OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}

/** A function that pays for the entry of one whose first stretch is as long as it may be. */
function payForEntry(fuel: number): Uint8Array {
  const body = [1, 1, 0x7e, ...checkedPayment(unitsOf(STRETCH), 0, fuel), OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}
