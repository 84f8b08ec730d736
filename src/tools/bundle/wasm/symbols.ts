/**
 * Follows the values that a function computes, as far as is needed to see that two stores have the same
 * base address. Equal symbols are equal values; a value of which nothing is known has a symbol of its own.
 */
import { Reader } from "./bytes.ts";
import type { FunctionBody } from "./function-body.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";
import { CLOSING, OPENING } from "./paths.ts";

/** A value on the stack: its number, the local that it was read from, and its constant, where it has them. */
export interface Symbol {
  value: number;
  local?: number;
  constant?: number;
}

/** An open block: what was known where it began. */
interface Scope {
  opcode: number;
  /** The values below it on the stack; absent where it takes some of them as parameters. */
  below: Symbol[];
  /** How many results it leaves. */
  results: number;
  /** The values of the locals where it began. */
  locals: Map<number, number>;
  /** The locals that are set in it. */
  assigned: Set<number>;
}

const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const LOCAL_TEE = 0x22;
const I32_CONST = 0x41;

/** The state of the machine before the next instruction, where it is known. */
export class Symbols {
  /** The top of the stack; below it, nothing is known. */
  #stack: Symbol[] = [];
  #locals = new Map<number, number>();
  #scopes: Scope[] = [];
  #next = 0;
  #loops: Set<number>[];
  #paramsOf: (callee: number) => { params: number; results: number };

  constructor(
    { code }: FunctionBody,
    paramsOf: (callee: number) => { params: number; results: number },
  ) {
    this.#loops = assignedInLoops(code);
    this.#paramsOf = paramsOf;
  }

  /** How many blocks are open. */
  get depth(): number {
    return this.#scopes.length;
  }

  /** The value that is `below` the top of the stack by so many. */
  peek(below: number): Symbol {
    return this.#stack[this.#stack.length - 1 - below] ?? this.#unknown();
  }

  /** True if the local still holds the value that was read from it. */
  isCurrent({ value, local }: Symbol): boolean {
    return local !== undefined && this.#valueOf(local) === value;
  }

  /** Takes in one instruction; `operands` are the bytes after its opcode. */
  step(instruction: Instruction, operands: Uint8Array): void {
    const { opcode } = instruction;
    const reader = new Reader(operands);
    if (opcode === LOCAL_GET) {
      const local = reader.number();
      this.#stack.push({ value: this.#valueOf(local), local });
    } else if (opcode === LOCAL_SET || opcode === LOCAL_TEE) {
      const local = reader.number();
      const { value } = this.#pop();
      this.#assign(local, value);
      if (opcode === LOCAL_TEE) this.#stack.push({ value, local });
    } else if (opcode === I32_CONST) {
      this.#stack.push({ ...this.#unknown(), constant: signed(reader) });
    } else if (OPENING.has(opcode)) {
      this.#open(opcode, operands);
    } else if (opcode === OP.else || opcode === OP.catch || opcode === OP.catchAll) {
      this.#branch(opcode);
    } else if (CLOSING.has(opcode)) {
      this.#close();
    } else {
      const effect = this.#effectOf(instruction);
      if (effect === undefined) {
        this.#stack = [];
        return;
      }
      for (let at = 0; at < effect.pops; at++) this.#pop();
      for (let at = 0; at < effect.pushes; at++) this.#stack.push(this.#unknown());
    }
  }

  #effectOf({ opcode, sub, callee }: Instruction): { pops: number; pushes: number } | undefined {
    if (opcode === OP.call) {
      const { params, results } = this.#paramsOf(callee!);
      return { pops: params, pushes: results };
    }
    const known = opcode === OP.bulk ? bulkEffects[sub!] : effects[opcode];
    return known && { pops: known[0], pushes: known[1] };
  }

  #unknown = (): Symbol => ({ value: this.#next++ });

  #pop = (): Symbol => this.#stack.pop() ?? this.#unknown();

  #valueOf(local: number): number {
    const known = this.#locals.get(local);
    if (known !== undefined) return known;
    this.#locals.set(local, this.#next);
    return this.#next++;
  }

  #assign(local: number, value: number): void {
    this.#locals.set(local, value);
    this.#scopes.at(-1)?.assigned.add(local);
  }

  #open(opcode: number, type: Uint8Array): void {
    if (opcode === OP.if) this.#pop();
    // A block's type is that of its one result, "none", or the index of a type that may have parameters.
    const [kind] = type;
    const isPlain = kind === 0x40 || (kind! >= 0x6f && kind! <= 0x7f);
    this.#scopes.push({
      opcode,
      below: isPlain ? this.#stack : [],
      results: isPlain && kind !== 0x40 ? 1 : 0,
      locals: new Map(this.#locals),
      assigned: new Set(),
    });
    this.#stack = [];
    if (opcode === OP.loop) this.#forget(this.#loops.shift()!);
  }

  /** `else` begins where `if` did; a handler begins after any part of what it guards. */
  #branch(opcode: number): void {
    const { locals, assigned } = this.#scopes.at(-1);
    this.#stack = [];
    if (opcode === OP.else) this.#locals = new Map(locals);
    else this.#forget(assigned);
  }

  #close(): void {
    const scope = this.#scopes.pop();
    if (scope === undefined) return;
    this.#stack = scope.below;
    for (let at = 0; at < scope.results; at++) this.#stack.push(this.#unknown());
    this.#forget(scope.assigned);
    for (const local of scope.assigned) this.#scopes.at(-1)?.assigned.add(local);
  }

  #forget(locals: Iterable<number>): void {
    for (const local of locals) this.#locals.set(local, this.#next++);
  }
}

/** For each loop, in the order of their beginnings: the locals that are set in it. */
function assignedInLoops(code: Uint8Array): Set<number>[] {
  const reader = new Reader(code);
  const loops: Set<number>[] = [];
  const open: Set<number>[] = [];
  while (reader.at < code.length) {
    const at = reader.at;
    const { opcode } = readInstruction(reader);
    if (opcode === LOCAL_SET || opcode === LOCAL_TEE) {
      const local = new Reader(code, at + 1).number();
      for (const assigned of open) assigned.add(local);
    } else if (OPENING.has(opcode)) {
      const assigned = new Set<number>();
      open.push(assigned);
      if (opcode === OP.loop) loops.push(assigned);
    } else if (CLOSING.has(opcode)) open.pop();
  }
  return loops;
}

/** A signed LEB128 number of 32 bits, as an unsigned one. */
function signed(reader: Reader): number {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = reader.byte();
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift < 25 && (byte & 0x40) !== 0) value |= -1 << (shift + 7);
      return value >>> 0;
    }
  }
}

/** How many values an instruction takes and leaves; absent where it is not followed. */
const effects: (readonly [number, number] | undefined)[] = [];
const between = (from: number, to: number, effect: readonly [number, number]) => {
  effects.fill(effect, from, to + 1);
};
effects.length = 256;
between(0x01, 0x01, [0, 0]); // nop
between(0x1a, 0x1a, [1, 0]); // drop
between(0x1b, 0x1c, [3, 1]); // select
between(0x23, 0x23, [0, 1]); // global.get
between(0x24, 0x24, [1, 0]);
between(0x25, 0x25, [1, 1]); // table.get
between(0x26, 0x26, [2, 0]);
between(0x28, 0x35, [1, 1]); // loads
between(0x36, 0x3e, [2, 0]); // stores
between(0x3f, 0x3f, [0, 1]); // memory.size
between(0x40, 0x40, [1, 1]);
between(0x42, 0x44, [0, 1]); // constants
between(0x45, 0x45, [1, 1]); // i32.eqz
between(0x46, 0x4f, [2, 1]);
between(0x50, 0x50, [1, 1]); // i64.eqz
between(0x51, 0x66, [2, 1]);
between(0x67, 0x69, [1, 1]); // i32.clz, ctz, popcnt
between(0x6a, 0x78, [2, 1]);
between(0x79, 0x7b, [1, 1]); // i64.clz, ctz, popcnt
between(0x7c, 0x8a, [2, 1]);
between(0x8b, 0x91, [1, 1]); // f32.abs … sqrt
between(0x92, 0x98, [2, 1]);
between(0x99, 0x9f, [1, 1]); // f64.abs … sqrt
between(0xa0, 0xa6, [2, 1]);
between(0xa7, 0xc4, [1, 1]); // conversions
between(0xd0, 0xd0, [0, 1]); // ref.null
between(0xd1, 0xd1, [1, 1]);
between(0xd2, 0xd2, [0, 1]);

/** The same for the instructions with prefix 0xfc. */
const bulkEffects: readonly (readonly [number, number])[] = [
  ...Array.from({ length: 8 }, () => [1, 1] as const), // saturating conversions
  // memory.init, data.drop, memory.copy, memory.fill
  [3, 0],
  [0, 0],
  [3, 0],
  [3, 0],
  // tables
  [3, 0],
  [0, 0],
  [3, 0],
  [2, 1],
  [0, 1],
  [3, 0],
];
