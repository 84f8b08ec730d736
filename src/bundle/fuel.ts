/**
 * Counts what a module computes. Its exported global `edge_fuel`, which the host sets, goes down as it
 * runs, and where it is below zero the module traps, which nothing in it can catch.
 *
 * A unit is about a nanosecond: what a turn of a loop or a call takes at least. A function pays as it is
 * entered, a loop before each turn, more where they are long; in between, whatever the way, no more than
 * `STRETCH` instructions go unpaid.
 */
import { concatenate } from "../wasm/image.ts";
import { outline } from "./binary.ts";
import { leb, Reader, sections, signedLeb, text } from "./bytes.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";

/** More would be unpaid on ways that are seldom taken; less would be paid for on all, where they meet. */
const STRETCH = 512;
/** What a unit pays for beyond the first, and the most that is taken to be in a turn or a function. */
const INSTRUCTIONS = 32;
const MOST = 256;
/** A function of no more instructions that neither calls nor loops is paid for by its callers. */
const SMALL = 32;
/** One of no fewer pays by a call as it is entered: its code is smaller for that, and no slower. */
const LARGE = 64;
/** What it costs to make a memory or a table larger, however little, or to throw. */
const SLOW = 500;
/** Of what is copied or filled, a unit pays for two to the power of this many bytes. */
const BYTES_SHIFT = 3;

interface Body {
  locals: Uint8Array;
  code: Uint8Array;
  /** Instructions outside of loops, then those of each loop without the loops in it, in their order. */
  sizes: number[];
  isSmall: boolean;
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
  /** Index of the function that pays for as many bytes as it is given, and gives back their number. */
  payForBytes: number;
  /** The function that pays for the entry of a large one. */
  payForEntry: number;
  /** How many instructions there are in one. */
  sizeOf(instruction: Instruction): number;
}

const ID = { type: 1, function: 3, global: 6, export: 7, code: 10 };

/** The same module with its fuel counted. It has functions, globals and exports, and imports no globals. */
export function metered(wasm: Uint8Array): Uint8Array {
  const all = sections(wasm);
  const reader = (id: number) => new Reader(all.find((one) => one.id === id)!.body);
  const { imports, functionType } = outline(wasm);
  const imported = imports.filter(({ kind }) => kind === "function").length;
  const code = reader(ID.code);
  const bodies = Array.from({ length: code.number() }, (_, at) => {
    const [params] = functionType(imported + at)!.split("->");
    return readBody(code.take(code.number()), params!.split(",").filter(Boolean).length);
  });
  const meter: Meter = {
    fuel: reader(ID.global).number(),
    payForBytes: imported + bodies.length,
    payForEntry: imported + bodies.length + 1,
    sizeOf: ({ opcode, callee }) => {
      if (opcode === OP.callIndirect || opcode === OP.returnCallIndirect) return SMALL;
      const body = callee === undefined ? undefined : bodies[callee - imported];
      return body?.isSmall === true ? body.sizes[0]! : 1;
    },
  };
  const types = reader(ID.type).number();
  const added = new Map<number, readonly number[][]>([
    [
      ID.type,
      [
        [0x60, 1, 0x7f, 1, 0x7f],
        [0x60, 0, 0],
      ],
    ],
    [ID.function, [leb(types), leb(types + 1)]],
    [ID.global, [[0x7e, 1, 0x42, 0, OP.end]]],
    [ID.export, [[...text("edge_fuel"), 3, ...leb(meter.fuel)]]],
  ]);
  const parts = all.flatMap(({ id, body }) => {
    const more = added.get(id);
    if (id === ID.code) {
      const codes = bodies.map((one) => meteredBody(one, meter));
      return section(id, [leb(codes.length + 2), ...codes, payForBytes(meter), payForEntry(meter)]);
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
const LEAVING = new Set<number>([
  ...[OP.unreachable, OP.br, OP.brTable, OP.return, OP.returnCall, OP.returnCallIndirect],
  ...THROWING,
]);
/** What makes a function no small one. */
const HEAVY = new Set<number>([...CALLING, ...THROWING, OP.loop, OP.bulk, OP.memoryGrow]);
/** `memory.init`, `copy` and `fill`, and those of tables: the last operand is how much. */
const BY_LENGTH = new Set([8, 10, 11, 12, 14, 17]);
const TABLE_GROW = 15;

function readBody(bytes: Uint8Array, params: number): Body {
  const reader = new Reader(bytes);
  let nextLocal = params;
  reader.list(() => {
    nextLocal += reader.number();
    reader.skipNumber();
  });
  const begin = reader.at;
  const sizes = [0];
  /** For each open block, whose instructions are those in it. */
  const owners = [0];
  let isSmall = true;
  let calls = 0;
  while (reader.at < bytes.length) {
    const { opcode } = readInstruction(reader);
    const owner = owners.at(-1) ?? 0;
    sizes[owner]!++;
    if (HEAVY.has(opcode)) isSmall = false;
    if (CALLING.has(opcode)) calls += LEAVING.has(opcode) ? 2 : 1;
    if (opcode === OP.loop) owners.push(sizes.push(0) - 1);
    else if (OPENING.has(opcode)) owners.push(owner);
    else if (CLOSING.has(opcode)) owners.pop();
  }
  return {
    locals: bytes.subarray(0, begin),
    code: bytes.subarray(begin),
    sizes,
    isSmall: isSmall && sizes[0]! <= SMALL,
    branches: calls > 1,
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
    const units = unitsOf(Math.min(size, MOST));
    return isChecked ? checkedPayment(units, nextLocal, meter) : payment(units, meter);
  };
  const reader = new Reader(code);
  const out: Part[] = [isSmall ? body.locals : withLocal(body.locals)];
  const blocks: Block[] = [{ opcode: OP.block, before: 0, atLabel: NOWHERE }];
  let loops = 0;
  let unpaid = 0;
  if (sizes[0]! >= LARGE) out.push([OP.call, ...leb(meter.payForEntry)]);
  else if (!isSmall) out.push(pay(sizes[0]!, branches));
  while (reader.at < code.length) {
    if (unpaid >= STRETCH && !isSmall) {
      out.push(payment(unitsOf(unpaid), meter));
      unpaid = 0;
    }
    const begin = reader.at;
    const instruction = readInstruction(reader);
    const { opcode, sub } = instruction;
    const isBulk = opcode === OP.bulk;
    if (opcode === OP.memoryGrow || THROWING.has(opcode) || (isBulk && sub === TABLE_GROW)) {
      out.push(payment(SLOW, meter));
    }
    if (isBulk && BY_LENGTH.has(sub!)) out.push([OP.call, ...leb(meter.payForBytes)]);
    out.push(code.subarray(begin, reader.at));
    unpaid = flow(blocks, instruction, unpaid + meter.sizeOf(instruction));
    if (opcode === OP.loop) out.push(pay(sizes[++loops]!, true));
  }
  const whole = concatenate(out);
  return concatenate([leb(whole.length), whole]);
}

const unitsOf = (size: number) => Math.max(1, Math.floor(size / INSTRUCTIONS));

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
  return [...[0x23, ...at], ...[0x42, ...signedLeb(units)], 0x7d, ...[0x24, ...at]];
}

/** The same; traps where the fuel is used up. */
function checkedPayment(units: number, local: number, { fuel }: Meter): number[] {
  const [at, left] = [leb(fuel), leb(local)];
  return [
    ...[0x23, ...at, 0x42, ...signedLeb(units), 0x7d, 0x22, ...left, 0x24, ...at],
    ...[0x20, ...left, 0x42, 0, 0x53, OP.if, 0x40, OP.unreachable, OP.end],
  ];
}

/** The function for `Meter.payForBytes`. */
function payForBytes({ fuel }: Meter): Uint8Array {
  const at = leb(fuel);
  const units = [0x20, 0, 0xad, 0x42, BYTES_SHIFT, 0x88];
  const body = [0, 0x23, ...at, ...units, 0x7d, 0x24, ...at, 0x20, 0, OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}

/** The function for `Meter.payForEntry`. */
function payForEntry(meter: Meter): Uint8Array {
  const body = [1, 1, 0x7e, ...checkedPayment(unitsOf(MOST), 0, meter), OP.end];
  return Uint8Array.from([...leb(body.length), ...body]);
}
