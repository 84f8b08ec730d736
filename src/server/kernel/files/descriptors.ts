import { limits } from "../core/limits.ts";
import { FileSystemError } from "./errors.ts";
import type { Descriptor } from "./records.ts";

/** Standard input, output and error have the numbers before it, and are not files. */
const FIRST = 3;

/** A guest's open files, by descriptor number. */
export class Descriptors {
  readonly #open: Map<number, Descriptor>;
  readonly #counts = new Map<number, number>();

  constructor(open: readonly (readonly [number, Descriptor])[]) {
    this.#open = new Map(open);
    for (const { node } of this.#open.values()) this.#add(node, 1);
  }

  get size(): number {
    return this.#open.size;
  }

  /** All of them, to be kept. */
  entries(): [number, Descriptor][] {
    return [...this.#open];
  }

  /** Throws `badf` where nothing has this number. */
  get(fd: number): Descriptor {
    const descriptor = this.#open.get(fd);
    if (descriptor === undefined) throw new FileSystemError("badf");
    return descriptor;
  }

  /** Throws `mfile` where no more may be open. */
  demandRoom(): void {
    if (this.#open.size >= limits.openFiles) throw new FileSystemError("mfile");
  }

  /** Opens under the lowest number that is free. */
  add(descriptor: Descriptor): number {
    this.demandRoom();
    let fd = FIRST;
    while (this.#open.has(fd)) fd++;
    this.#open.set(fd, descriptor);
    this.#add(descriptor.node, 1);
    return fd;
  }

  remove(fd: number): void {
    const { node } = this.get(fd);
    this.#open.delete(fd);
    this.#add(node, -1);
  }

  /** Gives a descriptor another number, whose own is closed before. */
  renumber(from: number, to: number): void {
    const descriptor = this.get(from);
    this.#open.delete(from);
    this.#open.set(to, descriptor);
  }

  /** How often a node is open. */
  count(node: number): number {
    return this.#counts.get(node) ?? 0;
  }

  #add(node: number, by: number): void {
    const count = (this.#counts.get(node) ?? 0) + by;
    if (count > 0) this.#counts.set(node, count);
    else this.#counts.delete(node);
  }
}
