/** Control-flow paths through a function, and their maximum cost. */
import { Reader } from "./bytes.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";

/** Most that may stay unpaid on any path, in parts; longer paths pay in between. */
export const STRETCH = 512;

export const OPENING = new Set<number>([OP.block, OP.loop, OP.if, OP.try, OP.tryTable]);
export const CLOSING = new Set<number>([OP.end, OP.delegate]);
export const THROWING = new Set<number>([OP.throw, OP.rethrow, OP.throwRef]);
/** Instructions that never continue with the next one. */
const LEAVING = new Set<number>([
  OP.unreachable,
  OP.br,
  OP.brTable,
  OP.return,
  OP.returnCall,
  OP.returnCallIndirect,
  ...THROWING,
]);
/** Unreachable code. */
const NOWHERE = -Infinity;

/** An open block: what may be unpaid where it begins, and at its label. */
interface Block {
  opcode: number;
  before: number;
  atLabel: number;
}

/** The blocks that are open where a function begins. */
export const functionBlocks = (): Block[] => [{ opcode: OP.block, before: 0, atLabel: NOWHERE }];

/**
 * The cost of the longest path through the code outside of loops, then through each loop without the loops
 * in it, in their order.
 */
export function longestPaths(
  code: Uint8Array,
  costOf: (instruction: Instruction) => number,
): number[] {
  const reader = new Reader(code);
  const blocks = functionBlocks();
  const longest = [0];
  /** For each open block, whose instructions are those in it. */
  const owners = [0];
  let cost = 0;
  while (reader.at < code.length) {
    const instruction = readInstruction(reader);
    const owner = owners.at(-1) ?? 0;
    cost += costOf(instruction);
    longest[owner] = Math.max(longest[owner]!, cost);
    cost = flow(blocks, instruction, cost);
    if (OPENING.has(instruction.opcode))
      owners.push(instruction.opcode === OP.loop ? longest.push(0) - 1 : owner);
    else if (CLOSING.has(instruction.opcode)) owners.pop();
  }
  return longest;
}

const labelled = (blocks: Block[], depth: number): Block => blocks[blocks.length - 1 - depth]!;

/** The most that may be unpaid after this instruction, given the amount up to and including it. */
export function flow(blocks: Block[], { opcode, labels }: Instruction, unpaid: number): number {
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
