/** Random code for one function: statements, branches, loops and exceptions. */
import { leb } from "../../../../src/tools/bundle/wasm/bytes.ts";
import { OP } from "../../../../src/tools/bundle/wasm/instructions.ts";
import type { Chance } from "../../fuzz/chance.ts";
import {
  ADDRESSES,
  AND,
  CONST,
  DROP,
  F32,
  F64,
  FUNCTIONS,
  GET,
  I32,
  I64,
  NUMBERS,
  SET,
  TEE,
  V128,
  VOID,
} from "./random-values.ts";
import { TAKES_TWO, GIVES_TWO, RandomWrites } from "./random-writes.ts";

/** Types: of the functions, of the tag and of blocks with a parameter, and of others with two or two results. */
export const TYPES = [
  [0x60, 2, I32, I32, 1, I32],
  [0x60, 1, I32, 0],
  [0x60, 2, I32, I32, 0],
  [0x60, 0, 2, I32, I32],
];

const LOCALS = [5, 3, I32, 1, I64, 1, F32, 1, F64, 1, V128] as number[];

/** Writes the body of one function. */
export class RandomFunction extends RandomWrites {
  /** Exceptions are of the older kind: engines refuse both in one module. */
  readonly #isOld: boolean;

  constructor(chance: Chance, isOld: boolean) {
    super(chance);
    this.#isOld = isOld;
  }

  body(): Uint8Array {
    this.put(...LOCALS);
    this.statements(4 + this.chance.below(8));
    this.number(1);
    this.put(OP.end);
    return Uint8Array.from([...leb(this.out.length), ...this.out]);
  }

  protected statements(count: number): void {
    for (let at = 0; at < count && this.left > 0; at++) this.#statement();
  }

  #statement(): void {
    this.left--;
    this.choose([
      [20, () => this.store()],
      [12, () => this.stores()],
      [10, () => this.setAddress()],
      [2, () => this.setNumber()],
      [1, () => this.bulk()],
      [4, () => this.bothMemories()],
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

  #block(): void {
    this.put(OP.block, VOID!);
    this.scope(() => this.statements(1 + this.chance.below(4)));
  }

  #if(): void {
    this.number();
    this.constant(1 << this.chance.below(8));
    this.put(AND, OP.if, VOID!);
    this.scope(() => {
      this.statements(1 + this.chance.below(3));
      if (this.chance.of(0.5)) {
        this.put(OP.else);
        this.statements(1 + this.chance.below(3));
      }
    });
  }

  /** Goes on until a counter or the fuel is used up, and often to another block with each turn. */
  #loop(): void {
    const counter = this.chance.pick(NUMBERS);
    const isWalk = this.chance.of(0.6);
    if (isWalk) this.touch();
    this.put(OP.loop, VOID!);
    this.scope(() => {
      if (isWalk) this.touch();
      this.statements(this.chance.below(3));
      if (isWalk) this.step();
      this.put(GET, counter);
      this.constant(1);
      this.put(0x6b, TEE, counter);
      this.constant(this.chance.pick([1, 3, 7]));
      this.put(AND, OP.brIf, 0);
      this.statements(this.chance.below(2));
    });
  }

  /** Where ways meet, a local holds the base of an earlier store, or another address, or is stored to. */
  #join(): void {
    const local = this.chance.pick(ADDRESSES);
    if (this.chance.of(0.7)) this.setAddress();
    if (this.chance.of(0.7)) this.touch();
    const change = () =>
      this.choose([
        [4, () => this.put(GET, this.favourite, SET, local)],
        [3, () => this.touch(local)],
        [1, () => (this.address(), this.put(SET, local))],
        [1, () => this.step()],
      ]);
    const perhaps = (...leaving: number[]) => {
      this.number();
      this.constant(1 << this.chance.below(4));
      this.put(AND, ...leaving);
    };
    const throwing = () => {
      perhaps(OP.if, VOID!);
      this.scope(() => this.put(CONST, 8, OP.throw, 0));
    };
    const around = () => {
      if (this.chance.of(0.5)) change();
      throwing();
      change();
    };
    this.choose([
      [1, () => (this.put(OP.block, VOID!), this.scope(() => (perhaps(OP.brIf, 0), change())))],
      [1, () => (perhaps(OP.if, VOID!), this.scope(change))],
      [1, () => (perhaps(OP.if, VOID!), this.scope(() => (change(), this.put(OP.else), change())))],
      [
        2,
        () => {
          if (this.#isOld) {
            this.put(OP.try, VOID!);
            this.scope(() => (around(), this.put(OP.catchAll), change()));
          } else {
            this.put(OP.block, VOID!);
            this.scope(() => {
              this.put(OP.tryTable, VOID!, 1, 2, 0);
              this.scope(around);
              change();
            });
          }
        },
      ],
    ]);
    if (this.chance.of(0.5)) this.touch(local);
  }

  /** The depths of the labels that may be gone to, with no value. */
  #depths(): number[] {
    return this.labels.flatMap(({ isPlain }, at) => (isPlain ? [this.labels.length - 1 - at] : []));
  }

  #table(): void {
    const depths = this.#depths();
    if (depths.length === 0) return this.store();
    this.put(OP.block, VOID!);
    this.scope(() => {
      this.statements(this.chance.below(2));
      this.number();
      this.constant(3);
      this.put(AND, OP.brTable, 3);
      // Within one block more, all labels are one deeper.
      for (let at = 0; at < 4; at++)
        this.put(...leb(this.chance.of(0.6) ? 0 : this.chance.pick(depths) + 1));
      this.statements(this.chance.below(2));
    });
  }

  #branch(): void {
    const depths = this.#depths();
    if (depths.length === 0) return this.store();
    if (this.chance.of(0.8)) {
      this.number();
      this.put(OP.brIf, ...leb(this.chance.pick(depths)));
    } else this.put(OP.br, ...leb(this.chance.pick(depths)));
  }

  #callAndDrop(): void {
    this.call();
    this.put(DROP);
  }

  /** An address and a number by way of a block. */
  #twoValues(): void {
    const write = () => (this.address(1), this.number());
    const store = [0x36, 0, ...leb(this.offset())];
    if (this.chance.of(0.5)) {
      write();
      this.put(OP.block, TAKES_TWO!);
      this.scope(() => (this.statements(this.chance.below(2)), this.put(...store)), {
        isPlain: true,
      });
    } else {
      this.put(OP.block, GIVES_TWO!);
      this.scope(write, { isPlain: false });
      this.put(...store);
    }
  }

  #leave(): void {
    this.choose([
      [2, () => (this.number(), this.put(OP.return))],
      [1, () => this.put(OP.unreachable)],
      [4, () => (this.address(1), this.put(OP.throw, 0))],
      [
        1,
        () => (
          this.address(2),
          this.number(2),
          this.put(OP.returnCall, this.chance.below(FUNCTIONS))
        ),
      ],
      [
        this.#handlers().length > 0 ? 6 : 0,
        () => this.put(OP.rethrow, ...leb(this.chance.pick(this.#handlers()))),
      ],
    ]);
  }

  #handlers(): number[] {
    return this.labels.flatMap(({ isHandler }, at) =>
      isHandler === true ? [this.labels.length - 1 - at] : [],
    );
  }

  /** Something that may throw, after something else. */
  #guarded(): void {
    if (this.chance.of(0.5)) this.step();
    this.statements(this.chance.below(3));
    if (this.chance.of(0.5)) {
      this.number();
      this.put(OP.if, VOID!);
      this.scope(() => (this.address(1), this.put(OP.throw, 0)));
      if (this.chance.of(0.5)) this.touch();
      this.setAddress();
    }
  }

  #handler(): void {
    if (this.chance.of(0.6)) this.touch();
    this.statements(this.chance.below(3));
  }

  #try(): void {
    if (this.#isOld) this.#oldTry();
    else if (this.chance.of(0.5)) {
      this.put(OP.block, VOID!);
      this.scope(() => {
        this.statements(this.chance.below(2));
        this.put(OP.tryTable, VOID!, 1, 2, 0);
        this.scope(() => this.#guarded());
        this.statements(this.chance.below(2));
      });
    } else {
      this.put(OP.block, I32!);
      this.scope(
        () => {
          this.put(OP.tryTable, VOID!, 1, 0, 0, 0);
          this.scope(() => this.#guarded());
          this.address(1);
        },
        { isPlain: false },
      );
      this.put(SET, this.local());
    }
  }

  #oldTry(): void {
    this.put(OP.try, VOID!);
    this.labels.push({ isPlain: true });
    this.#guarded();
    if (this.chance.of(0.2)) {
      this.labels.pop();
      this.put(OP.delegate, ...leb(this.chance.below(this.labels.length)));
      return;
    }
    this.labels.at(-1)!.isHandler = true;
    if (this.chance.of(0.5)) {
      this.put(OP.catch, 0, SET, this.local());
      this.#handler();
    }
    if (this.chance.of(0.7)) {
      this.put(OP.catchAll);
      this.#handler();
    }
    this.labels.pop();
    this.put(OP.end);
  }
}
