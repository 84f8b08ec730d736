/** Reads what determines how a function pays for its fuel. */
import { Reader } from "./bytes.ts";
import { OP, readInstruction, skipLocals } from "./instructions.ts";
import { CLOSING, OPENING, THROWING } from "./paths.ts";

/** A function of no more instructions that neither calls nor loops is paid for by its callers. */
const SMALL = 32;
/** So many clauses of handlers take as long as a handler. */
const CLAUSES = 16;

/** The body of a function. */
export interface FunctionBody {
  locals: Uint8Array;
  code: Uint8Array;
  isSmall: boolean;
  /** May an exception leave it? */
  throws: boolean;
  /** How many handlers lie within each other. */
  handlers: number;
  /** The types of its results, in hex. */
  results: readonly string[];
  /**
   * May many calls follow from it, though it has no loop? One call after another ends where the stack
   * does, which nothing can catch either, but not two in each, nor one in the caller's place.
   */
  branches: boolean;
  /** The first index that no local has. */
  nextLocal: number;
}

const CALLING = new Set<number>([OP.call, OP.callIndirect, OP.returnCall, OP.returnCallIndirect]);
export const TAIL_CALLS = new Set<number>([OP.returnCall, OP.returnCallIndirect]);
/** Instructions that a small function does not have. */
const HEAVY = new Set<number>([
  ...CALLING,
  ...THROWING,
  OP.loop,
  OP.bulk,
  OP.memoryGrow,
  OP.tableSet,
]);
const TRYING = new Set<number>([OP.try, OP.tryTable]);

export function readBody(
  bytes: Uint8Array,
  params: number,
  results: readonly string[],
): FunctionBody {
  const reader = new Reader(bytes);
  const nextLocal = params + skipLocals(reader);
  const codeAt = reader.at;
  /** For each open block, how many handlers it lies in. */
  const open: number[] = [0];
  let isHeavy = false;
  let calls = 0;
  let throws = false;
  let handlers = 0;
  let count = 0;
  let clauses = 0;
  while (reader.at < bytes.length) {
    const { opcode, labels } = readInstruction(reader);
    count++;
    if (opcode === OP.tryTable) clauses += labels!.length;
    if (opcode === OP.catch) clauses++;
    if (HEAVY.has(opcode)) isHeavy = true;
    if (CALLING.has(opcode)) calls += TAIL_CALLS.has(opcode) ? 2 : 1;
    if (THROWING.has(opcode)) throws = true;
    if (OPENING.has(opcode)) open.push((open.at(-1) ?? 0) + (TRYING.has(opcode) ? 1 : 0));
    else if (CLOSING.has(opcode)) open.pop();
    handlers = Math.max(handlers, open.at(-1) ?? 0);
  }
  return {
    locals: bytes.subarray(0, codeAt),
    code: bytes.subarray(codeAt),
    isSmall: !isHeavy && count <= SMALL,
    branches: calls > 1,
    throws: throws || calls > 0,
    handlers: handlers + Math.floor(clauses / CLAUSES),
    results,
    nextLocal,
  };
}
