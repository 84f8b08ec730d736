/**
 * Makes a module keep its own idea of its memory's size and, where that pays, mark what it writes
 * (src/server/kernel/wasm/marks.ts), so that putting an instance back costs what the call has touched.
 *
 * **Size.** `memory.size` and `memory.grow` go by the global `edge_pages`: a memory that has grown in an
 * earlier call, and cannot shrink, serves the next call as a smaller one. An access between the two sizes
 * does not trap. It reads zeros, as all that was written there has been put back, and a write there is
 * marked and put back like any other: all that a guest can learn is that some call needed more memory.
 *
 * **Marks.** A store is followed by a mark of where it begins; nothing in between can end the
 * call. None is needed where a store that always runs before has the same base address and a lower or equal
 * offset, within `SPILL` bytes; its mark may be moved down to lower offsets for that.
 */
import { concatenate } from "../../../server/kernel/wasm/image.ts";
import { MARKS_EXPORT, marksOf, SPILL } from "../../../server/kernel/wasm/marks.ts";
import { extend, outline, paramsOf, SECTION } from "./binary.ts";
import { leb, Reader, sections, signedLeb, text } from "./bytes.ts";
import { readBody, type FunctionBody } from "./function-body.ts";
import { OP, readInstruction, type Instruction } from "./instructions.ts";
import {
  MARK_SHIFT,
  growFunction,
  I32,
  markCode,
  markRangeFunction,
  MEMORY_SIZE,
  storeMark,
  whole,
  type Mark,
  type Tracker,
} from "./marking.ts";
import { CLOSING, OPENING } from "./paths.ts";
import { Symbols } from "./symbols.ts";

const [I64, F32, F64, V128] = [0x7e, 0x7d, 0x7c, 0x7b];

/** A store: the type of its value, its width in bytes, and where it writes. */
interface Store {
  type: number;
  bytes: number;
  memory: number;
  offset: number;
}

const STORES = new Map([
  [0x36, { type: I32, bytes: 4 }],
  [0x37, { type: I64, bytes: 8 }],
  [0x38, { type: F32, bytes: 4 }],
  [0x39, { type: F64, bytes: 8 }],
  [0x3a, { type: I32, bytes: 1 }],
  [0x3b, { type: I32, bytes: 2 }],
  [0x3c, { type: I64, bytes: 1 }],
  [0x3d, { type: I64, bytes: 2 }],
  [0x3e, { type: I64, bytes: 4 }],
]);
/** `v128.store`, and those of one lane of 8, 16, 32 and 64 bits. */
const VECTOR_STORES = new Map([11, 88, 89, 90, 91].map((sub, at) => [sub, [16, 1, 2, 4, 8][at]!]));
/** `memory.init`, `memory.copy` and `memory.fill`. */
const RANGES = new Set([8, 10, 11]);

/**
 * The same module with its size in a global and, where it `isMarked`, with its writes marked. Its own
 * memory is the first and the kernel's the second, with at most `maximumPages` each.
 */
export function tracked(wasm: Uint8Array, maximumPages: number, isMarked: boolean): Uint8Array {
  const { imports, memories, functionType, globals } = outline(wasm);
  const all = sections(wasm);
  const reader = (id: number) => new Reader(all.find((one) => one.id === id)!.body);
  const imported = imports.filter(({ kind }) => kind === "function").length;
  const code = reader(SECTION.code);
  const count = code.number();
  const types = reader(SECTION.type).number();
  const markPages = Math.ceil((2 * marksOf(maximumPages)) / 65536);
  const tracker: Tracker = {
    marks: memories.length,
    pages: globals.length,
    grow: imported + count,
    markRange: imported + count + 1,
    marksAt: [0, (markPages * 65536) / 2],
    functionOf: (index) => {
      const type = functionType(index)!;
      return {
        params: paramsOf(type).length,
        results: type.split("->")[1]!.split(",").filter(Boolean).length,
      };
    },
  };
  const codes = Array.from({ length: count }, (_, at) => {
    const body = readBody(code.take(code.number()), tracker.functionOf(imported + at).params, []);
    return isMarked ? trackedBody(body, tracker) : sizedBody(body, tracker);
  });
  const added = new Map<number, readonly (readonly number[])[]>([
    [SECTION.type, [[0x60, 1, I32, 1, I32], ...(isMarked ? [[0x60, 2, I32, I32, 0]] : [])]],
    [SECTION.function, [leb(types), ...(isMarked ? [leb(types + 1)] : [])]],
    [SECTION.memory, isMarked ? [[1, ...leb(markPages), ...leb(markPages)]] : []],
    [SECTION.global, [[I32, 1, 0x41, ...signedLeb(memories[0]!.initial), OP.end]]],
    [
      SECTION.export,
      [
        [...text("edge_pages"), 3, ...leb(tracker.pages)],
        ...(isMarked ? [[...text(MARKS_EXPORT), 2, ...leb(tracker.marks)]] : []),
      ],
    ],
  ]);
  return extend(wasm, added, [
    ...codes,
    growFunction(maximumPages, tracker),
    ...(isMarked ? [markRangeFunction(tracker)] : []),
  ]);
}

/** Code that replaces a change or a reading of the memory's size; undefined for any other instruction. */
function sizing({ opcode }: Instruction, operands: Uint8Array, tracker: Tracker) {
  if (opcode === MEMORY_SIZE && operands[0] === 0) return [0x23, ...leb(tracker.pages)];
  if (opcode === OP.memoryGrow && operands[0] === 0) return [OP.call, ...leb(tracker.grow)];
  return undefined;
}

function sizedBody({ locals, code }: FunctionBody, tracker: Tracker): Uint8Array {
  const reader = new Reader(code);
  const out: (Uint8Array | number[])[] = [locals];
  while (reader.at < code.length) {
    const at = reader.at;
    const instruction = readInstruction(reader);
    const bytes = code.subarray(at, reader.at);
    out.push(sizing(instruction, bytes.subarray(1), tracker) ?? bytes);
  }
  return whole(out);
}

function trackedBody(body: FunctionBody, tracker: Tracker): Uint8Array {
  const { code } = body;
  const reader = new Reader(code);
  const out: (Uint8Array | number[] | Mark)[] = [];
  const symbols = new Symbols(body, tracker.functionOf);
  const scratch = new Scratch(body);
  /** The marks that are certain to have been set, by memory and base, for each open block. */
  const known: Map<string, Mark>[] = [new Map()];
  while (reader.at < code.length) {
    const at = reader.at;
    const instruction = readInstruction(reader);
    const bytes = code.subarray(at, reader.at);
    const { opcode, sub } = instruction;
    const store = storeOf(instruction, bytes);
    const sized = sizing(instruction, bytes.subarray(1), tracker);
    if (store !== undefined) out.push(...markedStore(store, bytes));
    else if (opcode === OP.bulk && RANGES.has(sub!)) out.push(...markedRange(bytes));
    else out.push(sized ?? bytes);
    symbols.step(instruction, bytes.subarray(1));
    if (OPENING.has(opcode)) known.push(new Map());
    else if (CLOSING.has(opcode)) known.pop();
    else if (opcode === OP.else || opcode === OP.catch || opcode === OP.catchAll)
      known[known.length - 1] = new Map();
  }
  return whole([
    scratch.declarations(),
    ...out.map((part) => ("local" in part ? markCode(part, tracker) : part)),
  ]);

  function markedStore(store: Store, bytes: Uint8Array): (Uint8Array | number[] | Mark)[] {
    const base = symbols.peek(1);
    const { memory, offset } = store;
    const end = offset + store.bytes;
    if (base.constant !== undefined && base.constant + end <= 2 ** 32) {
      const block = (base.constant + offset) >>> MARK_SHIFT;
      const key = `${memory} block ${block}`;
      if (known.some((marks) => marks.has(key))) return [bytes];
      known.at(-1).set(key, { memory, local: 0, offset, end });
      return [bytes, [0x41, 0, 0x41, 1, ...storeMark(memory, block, tracker)]];
    }
    const key = `${memory} ${base.value}`;
    const earlier = known.findLast((marks) => marks.has(key))?.get(key);
    if (earlier !== undefined) {
      const low = Math.min(earlier.offset, offset);
      const high = Math.max(earlier.end, end);
      if (high - low <= SPILL) {
        earlier.offset = low;
        earlier.end = high;
        return [bytes];
      }
    }
    const isCurrent = symbols.isCurrent(base);
    const mark = { memory, local: isCurrent ? base.local! : scratch.of(I32), offset, end };
    known.at(-1).set(key, mark);
    if (isCurrent) return [bytes, mark];
    const value = leb(scratch.of(store.type, 1));
    const before = [0x21, ...value, 0x22, ...leb(mark.local), 0x20, ...value];
    return [before, bytes, mark];
  }

  /** Marks first: the call may find the stack used up, and then nothing must have been written. */
  function markedRange(bytes: Uint8Array): (Uint8Array | number[])[] {
    const [to, from, length] = [0, 1, 2].map((at) => leb(scratch.of(I32, at)));
    return [
      [0x21, ...length!, 0x21, ...from!, 0x22, ...to!],
      [0x20, ...length!, OP.call, ...leb(tracker.markRange)],
      [0x20, ...to!, 0x20, ...from!, 0x20, ...length!],
      bytes,
    ];
  }
}

function storeOf({ opcode, sub }: Instruction, bytes: Uint8Array): Store | undefined {
  const reader = new Reader(bytes, 1);
  let kind = STORES.get(opcode);
  if (opcode === OP.simd && VECTOR_STORES.has(sub!)) {
    reader.skipNumber();
    kind = { type: V128, bytes: VECTOR_STORES.get(sub!)! };
  }
  if (kind === undefined) return undefined;
  const memory = (reader.number() & 0x40) === 0 ? 0 : reader.number();
  return { ...kind, memory, offset: reader.number() };
}

/** Locals of a function beside its own, by type. */
class Scratch {
  #body: FunctionBody;
  #types: number[] = [];
  #found = new Map<string, number>();
  constructor(body: FunctionBody) {
    this.#body = body;
  }
  /** The index of one of this type; several have different numbers. */
  of(type: number, number = 0): number {
    const key = `${type} ${number}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const index = this.#body.nextLocal + this.#types.push(type) - 1;
    this.#found.set(key, index);
    return index;
  }
  declarations(): Uint8Array {
    const old = new Reader(this.#body.locals);
    const groups = old.number() + this.#types.length;
    return concatenate([
      leb(groups),
      this.#body.locals.subarray(old.at),
      ...this.#types.map((type) => [1, type]),
    ]);
  }
}
