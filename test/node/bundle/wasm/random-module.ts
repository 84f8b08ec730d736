/**
 * Random modules, valid by construction, that write to memory in as many ways as a compiler could, and in
 * some that none would: for tests of what the bundle step adds to a guest's code.
 */
import { leb, text } from "../../../../src/bundle/wasm/bytes.ts";
import { OP } from "../../../../src/bundle/wasm/instructions.ts";
import { concatenate } from "../../../../src/wasm/image.ts";
import type { Chance } from "../../fuzz/chance.ts";

export const FUNCTIONS = 8;
export const PAGES = 3;
export const MAXIMUM_PAGES = 6;
const SEGMENT = 9000;

const [I32, I64, F32, F64, V128, VOID] = [0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x40];
/** Types: of the functions, of the tag and of blocks with a parameter, and of others with two or two results. */
const TYPES = [
  [0x60, 2, I32, I32, 1, I32],
  [0x60, 1, I32, 0],
  [0x60, 2, I32, I32, 0],
  [0x60, 0, 2, I32, I32],
];
const [TAKES_ONE, TAKES_TWO, GIVES_TWO] = [1, 2, 3];

/** The locals of every function: its first two are its parameters. */
const ADDRESSES = [0, 2, 3];
const NUMBERS = [1, 4];
const BY_TYPE = { [I64]: 5, [F32]: 6, [F64]: 7, [V128]: 8 } as Record<number, number>;
const LOCALS = [3, 3, I32, 1, I64, 1, F32, 1, F64, 1, V128].toSpliced(0, 1, 5);

const [GET, SET, TEE, CONST, ADD, AND] = [0x20, 0x21, 0x22, 0x41, 0x6a, 0x71];
const [DROP, SELECT] = [0x1a, 0x1b];

/** Stores: the opcode, the type of the value, the lanes where it stores one. */
const STORES: { code: number[]; type: number; lanes?: number }[] = [
  ...[0x36, 0x3a, 0x3b].map((code) => ({ code: [code], type: I32! })),
  ...[0x37, 0x3c, 0x3d, 0x3e].map((code) => ({ code: [code], type: I64! })),
  { code: [0x38], type: F32! },
  { code: [0x39], type: F64! },
  { code: [OP.simd, 11], type: V128! },
  ...[16, 8, 4, 2].map((lanes, at) => ({ code: [OP.simd, 88 + at], type: V128!, lanes })),
];
const OFFSETS = [0, 0, 0, 1, 3, 4, 8, 12, 100, 200, 240, 248, 252, 255, 256, 257, 300, 4080, 4096];
/** Those that may just share a mark, or just not. */
const NEAR_OFFSETS = [0, 0, 1, 100, 240, 241, 248, 249, 252, 255, 256, 300];
const FAR_OFFSETS = [8192, 65_536, 100_000, 196_600, 0xffffff00, 0xffffffff];

/** A label that a branch may go to. */
interface Label {
  /** Branches to it take no value. */
  isPlain: boolean;
  isHandler?: boolean;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value | 0; ; left >>= 7) {
    const isLast = left >> 6 === 0 || left >> 6 === -1;
    bytes.push((left & 0x7f) | (isLast ? 0 : 0x80));
    if (isLast) return bytes;
  }
}

/** Writes the body of one function. */
class Writer {
  #chance: Chance;
  /** Exceptions are of the older kind: engines refuse both in one module. */
  #isOld: boolean;
  #out: number[] = [];
  #labels: Label[] = [{ isPlain: false }];
  /** How many more statements there may be. */
  #left: number;
  /** The local that most addresses are in: what is known of one base is put to the test. */
  #favourite: number;

  constructor(chance: Chance, isOld: boolean) {
    this.#chance = chance;
    this.#isOld = isOld;
    this.#left = 6 + chance.below(30);
    this.#favourite = chance.pick(ADDRESSES);
  }

  body(): Uint8Array {
    this.#put(...LOCALS);
    this.#statements(4 + this.#chance.below(8));
    this.#number(1);
    this.#put(OP.end);
    return Uint8Array.from([...leb(this.#out.length), ...this.#out]);
  }

  #put(...bytes: number[]): void {
    this.#out.push(...bytes);
  }

  #const(value: number): void {
    this.#put(CONST, ...signed(value));
  }

  /** One of these, each as often as its weight says. */
  #choose(choices: [weight: number, write: () => void][]): void {
    let at = this.#chance.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, write] of choices) {
      if ((at -= weight) < 0) return write();
    }
  }

  #statements(count: number): void {
    for (let at = 0; at < count && this.#left > 0; at++) this.#statement();
  }

  #statement(): void {
    this.#left--;
    this.#choose([
      [20, () => this.#store()],
      [12, () => this.#stores()],
      [10, () => this.#setAddress()],
      [2, () => this.#setNumber()],
      [1, () => this.#bulk()],
      [4, () => this.#bothMemories()],
      [10, () => this.#join()],
      [6, () => this.#block()],
      [8, () => this.#if()],
      [5, () => this.#loop()],
      [3, () => this.#table()],
      [4, () => this.#branch()],
      [1, () => this.#callAndDrop()],
      [8, () => this.#try()],
      [3, () => this.#twoValues()],
      [1, () => this.#leave()],
    ]);
  }

  /** An address near the border of a block, or near the end of the memory; seldom beyond. */
  #place(): number {
    if (this.#chance.of(0.01)) return PAGES * 65536 + this.#chance.below(5000);
    if (this.#chance.of(0.1)) return PAGES * 65536 - 1 - this.#chance.below(300);
    const beside = this.#chance.pick([-1, -1, -2, -3, -4, -8, -9, -16, -250, 0, 0, 100, 2000]);
    return Math.max(0, this.#chance.below(PAGES * 16) * 4096 + beside);
  }

  #local(): number {
    return this.#chance.of(0.6) ? this.#favourite : this.#chance.pick(ADDRESSES);
  }

  #address(depth = 0): void {
    const local = this.#local();
    const deeper = () => this.#address(depth + 1);
    if (depth > 2 || this.#left <= 0) return this.#put(GET, local);
    this.#choose([
      [24, () => this.#put(GET, local)],
      [4, () => this.#const(this.#place())],
      [4, () => (deeper(), this.#put(TEE, local))],
      [
        4,
        () => (
          this.#put(GET, local),
          this.#const(this.#chance.pick([-4096, -256, 4, 256, 4096])),
          this.#put(ADD),
          this.#mask()
        ),
      ],
      [1, () => (deeper(), this.#put(0x28, 0, 0), this.#mask())],
      [2, () => this.#resultOf([OP.block, I32!], deeper)],
      [1, () => this.#resultOf([OP.loop, I32!], deeper)],
      [
        1,
        () => {
          this.#number(depth + 1);
          this.#put(OP.if, I32!);
          this.#scope(
            () => (
              this.#statements(1),
              deeper(),
              this.#put(OP.else),
              this.#statements(1),
              deeper()
            ),
            { isPlain: false },
          );
        },
      ],
      [1, () => (deeper(), deeper(), this.#number(depth + 1), this.#put(SELECT))],
      [1, () => (this.#call(), this.#mask())],
    ]);
  }

  /** Makes an address of a number: near the end of memory it may be. */
  #mask(): void {
    this.#const(0x2ffff);
    this.#put(AND);
  }

  #resultOf(opening: number[], value: () => void): void {
    this.#put(...opening);
    this.#scope(
      () => {
        this.#statements(this.#chance.below(3));
        value();
        if (opening[0] !== OP.block || this.#chance.of(0.5)) return;
        this.#number(1);
        this.#put(OP.brIf, 0, DROP);
        value();
      },
      { isPlain: false },
    );
  }

  /** Writes the contents of a block, and its end. */
  #scope(inside: () => void, label: Label = { isPlain: true }): void {
    this.#labels.push(label);
    inside();
    this.#labels.pop();
    this.#put(OP.end);
  }

  #number(depth = 0): void {
    this.#choose([
      [4, () => this.#put(GET, this.#chance.pick(NUMBERS))],
      [4, () => this.#const(this.#chance.below(2 ** 32) | 1)],
      [depth > 1 ? 0 : 2, () => (this.#address(2), this.#put(0x28, 0, 0))],
      [1, () => this.#put(0x23, 0)],
      [1, () => this.#put(0x3f, 0)],
    ]);
  }

  #value(type: number): void {
    if (type === I32) return this.#number();
    const bytes = (count: number) =>
      Array.from({ length: count }, () => 1 + this.#chance.below(200));
    this.#choose([
      [1, () => this.#put(GET, BY_TYPE[type]!)],
      [
        2,
        () => {
          if (type === I64) this.#put(0x42, 0xff, 0xff, 1 + this.#chance.below(60));
          else if (type === F32) this.#put(0x43, ...bytes(4));
          else if (type === F64) this.#put(0x44, ...bytes(8));
          else this.#put(OP.simd, 12, ...bytes(16));
          if (this.#chance.of(0.3)) this.#put(TEE, BY_TYPE[type]!);
        },
      ],
    ]);
  }

  #store(): void {
    const isKernel = this.#chance.of(0.1);
    this.#address();
    if (isKernel) {
      this.#const(0xfff0);
      this.#put(AND);
    }
    // Code between the base and the value may change the local that the base is from.
    if (this.#chance.of(0.1)) this.#statements(1);
    if (this.#chance.of(0.1)) this.#setAddress();
    this.#storeOf(isKernel ? 1 : 0, isKernel ? this.#chance.below(16) : this.#offset());
  }

  #offset(): number {
    return this.#chance.pick(this.#chance.of(0.02) ? FAR_OFFSETS : OFFSETS);
  }

  /** A value, and its store to the base that is on the stack. */
  #storeOf(memory: number, offset: number): void {
    const { code, type, lanes } = this.#chance.pick(STORES);
    this.#value(type);
    this.#put(...code, ...(memory === 0 ? [0] : [0x40, memory]), ...leb(offset));
    if (lanes !== undefined) this.#put(this.#chance.below(lanes));
  }

  /** Some to one base, with something between them. */
  #stores(): void {
    const local = this.#local();
    if (this.#chance.of(0.4)) {
      this.#const((1 + this.#chance.below(PAGES * 16 - 2)) * 4096 - 1 - this.#chance.below(3));
      this.#put(SET, local);
    }
    for (let count = 2 + this.#chance.below(3); count > 0; count--) {
      this.#put(GET, local);
      this.#storeOf(0, this.#chance.of(0.5) ? this.#chance.pick(NEAR_OFFSETS) : this.#offset());
      if (this.#chance.of(0.2)) this.#statements(1);
    }
  }

  /** The same address, in the guest's memory and in the kernel's. */
  #bothMemories(): void {
    const local = this.#local();
    this.#address(1);
    this.#const(0xffff);
    this.#put(AND, SET, local);
    const place = this.#place() & 0xffff;
    for (const memory of this.#chance.of(0.5) ? [0, 1] : [1, 0]) {
      if (this.#chance.of(0.3)) this.#const(place);
      else this.#put(GET, local);
      this.#storeOf(memory, this.#chance.below(16));
    }
  }

  #setAddress(): void {
    this.#address();
    this.#put(SET, this.#local());
  }

  #setNumber(): void {
    this.#choose([
      [1, () => this.#number()],
      [
        1,
        () => (
          this.#const(this.#chance.pick([0, 1, 1, 2, 4, -1, 65536])),
          this.#put(OP.memoryGrow, 0)
        ),
      ],
      [1, () => this.#call()],
    ]);
    this.#put(...(this.#chance.of(0.3) ? [0x24, 0] : [SET, this.#chance.pick(NUMBERS)]));
  }

  #length(): void {
    if (this.#chance.of(0.02)) return this.#const(this.#chance.pick([-1, -4096, 200_000]));
    this.#const(this.#chance.pick([0, 1, 2, 4095, 4096, 4097, 8193, this.#chance.below(SEGMENT)]));
  }

  #bulk(): void {
    this.#address();
    this.#choose([
      [2, () => (this.#address(1), this.#length(), this.#put(OP.bulk, 10, 0, 0))],
      [3, () => (this.#number(), this.#length(), this.#put(OP.bulk, 11, 0))],
      [2, () => (this.#const(this.#chance.below(20)), this.#length(), this.#put(OP.bulk, 8, 0, 0))],
    ]);
  }

  #block(): void {
    this.#put(OP.block, VOID!);
    this.#scope(() => this.#statements(1 + this.#chance.below(4)));
  }

  #if(): void {
    this.#number();
    this.#const(1 << this.#chance.below(8));
    this.#put(AND, OP.if, VOID!);
    this.#scope(() => {
      this.#statements(1 + this.#chance.below(3));
      if (this.#chance.of(0.5)) {
        this.#put(OP.else);
        this.#statements(1 + this.#chance.below(3));
      }
    });
  }

  /** Goes on until a counter or the fuel is used up, and often to another block with each turn. */
  #loop(): void {
    const counter = this.#chance.pick(NUMBERS);
    const isWalk = this.#chance.of(0.6);
    if (isWalk) this.#touch();
    this.#put(OP.loop, VOID!);
    this.#scope(() => {
      if (isWalk) this.#touch();
      this.#statements(this.#chance.below(3));
      if (isWalk) this.#step();
      this.#put(GET, counter);
      this.#const(1);
      this.#put(0x6b, TEE, counter);
      this.#const(this.#chance.pick([1, 3, 7]));
      this.#put(AND, OP.brIf, 0);
      this.#statements(this.#chance.below(2));
    });
  }

  /** A store to a base, the favourite one by default. */
  #touch(local = this.#favourite): void {
    this.#put(GET, local);
    this.#storeOf(0, this.#offset());
  }

  /** Where ways meet, a local holds the base of an earlier store, or another address, or is stored to. */
  #join(): void {
    const local = this.#chance.pick(ADDRESSES);
    if (this.#chance.of(0.7)) this.#setAddress();
    if (this.#chance.of(0.7)) this.#touch();
    const change = () =>
      this.#choose([
        [4, () => this.#put(GET, this.#favourite, SET, local)],
        [3, () => this.#touch(local)],
        [1, () => (this.#address(), this.#put(SET, local))],
        [1, () => this.#step()],
      ]);
    const perhaps = (...leaving: number[]) => {
      this.#number();
      this.#const(1 << this.#chance.below(4));
      this.#put(AND, ...leaving);
    };
    const throwing = () => {
      perhaps(OP.if, VOID!);
      this.#scope(() => this.#put(CONST, 8, OP.throw, 0));
    };
    const around = () => {
      if (this.#chance.of(0.5)) change();
      throwing();
      change();
    };
    this.#choose([
      [1, () => (this.#put(OP.block, VOID!), this.#scope(() => (perhaps(OP.brIf, 0), change())))],
      [1, () => (perhaps(OP.if, VOID!), this.#scope(change))],
      [
        1,
        () => (perhaps(OP.if, VOID!), this.#scope(() => (change(), this.#put(OP.else), change()))),
      ],
      [
        2,
        () => {
          if (this.#isOld) {
            this.#put(OP.try, VOID!);
            this.#scope(() => (around(), this.#put(OP.catchAll), change()));
          } else {
            this.#put(OP.block, VOID!);
            this.#scope(() => {
              this.#put(OP.tryTable, VOID!, 1, 2, 0);
              this.#scope(around);
              change();
            });
          }
        },
      ],
    ]);
    if (this.#chance.of(0.5)) this.#touch(local);
  }

  /** Moves the favourite base to another block. */
  #step(): void {
    this.#put(GET, this.#favourite);
    this.#const(this.#chance.pick([4096, 8192, -4096]));
    this.#put(ADD);
    this.#mask();
    const step = () => this.#put(SET, this.#favourite);
    if (this.#chance.of(0.7)) return step();
    this.#put(OP.block, TAKES_ONE!);
    this.#scope(step);
  }

  /** The depths of the labels that may be gone to, with no value. */
  #depths(): number[] {
    return this.#labels.flatMap(({ isPlain }, at) =>
      isPlain ? [this.#labels.length - 1 - at] : [],
    );
  }

  #table(): void {
    const depths = this.#depths();
    if (depths.length === 0) return this.#store();
    this.#put(OP.block, VOID!);
    this.#scope(() => {
      this.#statements(this.#chance.below(2));
      this.#number();
      this.#const(3);
      this.#put(AND, OP.brTable, 3);
      // Within one block more, all labels are one deeper.
      for (let at = 0; at < 4; at++)
        this.#put(...leb(this.#chance.of(0.6) ? 0 : this.#chance.pick(depths) + 1));
      this.#statements(this.#chance.below(2));
    });
  }

  #branch(): void {
    const depths = this.#depths();
    if (depths.length === 0) return this.#store();
    if (this.#chance.of(0.8)) {
      this.#number();
      this.#put(OP.brIf, ...leb(this.#chance.pick(depths)));
    } else this.#put(OP.br, ...leb(this.#chance.pick(depths)));
  }

  #call(): void {
    this.#address(2);
    this.#number(2);
    if (this.#chance.of(0.7)) return this.#put(OP.call, this.#chance.below(FUNCTIONS));
    this.#number(2);
    this.#const(FUNCTIONS - 1);
    this.#put(AND, OP.callIndirect, 0, 0);
  }

  #callAndDrop(): void {
    this.#call();
    this.#put(DROP);
  }

  /** An address and a number by way of a block. */
  #twoValues(): void {
    const write = () => (this.#address(1), this.#number());
    const store = [0x36, 0, ...leb(this.#offset())];
    if (this.#chance.of(0.5)) {
      write();
      this.#put(OP.block, TAKES_TWO!);
      this.#scope(() => (this.#statements(this.#chance.below(2)), this.#put(...store)), {
        isPlain: true,
      });
    } else {
      this.#put(OP.block, GIVES_TWO!);
      this.#scope(write, { isPlain: false });
      this.#put(...store);
    }
  }

  #leave(): void {
    this.#choose([
      [2, () => (this.#number(), this.#put(OP.return))],
      [1, () => this.#put(OP.unreachable)],
      [4, () => (this.#address(1), this.#put(OP.throw, 0))],
      [
        1,
        () => (
          this.#address(2),
          this.#number(2),
          this.#put(OP.returnCall, this.#chance.below(FUNCTIONS))
        ),
      ],
      [
        this.#handlers().length > 0 ? 6 : 0,
        () => this.#put(OP.rethrow, ...leb(this.#chance.pick(this.#handlers()))),
      ],
    ]);
  }

  #handlers(): number[] {
    return this.#labels.flatMap(({ isHandler }, at) =>
      isHandler === true ? [this.#labels.length - 1 - at] : [],
    );
  }

  /** Something that may throw, after something else. */
  #guarded(): void {
    if (this.#chance.of(0.5)) this.#step();
    this.#statements(this.#chance.below(3));
    if (this.#chance.of(0.5)) {
      this.#number();
      this.#put(OP.if, VOID!);
      this.#scope(() => (this.#address(1), this.#put(OP.throw, 0)));
      if (this.#chance.of(0.5)) this.#touch();
      this.#setAddress();
    }
  }

  #handler(): void {
    if (this.#chance.of(0.6)) this.#touch();
    this.#statements(this.#chance.below(3));
  }

  #try(): void {
    if (this.#isOld) this.#oldTry();
    else if (this.#chance.of(0.5)) {
      this.#put(OP.block, VOID!);
      this.#scope(() => {
        this.#statements(this.#chance.below(2));
        this.#put(OP.tryTable, VOID!, 1, 2, 0);
        this.#scope(() => this.#guarded());
        this.#statements(this.#chance.below(2));
      });
    } else {
      this.#put(OP.block, I32!);
      this.#scope(
        () => {
          this.#put(OP.tryTable, VOID!, 1, 0, 0, 0);
          this.#scope(() => this.#guarded());
          this.#address(1);
        },
        { isPlain: false },
      );
      this.#put(SET, this.#local());
    }
  }

  #oldTry(): void {
    this.#put(OP.try, VOID!);
    this.#labels.push({ isPlain: true });
    this.#guarded();
    if (this.#chance.of(0.2)) {
      this.#labels.pop();
      this.#put(OP.delegate, ...leb(this.#chance.below(this.#labels.length)));
      return;
    }
    this.#labels.at(-1)!.isHandler = true;
    if (this.#chance.of(0.5)) {
      this.#put(OP.catch, 0, SET, this.#local());
      this.#handler();
    }
    if (this.#chance.of(0.7)) {
      this.#put(OP.catchAll);
      this.#handler();
    }
    this.#labels.pop();
    this.#put(OP.end);
  }
}

/** A module with `FUNCTIONS` functions `f0`, `f1`, …, of two numbers each, and with memories as those of servlets. */
export function randomModule(chance: Chance): Uint8Array<ArrayBuffer> {
  const isOld = chance.of(0.5);
  const bodies = Array.from({ length: FUNCTIONS }, () => new Writer(chance, isOld).body());
  const section = (
    id: number,
    entries: readonly (readonly number[] | Uint8Array)[],
    isList = true,
  ) => {
    const body = concatenate([...(isList ? [leb(entries.length)] : []), ...entries]);
    return concatenate([[id], leb(body.length), body]);
  };
  const all = Array.from({ length: FUNCTIONS }, (_, at) => at);
  const data = Array.from({ length: SEGMENT }, (_, at) => 1 + (at % 255));
  return concatenate([
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, TYPES),
    section(
      3,
      all.map(() => [0]),
    ),
    section(4, [[0x70, 0, FUNCTIONS]]),
    section(5, [
      [1, PAGES, MAXIMUM_PAGES],
      [1, 1, MAXIMUM_PAGES],
    ]),
    section(13, [[0, 1]]),
    section(6, [[I32!, 1, CONST, 7, OP.end]]),
    section(7, [
      ...all.map((at) => [...text(`f${at}`), 0, at]),
      [...text("memory"), 2, 0],
      [...text("edge_memory"), 2, 1],
      [...text("edge_global_0"), 3, 0],
    ]),
    section(9, [[0, CONST, 0, OP.end, FUNCTIONS, ...all]]),
    section(12, [leb(2)], false),
    section(10, bodies),
    // The second is there when a call begins.
    section(11, [
      [1, ...leb(SEGMENT), ...data],
      [0, CONST, ...signed(20_000), OP.end, ...leb(SEGMENT), ...data],
    ]),
  ]);
}
