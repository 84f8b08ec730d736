/** Random code for one function: writes to memory. */
import { OP } from "../../../../src/tools/bundle/wasm/instructions.ts";
import { ADD, AND, GET, NUMBERS, PAGES, RandomValues, SET } from "./random-values.ts";

/** Those that may just share a mark, or just not. */
const NEAR_OFFSETS = [0, 0, 1, 100, 240, 241, 248, 249, 252, 255, 256, 300];
export const SEGMENT = 9000;
/** Types: one parameter, two parameters, two results. */
export const [TAKES_ONE, TAKES_TWO, GIVES_TWO] = [1, 2, 3];

/** Writes to memory: stores, fills, copies and growth. */
export abstract class RandomWrites extends RandomValues {
  protected store(): void {
    const isKernel = this.chance.of(0.1);
    this.address();
    if (isKernel) {
      this.constant(0xfff0);
      this.put(AND);
    }
    // Code between the base and the value may change the local that the base is from.
    if (this.chance.of(0.1)) this.statements(1);
    if (this.chance.of(0.1)) this.setAddress();
    this.storeOf(isKernel ? 1 : 0, isKernel ? this.chance.below(16) : this.offset());
  }

  /** Some to one base, with something between them. */
  protected stores(): void {
    const local = this.local();
    if (this.chance.of(0.4)) {
      this.constant((1 + this.chance.below(PAGES * 16 - 2)) * 4096 - 1 - this.chance.below(3));
      this.put(SET, local);
    }
    for (let count = 2 + this.chance.below(3); count > 0; count--) {
      this.put(GET, local);
      this.storeOf(0, this.chance.of(0.5) ? this.chance.pick(NEAR_OFFSETS) : this.offset());
      if (this.chance.of(0.2)) this.statements(1);
    }
  }

  /** Writes at one address in the guest's memory and in the kernel's. */
  protected bothMemories(): void {
    const local = this.local();
    this.address(1);
    this.constant(0xffff);
    this.put(AND, SET, local);
    const place = this.place() & 0xffff;
    for (const memory of this.chance.of(0.5) ? [0, 1] : [1, 0]) {
      if (this.chance.of(0.3)) this.constant(place);
      else this.put(GET, local);
      this.storeOf(memory, this.chance.below(16));
    }
  }

  protected setAddress(): void {
    this.address();
    this.put(SET, this.local());
  }

  protected setNumber(): void {
    this.choose([
      [1, () => this.number()],
      [
        1,
        () => (
          this.constant(this.chance.pick([0, 1, 1, 2, 4, -1, 65536])),
          this.put(OP.memoryGrow, 0)
        ),
      ],
      [1, () => this.call()],
    ]);
    this.put(...(this.chance.of(0.3) ? [0x24, 0] : [SET, this.chance.pick(NUMBERS)]));
  }

  #length(): void {
    if (this.chance.of(0.02)) return this.constant(this.chance.pick([-1, -4096, 200_000]));
    this.constant(this.chance.pick([0, 1, 2, 4095, 4096, 4097, 8193, this.chance.below(SEGMENT)]));
  }

  protected bulk(): void {
    this.address();
    this.choose([
      [2, () => (this.address(1), this.#length(), this.put(OP.bulk, 10, 0, 0))],
      [3, () => (this.number(), this.#length(), this.put(OP.bulk, 11, 0))],
      [2, () => (this.constant(this.chance.below(20)), this.#length(), this.put(OP.bulk, 8, 0, 0))],
    ]);
  }

  /** A store to a base, the favourite one by default. */
  protected touch(local = this.favourite): void {
    this.put(GET, local);
    this.storeOf(0, this.offset());
  }

  /** Moves the favourite base to another block. */
  protected step(): void {
    this.put(GET, this.favourite);
    this.constant(this.chance.pick([4096, 8192, -4096]));
    this.put(ADD);
    this.mask();
    const step = () => this.put(SET, this.favourite);
    if (this.chance.of(0.7)) return step();
    this.put(OP.block, TAKES_ONE!);
    this.scope(step);
  }
}
