import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, Wait, type Json, type Notification } from "../model.ts";
import { excessOf } from "../shape.ts";
import { stringBytes } from "../text.ts";
import { Budget, Exhausted, GuestError, Place, Tank, type Fuel } from "./budget.ts";
import { rangeOf } from "./image.ts";
import type { Journal, Question } from "./journal.ts";
import { cut, demandJson, demandSize, excerptOf } from "./reading.ts";
import type { LogLevel, Setup } from "./setup.ts";

export { GuestError };
export type { GuestCredentials, LogLevel, Setup } from "./setup.ts";

/** `proc_exit`. */
export class Exit {
  readonly code: number;
  constructor(code: number) {
    this.code = code;
  }
}

/** Exports of a prepared servlet other than the servlet's own functions. */
interface KernelExports {
  memory?: WebAssembly.Memory;
  /** Remaining fuel; the guest traps below zero. Counted by code that the bundle step adds (fuel.ts). */
  edge_fuel: { value: bigint };
  edge_memory: WebAssembly.Memory;
  edge_alloc(length: number): number;
  edge_input(block: number, length: number): void;
  edge_length(block: number): number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Addresses in the kernel's memory; see kernel.wat. */
const OUTPUT_ADDRESS = 20;
const OUTPUT_LENGTH = 24;
const ERROR_BLOCK = 28;

/** One instance, as its host functions see it: its memories, and the call it is in. */
export class Guest {
  readonly setup: Setup;
  readonly journal: Journal;
  readonly budget = new Budget();
  /** Absent before it may compute. */
  tank: Tank | undefined;
  /** Set when the call is over while the guest still runs: it is thrown at every host call from then on. */
  ended: unknown;
  /** Extism's variables. */
  readonly vars = new Map<string, Uint8Array>();
  varBytes = 0;
  /** The last HTTP response, without its body. */
  http: { status: number; headers: Record<string, string> } = { status: 0, headers: {} };
  #kernel!: KernelExports;
  #place: Place | undefined;
  #gone: AbortSignal | undefined;

  constructor(setup: Setup, journal: Journal) {
    this.setup = setup;
    this.journal = journal;
  }

  /**
   * Takes the exports of an instance and lets it compute; before that, host functions that touch memory
   * throw.
   */
  attach(exports: WebAssembly.Exports, fuel: Fuel = {}): void {
    this.#kernel = exports as unknown as KernelExports;
    this.tank = new Tank(this.#kernel.edge_fuel, fuel);
  }

  /** Takes from what the guest may compute. Throws where that is used up. */
  pay(units: number): void {
    this.tank!.pay(units);
  }

  /** The guest's own memory. The view is good until the guest runs again. */
  get memory(): DataView<ArrayBuffer> {
    const memory = this.#kernel.memory;
    if (memory === undefined) throw new GuestError("The servlet has no memory.");
    return new DataView(memory.buffer);
  }

  /** A range of the guest's own memory; throws where it reaches beyond the end. */
  range(at: number, length: number): Uint8Array<ArrayBuffer> {
    // An i32 may be negative; a product of a count and a size may be larger than one, and must stay so.
    const range = rangeOf(this.memory.buffer, at, length < 0 ? length >>> 0 : length);
    this.#payForBytes(range.length);
    return range;
  }

  /** A block's bytes, empty where there is no block. The view is good until the guest runs again. */
  bytes(block: bigint): Uint8Array {
    const address = Number(BigInt.asUintN(32, block));
    const range = this.#kernelRange(address, this.#kernel.edge_length(address));
    this.#payForBytes(range.length);
    return range;
  }

  /** A block's bytes where they are no more than `most`; `what` names them in the error. */
  bytesWithin(most: number, block: bigint, what: string): Uint8Array {
    const bytes = this.bytes(block);
    demandSize(what, bytes, most);
    return bytes;
  }

  /** A block's text as the name of something, for the host function `who`. */
  name(block: bigint, who: string): string {
    return decoder.decode(this.bytesWithin(limits.nameBytes, block, `A name given to ${who}`));
  }

  /** A block's bytes as a JSON object; `who` is the host function that was given it. */
  json(block: bigint, who: string): Json {
    const bytes = this.bytes(block);
    demandJson(`The JSON given to ${who}`, bytes, limits.messageBytes);
    let value: unknown;
    try {
      value = JSON.parse(decoder.decode(bytes));
    } catch {}
    if (!isObject(value)) throw new GuestError(`${who} expects a JSON object: pass one.`);
    if (excessOf(value, { depth: limits.outputDepth }) !== undefined) {
      throw new GuestError(`${who} expects JSON nested at most ${limits.outputDepth} deep.`);
    }
    return value;
  }

  /** The beginning of a text that stands in these bytes: see `excerptOf`. */
  excerpt(parts: readonly Uint8Array[], characters: number): string {
    return excerptOf(parts, characters, this.setup.credentials !== undefined);
  }

  /** Makes a block of these bytes for the guest; 0n where there are none. */
  put(content: string | Uint8Array): bigint {
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    this.#payForBytes(bytes.length);
    const block = this.#kernel.edge_alloc(bytes.length);
    this.#kernelRange(block, bytes.length).set(bytes);
    return BigInt(block >>> 0);
  }

  /** Encodes the input into the kernel, without a copy in between: what UTF-8 needs at most is reserved. */
  setInput(input: string | Uint8Array): void {
    if (input.length === 0) return;
    if (typeof input !== "string") {
      const bytes = this.#kernel.edge_alloc(input.length);
      this.#kernelRange(bytes, input.length).set(input);
      this.#kernel.edge_input(bytes, input.length);
      return;
    }
    const block = this.#kernel.edge_alloc(input.length * 3);
    const { written } = encoder.encodeInto(input, this.#kernelRange(block, input.length * 3));
    this.#kernel.edge_input(block, written);
  }

  /** The guest's output; undefined if it set none. */
  output(): string | undefined {
    const bytes = this.outputBytes();
    if (bytes === undefined) return undefined;
    demandJson("The servlet's output", bytes, limits.outputBytes);
    return decoder.decode(bytes);
  }

  /** The output's bytes. The view is good until the guest runs again. */
  outputBytes(): Uint8Array | undefined {
    const state = new DataView(this.#kernel.edge_memory.buffer);
    const address = state.getUint32(OUTPUT_ADDRESS, true);
    const length = state.getUint32(OUTPUT_LENGTH, true);
    if (address === 0 || address + length > state.byteLength) return undefined;
    return new Uint8Array(state.buffer, address, length);
  }

  /** The message that the guest set with `error_set`; undefined where it set none. */
  error(): string | undefined {
    const block = new DataView(this.#kernel.edge_memory.buffer).getUint32(ERROR_BLOCK, true);
    if (block === 0) return undefined;
    const text = this.excerpt([this.bytes(BigInt(block))], limits.errorCharacters);
    return cut(text, limits.errorCharacters);
  }

  /**
   * What the world answers: the recorded answer where this run repeats an earlier one, else that of
   * `live`, which is recorded before the guest learns of it. `ms` is how long it is known to take.
   */
  async answer(question: Question, live: () => Promise<string>, ms = 0): Promise<string> {
    this.pay(limits.answerFuel);
    const known = this.journal.take(question);
    if (known !== undefined) return this.#held(known, question);
    this.setup.gate?.(ms);
    const place = (this.#place = this.#placeFor(ms));
    try {
      const answer = this.#held(await live(), question);
      this.journal.add(answer);
      await this.journal.keep();
      return answer;
    } finally {
      place.leave();
    }
  }

  /**
   * Room to wait in. Where there is none, a call that lasts is unwound and run again later: nothing was
   * asked yet, so the shortage is no answer. So is one whose run has waited for nearly as long as it may.
   *
   * Throws a `Wait` then, and `too_many` in other calls.
   */
  #placeFor(ms: number): Place {
    const lasts = this.setup.gate !== undefined;
    const { waitedMs, leftMs, heldBytes } = this.budget;
    if (lasts && waitedMs > 0 && leftMs < Math.max(ms, limits.httpMs)) throw this.#retry(0);
    const { memory, edge_memory: kernel } = this.#kernel;
    const bytes = (memory?.buffer.byteLength ?? 0) + kernel.buffer.byteLength + heldBytes;
    const place = Place.take(bytes, this.setup.caller, leftMs);
    if (place !== undefined) return place;
    if (lasts) throw this.#retry(limits.shortageMs);
    const message = "Too many calls are waiting for something. Try again in a moment.";
    throw new Fault("too_many", message, { data: { retryAfter: 1 } });
  }

  #retry(ms: number): Wait {
    const { world } = this.setup;
    const spread = new Uint8Array(1);
    world.random(spread);
    return new Wait({ kind: "retry", until: world.now() + ms * (1 + spread[0]! / 256) });
  }

  /** Takes room for bytes that come in while the guest waits; where there is none it waits for some. */
  async grow(bytes: number, signal: AbortSignal): Promise<void> {
    while (this.#place?.grow(bytes) === false) await this.setup.world.sleep(100, signal);
  }

  /** `answer` for questions that the host answers synchronously. */
  answerNow(question: Question, live: () => string): string {
    this.pay(limits.answerFuel);
    const known = this.journal.take(question);
    if (known !== undefined) return this.#held(known, question);
    const answer = this.#held(live(), question);
    this.journal.add(answer);
    return answer;
  }

  /** An answer, which the journal keeps until the call ends. */
  #held(answer: string, { what }: Question): string {
    this.budget.hold(stringBytes(answer) + what.length + limits.entryBytes);
    return answer;
  }

  async sleep(ms: number): Promise<void> {
    const { world } = this.setup;
    // The guest's clock may be ahead of this machine's: it is to see the whole time pass.
    const aheadMs = Math.max(0, this.journal.now - world.now());
    const live = () => this.wait((signal) => world.sleep(ms + aheadMs, signal)).then(() => "");
    await this.answer({ what: "sleep", details: String(ms) }, live, ms + aheadMs);
  }

  /**
   * Waits while the guest is suspended: for `atMostMs`, within the time that a call may spend on waiting.
   * `work` settles soon after its signal aborts.
   */
  async wait<T>(work: (signal: AbortSignal) => Promise<T>, atMostMs = Infinity): Promise<T> {
    const gone = (this.#gone ??= this.setup.signal());
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("it took too long", "TimeoutError")),
      Math.min(atMostMs, this.budget.leftMs),
    );
    const began = Date.now();
    try {
      return await work(AbortSignal.any([gone, late.signal]));
    } catch (error) {
      if (gone.aborted)
        throw new Fault("cancelled", "The client has left, so the call was stopped.");
      if (late.signal.aborted && !(error instanceof GuestError)) {
        throw new Exhausted("The servlet waited for too long and was stopped.");
      }
      throw error;
    } finally {
      clearTimeout(timer);
      this.budget.addWait(Date.now() - began);
    }
  }

  log(level: LogLevel, line: string): void {
    if (this.journal.isReplaying) return;
    const count = this.budget.count("logLines");
    if (count === undefined) return;
    const { logCharacters, logLines } = limits;
    const text = this.setup.credentials?.hide(line, logCharacters) ?? line.slice(0, logCharacters);
    const rest = count === logLines ? " (this call's further lines are dropped)" : "";
    this.setup.log(level, (line.length > logCharacters ? `${text}…` : text).trimEnd() + rest);
  }

  /** Sends a notification to the client; `bytes` is its size, charged to the budget. */
  notify(notification: Notification, bytes: number): void {
    if (!this.journal.notice()) return;
    this.budget.hold(bytes);
    if (this.budget.count("notifications") !== undefined) this.setup.notify(notification);
  }

  /** The first 256 bytes are covered by the price of the host call. */
  #payForBytes(length: number): void {
    if (length > 256) this.pay(length * limits.byteFuel);
  }

  /** A range that the kernel gave, whose memory the guest can forge; there is nothing at address 0. */
  #kernelRange(at: number, length: number): Uint8Array<ArrayBuffer> {
    return rangeOf(this.#kernel.edge_memory.buffer, length === 0 ? 0 : at, length >>> 0);
  }
}
