import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Asker, Json, Notification, Trace } from "../model.ts";
import { excessOf, isObject } from "../model.ts";
import type { GuestResponse } from "./http.ts";
import { rangeOf } from "./image.ts";
import type { Journal, Question } from "./journal.ts";
import type { World } from "./world.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** What the caller has lent to one call: the guest gets it past the journal, and its log past this. */
export interface Lending {
  config(key: string): string | undefined;
  secret(service: string, user: string): string | undefined;
  /** An access token by the id of what it is for. */
  token(id: string): string | undefined;
  /** Strikes what was lent out of a text. */
  hide(text: string): string;
}

/** What one call of a guest may use, and where what it says goes. Nothing of it outlives the call. */
export interface Setup {
  world: World;
  /** Extism's config: strings that the manifest gives to the servlet. */
  config: Readonly<Record<string, string>>;
  /** Hosts that guest HTTP may reach: globs on the host name. */
  allowedHosts: readonly string[];
  /** May POST and PATCH requests be sent again where a crash left their outcome unknown? */
  resends?: boolean;
  /** A secret that the manifest lets the servlet have. */
  secret(service: string, user: string): string | undefined;
  /** Guests' log calls below this are dropped. */
  logLevel: LogLevel;
  /** What its HTTP requests are a part of. */
  trace?: Trace | undefined;
  /** Who is calling, where that is known. */
  caller?: string;
  /** What it may compute; `limits.guestFuel` where it is not given. */
  fuel?: number | undefined;
  /** Aborts when nobody waits for the call any more. */
  signal(): AbortSignal;
  log(level: LogLevel, text: string): void;
  notify(notification: Notification): void;
  ask: Asker;
  /** See `CallContext`. */
  gate?(ms: number): void;
  lent?: Lending;
}

/** The servlet's own failure, with a message that is meant for the caller. Ends the call. */
export class GuestError extends Error {}

export const TOO_LONG = "The servlet computed for too long and was stopped.";

/** `proc_exit`. */
export class Exit {
  readonly code: number;
  constructor(code: number) {
    this.code = code;
  }
}

/** What a prepared servlet exports, the servlet's own functions aside. */
interface KernelExports {
  memory?: WebAssembly.Memory;
  /** What the guest may still compute; below zero it traps. The bundle step counts it (fuel.ts). */
  edge_fuel: { value: bigint };
  edge_memory: WebAssembly.Memory;
  edge_alloc(length: number): number;
  edge_input(block: number, length: number): void;
  edge_length(block: number): number;
}

/** How many guests of this isolate wait, and for which callers. */
let waiting = 0;
const waitingFor = new Map<string, number>();

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Where the kernel keeps what a guest has set; see kernel.wat. */
const OUTPUT_ADDRESS = 20;
const OUTPUT_LENGTH = 24;
const ERROR_BLOCK = 28;

/** One instance, as its host functions see it: its memories, and the call it is in. */
export class Guest {
  readonly setup: Setup;
  readonly journal: Journal;
  /** Set when the call is over while the guest still runs: it is thrown at every host call from then on. */
  ended: unknown;
  /** Extism's variables. */
  readonly vars = new Map<string, Uint8Array>();
  varBytes = 0;
  httpRequests = 0;
  /** What the last HTTP response was. */
  http: GuestResponse = { status: 0, headers: {}, body: new Uint8Array() };
  #kernel!: KernelExports;
  #waitedMs = 0;
  #gone: AbortSignal | undefined;
  #logLines = 0;
  #notifications = 0;

  constructor(setup: Setup, journal: Journal) {
    this.setup = setup;
    this.journal = journal;
  }

  /**
   * Takes the exports of an instance and lets it compute so much; before that, host functions that touch
   * memory throw.
   */
  attach(exports: WebAssembly.Exports, fuel: number = limits.guestFuel): void {
    this.#kernel = exports as unknown as KernelExports;
    this.#kernel.edge_fuel.value = BigInt(fuel);
  }

  /** Takes from what the guest may compute. Throws where that is used up. */
  pay(units: number): void {
    const { edge_fuel: fuel } = this.#kernel;
    const left = fuel.value - BigInt(units);
    fuel.value = left;
    if (left < 0n) throw new GuestError(TOO_LONG);
  }

  get isExhausted(): boolean {
    return this.#kernel !== undefined && this.#kernel.edge_fuel.value < 0n;
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

  text(block: bigint): string {
    return decoder.decode(this.bytes(block));
  }

  /** A block's bytes as a JSON object; `who` is the host function that was given it. */
  json(block: bigint, who: string): Json {
    const text = this.text(block);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    if (!isObject(value)) throw new GuestError(`${who} was called with what is no JSON object.`);
    if (excessOf(value, { depth: limits.outputDepth }) !== undefined) {
      throw new GuestError(`${who} was called with what is nested too deeply.`);
    }
    return value;
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

  /** What the guest gave as its output; undefined where it gave none. */
  output(): string | undefined {
    const bytes = this.outputBytes();
    return bytes && decoder.decode(bytes);
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
    return block === 0 ? undefined : this.text(BigInt(block));
  }

  /**
   * What the world answers: the recorded answer where this run repeats an earlier one, else that of
   * `live`, which is recorded before the guest learns of it. `ms` is how long it is known to take.
   */
  async answer(question: Question, live: () => Promise<string>, ms = 0): Promise<string> {
    const known = this.journal.take(question);
    if (known !== undefined) return known;
    this.setup.gate?.(ms);
    const answer = await live();
    this.journal.add(answer);
    await this.journal.keep();
    return answer;
  }

  /** The same for what is known at once. */
  answerNow(question: Question, live: () => string): string {
    this.pay(limits.answerFuel);
    const known = this.journal.take(question);
    if (known !== undefined) return known;
    const answer = live();
    this.journal.add(answer);
    return answer;
  }

  async sleep(ms: number): Promise<void> {
    const { world } = this.setup;
    const live = () => this.wait((signal) => world.sleep(ms, signal)).then(() => "");
    await this.answer({ what: "sleep", details: String(ms) }, live, ms);
  }

  /**
   * Waits while the guest is suspended: for `atMostMs`, within the time that a call may spend on waiting
   * and the number of guests that may wait at once. `work` settles soon after its signal aborts.
   */
  async wait<T>(work: (signal: AbortSignal) => Promise<T>, atMostMs = Infinity): Promise<T> {
    const { caller = "" } = this.setup;
    const ofCaller = waitingFor.get(caller) ?? 0;
    if (
      waiting >= limits.waitingGuests ||
      (caller !== "" && ofCaller >= limits.waitingGuestsOfOne)
    ) {
      throw new GuestError("Too many calls are waiting for something. Try again in a moment.");
    }
    const gone = (this.#gone ??= this.setup.signal());
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("it took too long", "TimeoutError")),
      Math.min(atMostMs, limits.waitMs - this.#waitedMs),
    );
    const began = Date.now();
    waiting++;
    waitingFor.set(caller, ofCaller + 1);
    try {
      return await work(AbortSignal.any([gone, late.signal]));
    } catch (error) {
      if (gone.aborted)
        throw new Fault("cancelled", "The client has left, so the call was stopped.");
      if (late.signal.aborted && !(error instanceof GuestError)) {
        throw new GuestError("The servlet waited for too long and was stopped.");
      }
      throw error;
    } finally {
      clearTimeout(timer);
      waiting--;
      const left = (waitingFor.get(caller) ?? 1) - 1;
      if (left > 0) waitingFor.set(caller, left);
      else waitingFor.delete(caller);
      this.#waitedMs += Date.now() - began;
    }
  }

  log(level: LogLevel, line: string): void {
    if (this.journal.isReplaying) return;
    if (++this.#logLines > limits.logLines) return;
    const text = this.setup.lent?.hide(line) ?? line;
    const rest =
      this.#logLines === limits.logLines ? " (this call's further lines are dropped)" : "";
    const cut =
      text.length > limits.logCharacters ? `${text.slice(0, limits.logCharacters)}…` : text;
    this.setup.log(level, cut.trimEnd() + rest);
  }

  notify(notification: Notification): void {
    if (!this.journal.notice()) return;
    if (++this.#notifications <= limits.notifications) this.setup.notify(notification);
  }

  /** A few bytes come with the call. */
  #payForBytes(length: number): void {
    if (length > 256) this.pay(length * limits.byteFuel);
  }

  /** A range that the kernel gave, whose memory the guest can forge; there is nothing at address 0. */
  #kernelRange(at: number, length: number): Uint8Array<ArrayBuffer> {
    return rangeOf(this.#kernel.edge_memory.buffer, length === 0 ? 0 : at, length >>> 0);
  }
}
