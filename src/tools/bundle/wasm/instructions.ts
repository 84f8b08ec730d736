import { Refusal } from "../refusal.ts";
import type { Reader } from "./bytes.ts";

/** The parts of an instruction that determine control flow and cost. */
export interface Instruction {
  opcode: number;
  /** Of the prefixes 0xfc and 0xfd: which instruction it is. */
  sub?: number;
  /** Depths of the labels that it may go to. */
  labels?: number[];
  /** The function that it calls, where that is known. */
  callee?: number;
}

export const OP = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  try: 0x06,
  catch: 0x07,
  throw: 0x08,
  rethrow: 0x09,
  throwRef: 0x0a,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  delegate: 0x18,
  catchAll: 0x19,
  tryTable: 0x1f,
  tableSet: 0x26,
  memoryGrow: 0x40,
  bulk: 0xfc,
  simd: 0xfd,
} as const;

/** Reads past the locals that a function's body declares; gives how many there are. */
export function skipLocals(reader: Reader): number {
  let count = 0;
  reader.list(() => {
    count += reader.number();
    reader.skipNumber();
  });
  return count;
}

/**
 * Reads one instruction of those that binaryen's FEATURES allow; throws a `Refusal` at any other.
 * https://webassembly.github.io/spec/core/binary/instructions.html, and for the older exceptions
 * https://github.com/WebAssembly/exception-handling/blob/main/proposals/exception-handling/legacy/Exceptions.md
 */
export function readInstruction(reader: Reader): Instruction {
  const opcode = reader.byte();
  switch (opcode) {
    case OP.block:
    case OP.loop:
    case OP.if:
    case OP.try:
      reader.skipNumber();
      return { opcode };
    case OP.tryTable:
      reader.skipNumber();
      return { opcode, labels: reader.list(() => readCatch(reader)) };
    case OP.br:
    case OP.brIf:
      return { opcode, labels: [reader.number()] };
    case OP.brTable:
      return { opcode, labels: [...reader.list(() => reader.number()), reader.number()] };
    case OP.call:
    case OP.returnCall:
      return { opcode, callee: reader.number() };
    case OP.bulk:
    case OP.simd:
      return { opcode, sub: readPrefixed(reader, opcode) };
  }
  skipOperands(reader, opcode);
  return { opcode };
}

/** The label of a catch clause; the first two kinds name a tag. */
function readCatch(reader: Reader): number {
  if (reader.byte() < 2) reader.number();
  return reader.number();
}

function skipOperands(reader: Reader, opcode: number): void {
  if (opcode === 0x41 || opcode === 0x42) reader.skipNumber();
  else if (opcode === 0x43) reader.take(4);
  else if (opcode === 0x44) reader.take(8);
  else if (opcode >= 0x28 && opcode <= 0x3e) skipAddress(reader);
  else if (opcode === OP.callIndirect || opcode === OP.returnCallIndirect) skipNumbers(reader, 2);
  else if (opcode === 0x1c) reader.list(() => reader.skipNumber());
  else if (ONE_NUMBER.has(opcode)) reader.skipNumber();
  else if (!isPlain(opcode)) throw unknown(opcode);
}

/** Instructions with one index, depth or type. */
const ONE_NUMBER = new Set([
  OP.catch,
  OP.throw,
  OP.rethrow,
  OP.delegate,
  0x20,
  0x21,
  0x22,
  0x23,
  0x24,
  0x25,
  0x26,
  0x3f,
  0x40,
  0xd0,
  0xd2,
]);

const isPlain = (opcode: number): boolean =>
  opcode <= 0x01 ||
  ([OP.else, OP.throwRef, OP.end, OP.return, OP.catchAll, 0x1a, 0x1b] as number[]).includes(
    opcode,
  ) ||
  (opcode >= 0x45 && opcode <= 0xc4) ||
  opcode === 0xd1;

const unknown = (opcode: number, sub?: number) =>
  new Refusal(
    `it has the instruction 0x${opcode.toString(16)}${sub === undefined ? "" : ` ${sub}`}, which is not supported: build it without threads (atomics), relaxed SIMD and garbage collection`,
  );

function skipNumbers(reader: Reader, count: number): void {
  for (let at = 0; at < count; at++) reader.skipNumber();
}

/** Alignment, the memory where it is not the first, offset. */
function skipAddress(reader: Reader): void {
  skipNumbers(reader, reader.number() & 0x40 ? 2 : 1);
}

/** How many numbers follow the instructions with prefix 0xfc. */
const BULK_NUMBERS = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

function readPrefixed(reader: Reader, opcode: number): number {
  const sub = reader.number();
  if (opcode === OP.bulk) {
    if (sub >= BULK_NUMBERS.length) throw unknown(opcode, sub);
    skipNumbers(reader, BULK_NUMBERS[sub]!);
  } else if (sub <= 11 || sub === 92 || sub === 93) skipAddress(reader);
  else if (sub === 12 || sub === 13) reader.take(16);
  else if (sub >= 21 && sub <= 34) reader.byte();
  else if (sub >= 84 && sub <= 91) {
    skipAddress(reader);
    reader.byte();
  } else if (sub > 255) throw unknown(opcode, sub);
  return sub;
}
