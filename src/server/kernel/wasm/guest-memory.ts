import { limits } from "./limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { excessOf } from "../core/shape.ts";
import { GuestError, FuelMeter, type Fuel } from "./budget.ts";
import { rangeOf } from "./image.ts";
import { mark, MARKS_EXPORT, marksIn } from "./marks.ts";
import { demandJson, demandSize } from "./reading.ts";
import { parseJson } from "../core/text.ts";

/** Names and keys from a guest: of config, variables, secrets. */
const NAME_BYTES = 16 * 1024;
/** One request, notification or HTTP head that a guest passes as JSON: an image or two in base64. */
const MESSAGE_BYTES = 4 * 1024 * 1024;

/** Exports of a prepared servlet other than the servlet's own functions. */
interface KernelExports {
  memory?: WebAssembly.Memory;
  /** Remaining fuel; the guest traps below zero. Counted by code that the bundle step adds (fuel.ts). */
  edge_fuel: { value: bigint };
  edge_memory: WebAssembly.Memory;
  /** Its memory's size in pages, as the guest sees it. */
  edge_pages?: { value: number };
  [MARKS_EXPORT]?: WebAssembly.Memory;
  edge_alloc(length: number): number;
  edge_input(block: number, length: number): void;
  edge_length(block: number): number;
}

const isPrepared = (exports: WebAssembly.Exports): exports is WebAssembly.Exports & KernelExports =>
  exports["edge_fuel"] instanceof WebAssembly.Global &&
  exports["edge_memory"] instanceof WebAssembly.Memory &&
  ["edge_alloc", "edge_input", "edge_length"].every((name) => typeof exports[name] === "function");

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Addresses in the kernel's memory; see kernel.wat. */
const OUTPUT_ADDRESS = 20;
const OUTPUT_LENGTH = 24;
const ERROR_BLOCK = 28;

/** An instance's two memories, and the fuel that it pays for reading and writing them. */
export class GuestMemory {
  /** Absent until the guest may compute. */
  fuelMeter: FuelMeter | undefined;
  #exports: KernelExports | undefined;
  #marks: ReturnType<typeof marksIn> | undefined;

  /** Takes the exports of an instance and lets it compute; before that, host functions that access memory throw. */
  attach(exports: WebAssembly.Exports, fuel: Fuel = {}): void {
    if (!isPrepared(exports)) throw new Error("not the exports of a prepared servlet");
    this.#exports = exports;
    const marks = exports[MARKS_EXPORT];
    this.#marks = marks && marksIn(marks.buffer);
    this.fuelMeter = new FuelMeter(exports.edge_fuel, fuel);
  }

  /** Leaves the instance to other calls; later payments are counted here. */
  detach(): void {
    this.fuelMeter?.detach();
    this.#exports = this.#marks = undefined;
  }

  get #kernel(): KernelExports {
    if (this.#exports === undefined) throw new Error("The guest has no instance.");
    return this.#exports;
  }

  /** Charges fuel. Throws if it is used up. */
  pay(units: number): void {
    this.fuelMeter!.pay(units);
  }

  /** The guest's own memory, for reading. The view is valid until the guest runs again. */
  get memory(): DataView<ArrayBuffer> {
    const { memory, edge_pages: pages } = this.#kernel;
    if (memory === undefined || pages === undefined) {
      throw new GuestError("The servlet has no memory.");
    }
    return new DataView(memory.buffer, 0, pages.value * 65536);
  }

  /** A range of the guest's own memory, for reading; throws if it exceeds the end. */
  range(at: number, length: number): Uint8Array<ArrayBuffer> {
    const { buffer, byteLength } = this.memory;
    // An i32 may be negative; the product of a count and a size may be larger than an i32, and must stay so.
    const range = rangeOf(buffer, at, length < 0 ? length >>> 0 : length, byteLength);
    this.#payForBytes(range.length);
    return range;
  }

  /** A range of the guest's own memory, for writing; throws if it exceeds the end. */
  writable(at: number, length: number): Uint8Array<ArrayBuffer> {
    const range = this.range(at, length);
    if (this.#marks !== undefined) mark(this.#marks.memory, range.byteOffset, range.length);
    return range;
  }

  /** A range for writing, as a view that sets numbers. */
  writableView(at: number, length: number): DataView<ArrayBuffer> {
    return new DataView(this.writable(at, length).buffer, at >>> 0, length);
  }

  /** Bytes of both memories; of its own at the size that it sees, as that memory may have grown in an earlier call. */
  get memoryBytes(): number {
    const { edge_pages: pages, edge_memory: kernel } = this.#kernel;
    return (pages?.value ?? 0) * 65536 + kernel.buffer.byteLength;
  }

  /** A block's bytes, empty if there is no block. The view is valid until the guest runs again. */
  bytes(block: bigint): Uint8Array {
    const address = Number(BigInt.asUintN(32, block));
    const range = this.#kernelRange(address, this.#kernel.edge_length(address));
    this.#payForBytes(range.length);
    return range;
  }

  /** A block's bytes if they are at most `most`; `name` names them in the error. */
  bytesWithin(most: number, block: bigint, name: string): Uint8Array {
    const bytes = this.bytes(block);
    demandSize(name, bytes, most);
    return bytes;
  }

  /** A block's text as a name, for the host function `who`. */
  name(block: bigint, who: string): string {
    return decoder.decode(this.bytesWithin(NAME_BYTES, block, `A name given to ${who}`));
  }

  /** A block's bytes as a JSON object; `who` is the host function that got it. */
  json(block: bigint, who: string): Json {
    const bytes = this.bytes(block);
    demandJson(`The JSON given to ${who}`, bytes, MESSAGE_BYTES);
    let value: unknown;
    try {
      value = parseJson(decoder.decode(bytes));
    } catch {}
    if (!isObject(value)) throw new GuestError(`${who} expects a JSON object: pass one.`);
    if (excessOf(value, { depth: limits.outputDepth }) !== undefined) {
      throw new GuestError(`${who} expects JSON nested at most ${limits.outputDepth} deep.`);
    }
    return value;
  }

  /** Makes a block of these bytes for the guest; 0n if there are none. */
  put(content: string | Uint8Array): bigint {
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    this.#payForBytes(bytes.length);
    const block = this.#kernel.edge_alloc(bytes.length);
    this.#kernelWritable(block, bytes.length).set(bytes);
    return BigInt(block >>> 0);
  }

  /** Makes a block of a status, 0 for success and 1 for failure, and these bytes. */
  putAnswer(status: 0 | 1, content: Uint8Array): bigint {
    const whole = new Uint8Array(1 + content.length);
    whole[0] = status;
    whole.set(content, 1);
    return this.put(whole);
  }

  /** Encodes the input into the kernel's memory without an intermediate copy: reserves the most that UTF-8 may need. */
  setInput(input: string | Uint8Array): void {
    if (input.length === 0) return;
    if (typeof input !== "string") {
      const bytes = this.#kernel.edge_alloc(input.length);
      this.#kernelWritable(bytes, input.length).set(input);
      this.#kernel.edge_input(bytes, input.length);
      return;
    }
    const block = this.#kernel.edge_alloc(input.length * 3);
    const { written } = encoder.encodeInto(input, this.#kernelWritable(block, input.length * 3));
    this.#kernel.edge_input(block, written);
  }

  /** The guest's output; undefined if it set none. */
  output(): string | undefined {
    const bytes = this.outputBytes();
    if (bytes === undefined) return undefined;
    demandJson("The servlet's output", bytes, limits.outputBytes);
    return decoder.decode(bytes);
  }

  /** The output's bytes. The view is valid until the guest runs again. */
  outputBytes(): Uint8Array | undefined {
    const state = new DataView(this.#kernel.edge_memory.buffer);
    const address = state.getUint32(OUTPUT_ADDRESS, true);
    const length = state.getUint32(OUTPUT_LENGTH, true);
    if (address === 0 || address + length > state.byteLength) return undefined;
    return new Uint8Array(state.buffer, address, length);
  }

  /** The message that the guest set with `error_set`; undefined if it set none. */
  errorBytes(): Uint8Array | undefined {
    const block = new DataView(this.#kernel.edge_memory.buffer).getUint32(ERROR_BLOCK, true);
    return block === 0 ? undefined : this.bytes(BigInt(block));
  }

  /** The first 256 bytes are included in the price of the host call. */
  #payForBytes(length: number): void {
    if (length > 256) this.pay(length * limits.byteFuel);
  }

  /** A range from the kernel, whose memory the guest can forge; there is nothing at address 0. */
  #kernelRange(at: number, length: number): Uint8Array<ArrayBuffer> {
    return rangeOf(this.#kernel.edge_memory.buffer, length === 0 ? 0 : at, length >>> 0);
  }

  #kernelWritable(at: number, length: number): Uint8Array<ArrayBuffer> {
    const range = this.#kernelRange(at, length);
    if (this.#marks !== undefined) mark(this.#marks.kernel, range.byteOffset, range.length);
    return range;
  }
}
