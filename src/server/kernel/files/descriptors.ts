import { limits } from "../core/limits.ts";
import { FileSystemError } from "./errors.ts";
import type { Descriptor } from "./records.ts";

/** The first descriptor of a file, after standard input, output and error. */
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

  /** All descriptors, to be stored. */
  entries(): [number, Descriptor][] {
    return [...this.#open];
  }

  /** Throws `badf` for an unknown number. */
  get(fd: number): Descriptor {
    const descriptor = this.#open.get(fd);
    if (descriptor === undefined) throw new FileSystemError("badf");
    return descriptor;
  }

  /** Throws `mfile` if no more may be open. */
  demandRoom(): void {
    if (this.#open.size >= limits.openFiles) throw new FileSystemError("mfile");
  }

  /** Opens a descriptor under the lowest free number. */
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

  /** Moves a descriptor to another number, closing the descriptor there. */
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
