/**
 * Counts what a module computes. Its exported global `edge_fuel`, which the host sets, goes down as it
 * runs, and where it is below zero the module traps, which nothing in it can catch.
 *
 * A unit is about a nanosecond: what a turn of a loop or a call takes at least. A function pays as it is
 * entered, a loop before each turn, more where they are long; in between, whatever the way, no more than
 * `STRETCH` instructions go unpaid.
 */
import { limits } from "../limits.ts";
import { concatenate } from "../wasm/image.ts";
import { outline } from "./binary.ts";
import { leb, Reader, sections, signedLeb, text } from "./bytes.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";
import { PARTS, priceOf } from "./prices.ts";

/** What may be unpaid on any way, in parts; and the most that is taken to be in a turn or a function. */
const STRETCH = 256;
/** A function of no more instructions that neither calls nor loops is paid for by its callers. */
const SMALL = 32;
/** One of no fewer pays by a call as it is entered: its code is smaller for that, and no slower. */
const LARGE = 64;
/** What it costs to make a memory or a table larger, however little, or to throw. */
const SLOW = 500;
/** A change of a table, besides what its entries cost: V8 keeps tables by functions of its own. */
const TABLE_CHANGE = 32;
const TABLE_ENTRY = 32;
/** Of what is copied or filled, a unit pays for two to the power of this many bytes; so many are added. */
const BYTES_SHIFT = 3;
const BYTES_ADDED = 48;
/**
 * What an exception costs for each frame that it leaves, and for each handler there that does not take
 * it. Nobody knows how deep it will go, so in a module that catches any, a function pays this as it is
 * entered, and gets it back as it returns.
 */
const FRAME = 32;
const HANDLER = 96;

interface Body {
  locals: Uint8Array;
  code: Uint8Array;
  /** What costs what is outside of loops, then each loop without the loops in it, in their order. */
  sizes: number[];
  /** Which functions it calls by name, and in which of these. */
  callees: { owner: number; callee: number }[];
  /** How many instructions there are. */
  count: number;
  isSmall: boolean;
  /** May an exception leave it? */
  throws: boolean;
  /** How many handlers lie within each other. */
  handlers: number;
  /** What its results are, as the type of a block. */
  results: readonly number[];
  /**
   * May many calls follow from it, though it has no loop? One call after another ends where the stack
   * does, which nothing can catch either, but not two in each, nor one in the caller's place.
   */
  branches: boolean;
  /** The first index that no local has. */
  nextLocal: number;
}

/** What the payments of a module refer to. */
interface Meter {
  /** Index of the global. */
  fuel: number;
  /** Indices of the functions that pay for as many bytes or entries as they are given, and give that back. */
  payForBytes: number;
  payForEntries: number;
  /** The function that pays for the entry of a large one. */
  payForEntry: number;
  /** What an instruction costs, in parts, with the small function that it calls. */
  sizeOf(instruction: Instruction): number;
  /** Most handlers that lie within each other in a function; an exception is caught in one of them. */
  handlers: number;
}

const ID = { type: 1, function: 3, global: 6, export: 7, code: 10 };

/** The same module with its fuel counted. It has functions, globals and exports, and imports no globals. */
export function metered(wasm: Uint8Array): Uint8Array {
  const all = sections(wasm);
  const reader = (id: number) => new Reader(all.find((one) => one.id === id)!.body);
  const { imports, functionType } = outline(wasm);
  const imported = imports.filter(({ kind }) => kind === "function").length;
  const code = reader(ID.code);
  const types = reader(ID.type).number();
  const newTypes: number[][] = [
    [0x60, 1, 0x7f, 1, 0x7f],
    [0x60, 0, 0],
  ];
  /** The type of a block with such results; several need a type of their own. */
  const blockType = (results: string[]): readonly number[] => {
    if (results.length === 0) return [0x40];
    const bytes = results.flatMap((one) =>
      one.split(":").map((part, at) => Number.parseInt(part, at === 0 ? 16 : 10)),
    );
    return results.length === 1
      ? bytes
      : leb(types - 1 + newTypes.push([0x60, 0, results.length, ...bytes]));
  };
  const bodies = Array.from({ length: code.number() }, (_, at) => {
    const [params, results] = functionType(imported + at)!
      .split("->")
      .map((one) => one.split(",").filter(Boolean));
    return readBody(code.take(code.number()), params!.length, blockType(results!));
  });
  const small = (callee = -1) => {
    const body = bodies[callee - imported];
    return body?.isSmall === true ? body.sizes[0]! : undefined;
  };
  for (const { sizes, callees } of bodies) {
    for (const { owner, callee } of callees) {
      const size = small(callee);
      if (size !== undefined) sizes[owner]! += size - priceOf({ opcode: OP.call });
    }
  }
  const functions = imported + bodies.length;
  const meter: Meter = {
    fuel: reader(ID.global).number(),
    payForBytes: functions,
    payForEntries: functions + 1,
    payForEntry: functions + 2,
    sizeOf: (instruction) => small(instruction.callee) ?? priceOf(instruction),
    handlers: Math.max(0, ...bodies.map(({ handlers }) => handlers)),
  };
  const added = new Map<number, readonly number[][]>([
    [ID.type, newTypes],
    [ID.function, [leb(types), leb(types), leb(types + 1)]],
    [ID.global, [[0x7e, 1, 0x42, 0, OP.end]]],
    [ID.export, [[...text("edge_fuel"), 3, ...leb(meter.fuel)]]],
  ]);
  const parts = all.flatMap(({ id, body }) => {
    const more = added.get(id);
    if (id === ID.code) {
      const codes = bodies.map((one) => meteredBody(one, meter));
      const own = [payForBytes(meter), payForEntries(meter), payForEntry(meter)];
      return section(id, [leb(codes.length + own.length), ...codes, ...own]);
    }
    if (more === undefined) return section(id, [body]);
    const old = new Reader(body);
    return section(id, [leb(old.number() + more.length), body.subarray(old.at), ...more]);
  });
  return concatenate([wasm.subarray(0, 8), ...parts]);
}

type Part = readonly number[] | Uint8Array;

function section(id: number, parts: Part[]): Uint8Array[] {
  const body = concatenate(parts);
  return [Uint8Array.from([id, ...leb(body.length)]), body];
}

const OPENING = new Set<number>([OP.block, OP.loop, OP.if, OP.try, OP.tryTable]);
const CLOSING = new Set<number>([OP.end, OP.delegate]);
const THROWING = new Set<number>([OP.throw, OP.rethrow, OP.throwRef]);
const CALLING = new Set<number>([
  ...[OP.call, OP.callIndirect, OP.returnCall, OP.returnCallIndirect],
]);
const TAIL_CALLS = new Set<number>([OP.returnCall, OP.returnCallIndirect]);
const LEAVING = new Set<number>([
  ...[OP.unreachable, OP.br, OP.brTable, OP.return, OP.returnCall, OP.returnCallIndirect],
  ...THROWING,
]);
/** What makes a function no small one. */
const HEAVY = new Set<number>([
  ...CALLING,
  ...THROWING,
  OP.loop,
  OP.bulk,
  OP.memoryGrow,
  OP.tableSet,
]);
/** `memory.init`, `copy` and `fill`, and those of tables: the last operand is how much. */
const BY_LENGTH = new Set([8, 10, 11]);
const BY_ENTRIES = new Set([12, 14, 15, 17]);
const TABLE_GROW = 15;
const TRYING = new Set<number>([OP.try, OP.tryTable]);

function readBody(bytes: Uint8Array, params: number, results: readonly number[]): Body {
  const reader = new Reader(bytes);
  let nextLocal = params;
  reader.list(() => {
    nextLocal += reader.number();
    reader.skipNumber();
  });
  const begin = reader.at;
  const sizes = [0];
  /** For each open block, whose instructions are those in it, and how many handlers it lies in. */
  const open = [{ owner: 0, handlers: 0 }];
  const callees: Body["callees"] = [];
  let isHeavy = false;
  let calls = 0;
  let throws = false;
  let handlers = 0;
  let count = 0;
  while (reader.at < bytes.length) {
    const instruction = readInstruction(reader);
    const { opcode, callee } = instruction;
    const top = open.at(-1) ?? { owner: 0, handlers: 0 };
    count++;
    sizes[top.owner]! += priceOf(instruction);
    if (opcode === OP.call) callees.push({ owner: top.owner, callee: callee! });
    if (HEAVY.has(opcode)) isHeavy = true;
    if (CALLING.has(opcode)) calls += LEAVING.has(opcode) ? 2 : 1;
    if (THROWING.has(opcode)) throws = true;
    if (OPENING.has(opcode)) {
      open.push({
        owner: opcode === OP.loop ? sizes.push(0) - 1 : top.owner,
        handlers: top.handlers + (TRYING.has(opcode) ? 1 : 0),
      });
      handlers = Math.max(handlers, open.at(-1)!.handlers);
    } else if (CLOSING.has(opcode)) open.pop();
  }
  return {
    locals: bytes.subarray(0, begin),
    code: bytes.subarray(begin),
    sizes,
    callees,
    count,
    isSmall: !isHeavy && count <= SMALL && sizes[0]! <= STRETCH,
    branches: calls > 1,
    throws: throws || calls > 0,
    handlers,
    results,
    nextLocal,
  };
}

/** No way leads here. */
const NOWHERE = -Infinity;

/** An open block: how many instructions may be unpaid where it begins, and at its label. */
interface Block {
  opcode: number;
  before: number;
  atLabel: number;
}

function meteredBody(body: Body, meter: Meter): Uint8Array {
  const { code, sizes, isSmall, branches, nextLocal } = body;
  const pay = (size: number, isChecked: boolean) => {
    const units = unitsOf(Math.min(size, STRETCH));
    return isChecked ? checkedPayment(units, nextLocal, meter) : payment(units, meter);
  };
  const deposit = meter.handlers > 0 && body.throws ? FRAME + HANDLER * body.handlers : 0;
  const reader = new Reader(code);
  const out: Part[] = [isSmall ? body.locals : withLocal(body.locals)];
  const blocks: Block[] = [{ opcode: OP.block, before: 0, atLabel: NOWHERE }];
  let loops = 0;
  let unpaid = 0;
  if (body.count >= LARGE || sizes[0]! >= STRETCH) out.push([OP.call, ...leb(meter.payForEntry)]);
  else if (!isSmall) out.push(pay(sizes[0]!, branches));
  // All that returns goes to the end of a block, where the deposit is given back.
  if (deposit > 0) out.push(payment(deposit, meter), [OP.block, ...body.results]);
  while (reader.at < code.length) {
    if (unpaid >= STRETCH && !isSmall) {
      out.push(payment(unitsOf(unpaid), meter));
      unpaid = 0;
    }
    const begin = reader.at;
    const instruction = readInstruction(reader);
    out.push(...beforehand(instruction, meter));
    if (deposit > 0 && instruction.opcode === OP.return) {
      out.push([OP.br, ...leb(blocks.length - 1)]);
    } else {
      const isEnd = reader.at === code.length;
      if (deposit > 0 && isEnd) out.push([OP.end]);
      if (deposit > 0 && (isEnd || TAIL_CALLS.has(instruction.opcode))) {
        out.push(payment(-deposit, meter));
      }
      out.push(code.subarray(begin, reader.at));
    }
    unpaid = flow(blocks, instruction, unpaid + meter.sizeOf(instruction));
    if (instruction.opcode === OP.loop) out.push(pay(sizes[++loops]!, true));
  }
  const whole = concatenate(out);
  return concatenate([leb(whole.length), whole]);
}

/** What is paid before an instruction whose cost its operands or its surroundings decide. */
function beforehand({ opcode, sub = -1 }: Instruction, meter: Meter): Part[] {
  if (opcode === OP.memoryGrow) return [payment(SLOW, meter)];
  if (THROWING.has(opcode)) return [payment(SLOW + HANDLER * meter.handlers, meter)];
  if (opcode === OP.tableSet) return [payment(TABLE_CHANGE, meter)];
  if (opcode !== OP.bulk) return [];
  if (BY_LENGTH.has(sub)) return [[OP.call, ...leb(meter.payForBytes)]];
  if (!BY_ENTRIES.has(sub)) return [];
  const change = payment(sub === TABLE_GROW ? SLOW : TABLE_CHANGE, meter);
  return [[OP.call, ...leb(meter.payForEntries)], change];
}

const unitsOf = (size: number) => Math.max(1, Math.ceil(size / PARTS));

/** Declarations of locals, with one more of type i64. */
function withLocal(locals: Uint8Array): Uint8Array {
  const old = new Reader(locals);
  return concatenate([leb(old.number() + 1), locals.subarray(old.at), [1, 0x7e]]);
}

const labelled = (blocks: Block[], depth: number): Block => blocks[blocks.length - 1 - depth]!;

/** How many instructions may be unpaid after this one, with so many up to it. */
function flow(blocks: Block[], { opcode, labels }: Instruction, unpaid: number): number {
  const top = labelled(blocks, 0);
  // Where an exception comes from is not known.
  for (const depth of labels ?? []) reach(blocks, depth, opcode === OP.tryTable ? STRETCH : unpaid);
  if (OPENING.has(opcode)) {
    blocks.push({ opcode, before: unpaid, atLabel: NOWHERE });
    return opcode === OP.loop ? 0 : unpaid;
  }
  if (LEAVING.has(opcode)) return NOWHERE;
  if (opcode === OP.else || opcode === OP.catch || opcode === OP.catchAll) {
    top.opcode = opcode;
    top.atLabel = Math.max(top.atLabel, unpaid);
    return opcode === OP.else ? top.before : STRETCH;
  }
  if (!CLOSING.has(opcode)) return unpaid;
  blocks.pop();
  if (top.opcode === OP.loop) return unpaid === NOWHERE ? NOWHERE : top.before;
  return Math.max(top.atLabel, unpaid, top.opcode === OP.if ? top.before : NOWHERE);
}

/** A way leads to a label. What is unpaid in a loop that it leaves was paid for with the turn. */
function reach(blocks: Block[], depth: number, unpaid: number): void {
  const target = blocks.length - 1 - depth;
  const left = blocks.slice(target + 1).find(({ opcode }) => opcode === OP.loop);
  const block = labelled(blocks, depth);
  block.atLabel = Math.max(block.atLabel, left === undefined ? unpaid : left.before);
}

/** Leaves what is left in the global; it need not be checked where the next loop or call does. */
function payment(units: number, { fuel }: Meter): number[] {
  const at = leb(fuel);
  const change = units < 0 ? I64_ADD : I64_SUB;
  return [0x23, ...at, 0x42, ...signedLeb(Math.abs(units)), change, 0x24, ...at];
}
const [I64_ADD, I64_SUB] = [0x7c, 0x7d];

/** The same; traps where the fuel is used up. */
function checkedPayment(units: number, local: number, { fuel }: Meter): number[] {
  const [at, left] = [leb(fuel), leb(local)];
  return [
    ...[0x23, ...at, 0x42, ...signedLeb(units), 0x7d, 0x22, ...left, 0x24, ...at],
    ...[0x20, ...left, 0x42, 0, 0x53, OP.if, 0x40, OP.unreachable, OP.end],
  ];
}

/** The function for `Meter.payForBytes`. */
function payForBytes(meter: Meter): Uint8Array {
  const bytes = [0x20, 0, 0xad, 0x42, ...signedLeb(BYTES_ADDED), I64_ADD];
  return payFor([...bytes, 0x42, BYTES_SHIFT, 0x88], meter);
}

/** The function for `Meter.payForEntries`. Where there are more than there can be, nothing is done. */
function payForEntries(meter: Meter): Uint8Array {
  const most = [0x41, ...signedLeb(limits.tableEntries)];
  const entries = [0x20, 0, ...most, 0x20, 0, ...most, 0x49, 0x1b];
  return payFor([...entries, 0xad, 0x42, ...signedLeb(TABLE_ENTRY), 0x7e], meter);
}

/** A function that pays what these instructions leave, and gives back what it was given. */
function payFor(units: number[], { fuel }: Meter): Uint8Array {
  const at = leb(fuel);
  const body = [0, 0x23, ...at, ...units, I64_SUB, 0x24, ...at, 0x20, 0, OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}

/** The function for `Meter.payForEntry`. */
function payForEntry(meter: Meter): Uint8Array {
  const body = [1, 1, 0x7e, ...checkedPayment(unitsOf(STRETCH), 0, meter), OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}
