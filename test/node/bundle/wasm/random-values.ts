/** Random code for one function: addresses, numbers and stores. */
import { leb } from "../../../../src/tools/bundle/wasm/bytes.ts";
import { OP } from "../../../../src/tools/bundle/wasm/instructions.ts";
import type { Chance } from "../../fuzz/chance.ts";

export const FUNCTIONS = 8;
export const PAGES = 3;

export const [I32, I64, F32, F64, V128, VOID] = [0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x40];
/** The locals of every function: its first two are its parameters. */
export const ADDRESSES = [0, 2, 3];
export const NUMBERS = [1, 4];
const BY_TYPE = { [I64]: 5, [F32]: 6, [F64]: 7, [V128]: 8 } as Record<number, number>;

export const [GET, SET, TEE, CONST, ADD, AND] = [0x20, 0x21, 0x22, 0x41, 0x6a, 0x71];
export const [DROP, SELECT] = [0x1a, 0x1b];

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
const FAR_OFFSETS = [8192, 65_536, 100_000, 196_600, 0xffffff00, 0xffffffff];

/** A label that a branch may go to. */
export interface Label {
  /** Branches to it take no value. */
  isPlain: boolean;
  isHandler?: boolean;
}

export function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value | 0; ; left >>= 7) {
    const isLast = left >> 6 === 0 || left >> 6 === -1;
    bytes.push((left & 0x7f) | (isLast ? 0 : 0x80));
    if (isLast) return bytes;
  }
}

/** Writes the values of one function, and stores of them. */
export abstract class RandomValues {
  protected readonly chance: Chance;
  protected readonly out: number[] = [];
  protected readonly labels: Label[] = [{ isPlain: false }];
  /** How many more statements there may be. */
  protected left: number;
  /** The local that most addresses are in: what is known of one base is put to the test. */
  protected readonly favourite: number;

  constructor(chance: Chance) {
    this.chance = chance;
    this.left = 6 + chance.below(30);
    this.favourite = chance.pick(ADDRESSES);
  }

  /** Writes at most `count` statements. */
  protected abstract statements(count: number): void;

  protected put(...bytes: number[]): void {
    this.out.push(...bytes);
  }

  protected constant(value: number): void {
    this.put(CONST, ...signed(value));
  }

  /** One of these, each as often as its weight says. */
  protected choose(choices: [weight: number, write: () => void][]): void {
    let at = this.chance.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, write] of choices) {
      if ((at -= weight) < 0) return write();
    }
  }

  /** An address near the border of a block, or near the end of the memory; seldom beyond. */
  protected place(): number {
    if (this.chance.of(0.01)) return PAGES * 65536 + this.chance.below(5000);
    if (this.chance.of(0.1)) return PAGES * 65536 - 1 - this.chance.below(300);
    const beside = this.chance.pick([-1, -1, -2, -3, -4, -8, -9, -16, -250, 0, 0, 100, 2000]);
    return Math.max(0, this.chance.below(PAGES * 16) * 4096 + beside);
  }

  protected local(): number {
    return this.chance.of(0.6) ? this.favourite : this.chance.pick(ADDRESSES);
  }

  protected address(depth = 0): void {
    const local = this.local();
    const deeper = () => this.address(depth + 1);
    if (depth > 2 || this.left <= 0) return this.put(GET, local);
    this.choose([
      [24, () => this.put(GET, local)],
      [4, () => this.constant(this.place())],
      [4, () => (deeper(), this.put(TEE, local))],
      [
        4,
        () => (
          this.put(GET, local),
          this.constant(this.chance.pick([-4096, -256, 4, 256, 4096])),
          this.put(ADD),
          this.mask()
        ),
      ],
      [1, () => (deeper(), this.put(0x28, 0, 0), this.mask())],
      [2, () => this.resultOf([OP.block, I32!], deeper)],
      [1, () => this.resultOf([OP.loop, I32!], deeper)],
      [
        1,
        () => {
          this.number(depth + 1);
          this.put(OP.if, I32!);
          this.scope(
            () => (this.statements(1), deeper(), this.put(OP.else), this.statements(1), deeper()),
            { isPlain: false },
          );
        },
      ],
      [1, () => (deeper(), deeper(), this.number(depth + 1), this.put(SELECT))],
      [1, () => (this.call(), this.mask())],
    ]);
  }

  /** Makes an address of a number: near the end of memory it may be. */
  protected mask(): void {
    this.constant(0x2ffff);
    this.put(AND);
  }

  protected resultOf(opening: number[], value: () => void): void {
    this.put(...opening);
    this.scope(
      () => {
        this.statements(this.chance.below(3));
        value();
        if (opening[0] !== OP.block || this.chance.of(0.5)) return;
        this.number(1);
        this.put(OP.brIf, 0, DROP);
        value();
      },
      { isPlain: false },
    );
  }

  /** Writes the contents of a block, and its end. */
  protected scope(inside: () => void, label: Label = { isPlain: true }): void {
    this.labels.push(label);
    inside();
    this.labels.pop();
    this.put(OP.end);
  }

  protected number(depth = 0): void {
    this.choose([
      [4, () => this.put(GET, this.chance.pick(NUMBERS))],
      [4, () => this.constant(this.chance.below(2 ** 32) | 1)],
      [depth > 1 ? 0 : 2, () => (this.address(2), this.put(0x28, 0, 0))],
      [1, () => this.put(0x23, 0)],
      [1, () => this.put(0x3f, 0)],
    ]);
  }

  protected value(type: number): void {
    if (type === I32) return this.number();
    const bytes = (count: number) =>
      Array.from({ length: count }, () => 1 + this.chance.below(200));
    this.choose([
      [1, () => this.put(GET, BY_TYPE[type]!)],
      [
        2,
        () => {
          if (type === I64) this.put(0x42, 0xff, 0xff, 1 + this.chance.below(60));
          else if (type === F32) this.put(0x43, ...bytes(4));
          else if (type === F64) this.put(0x44, ...bytes(8));
          else this.put(OP.simd, 12, ...bytes(16));
          if (this.chance.of(0.3)) this.put(TEE, BY_TYPE[type]!);
        },
      ],
    ]);
  }

  protected offset(): number {
    return this.chance.pick(this.chance.of(0.02) ? FAR_OFFSETS : OFFSETS);
  }

  /** A value, and its store to the base that is on the stack. */
  protected storeOf(memory: number, offset: number): void {
    const { code, type, lanes } = this.chance.pick(STORES);
    this.value(type);
    this.put(...code, ...(memory === 0 ? [0] : [0x40, memory]), ...leb(offset));
    if (lanes !== undefined) this.put(this.chance.below(lanes));
  }

  protected call(): void {
    this.address(2);
    this.number(2);
    if (this.chance.of(0.7)) return this.put(OP.call, this.chance.below(FUNCTIONS));
    this.number(2);
    this.constant(FUNCTIONS - 1);
    this.put(AND, OP.callIndirect, 0, 0);
  }
}
