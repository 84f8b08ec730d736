/**
 * https://streams.spec.whatwg.org, as far as packages use it: without BYOB readers. A stream pulls from its source only when it
 * is read, and buffers no more than its source enqueues.
 */

interface Source<T> {
  start?(controller: ReadableStreamDefaultController<T>): unknown;
  pull?(controller: ReadableStreamDefaultController<T>): unknown;
  cancel?(reason?: unknown): unknown;
  type?: string;
}

interface Strategy {
  highWaterMark?: number;
  size?(chunk: unknown): number;
}

type Read<T> = { done: false; value: T } | { done: true; value: undefined };

const DONE = { done: true, value: undefined } as const;

class State<T> {
  queue: T[] = [];
  waiting: PromiseWithResolvers<Read<T>>[] = [];
  ended: "open" | "closing" | "closed" | "errored" = "open";
  error: unknown;
  readonly closed = Promise.withResolvers<undefined>();
  started: Promise<unknown> | undefined;
  pulling = false;
  again = false;
  reader: ReadableStreamDefaultReader<T> | undefined;
  source: Source<T>;
  controller: ReadableStreamDefaultController<T>;

  constructor(source: Source<T>) {
    this.source = source;
    this.controller = new ReadableStreamDefaultController(this);
    this.closed.promise.catch(() => {});
  }

  start(): void {
    try {
      this.started = Promise.resolve(this.source.start?.(this.controller));
      this.started.catch((error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  give(value: T): void {
    if (this.ended !== "open") throw new TypeError("The stream is closed.");
    const next = this.waiting.shift();
    if (next) next.resolve({ done: false, value });
    else this.queue.push(value);
  }

  close(): void {
    if (this.ended !== "open") throw new TypeError("The stream is closed.");
    this.ended = "closing";
    if (this.queue.length === 0) this.finish();
  }

  finish(): void {
    this.ended = "closed";
    this.queue = [];
    for (const one of this.waiting.splice(0)) one.resolve(DONE);
    this.closed.resolve(undefined);
  }

  fail(error: unknown): void {
    if (this.ended === "closed" || this.ended === "errored") return;
    this.ended = "errored";
    this.error = error;
    this.queue = [];
    for (const one of this.waiting.splice(0)) one.reject(error);
    this.closed.reject(error);
  }

  async read(): Promise<Read<T>> {
    if (this.ended === "errored") throw this.error;
    if (this.queue.length > 0) {
      const value = this.queue.shift()!;
      if (this.ended === "closing" && this.queue.length === 0) this.finish();
      return { done: false, value };
    }
    if (this.ended !== "open") return DONE;
    const next = Promise.withResolvers<Read<T>>();
    this.waiting.push(next);
    void this.pull();
    return next.promise;
  }

  /** Pulls from the source until no read is waiting. */
  async pull(): Promise<void> {
    this.again = true;
    if (this.pulling) return;
    this.pulling = true;
    try {
      await this.started;
      while (this.again && this.ended === "open" && this.waiting.length > 0) {
        this.again = false;
        if (this.source.pull === undefined) break;
        const before = this.waiting.length;
        await this.source.pull(this.controller);
        this.again ||= this.waiting.length > 0 && this.waiting.length < before;
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.pulling = false;
    }
  }

  async cancel(reason: unknown): Promise<void> {
    if (this.ended === "errored") throw this.error;
    if (this.ended === "closed") return;
    this.finish();
    await this.source.cancel?.(reason);
  }
}

export class ReadableStreamDefaultController<T = unknown> {
  readonly #state: State<T>;

  constructor(state: State<T>) {
    this.#state = state;
  }

  get desiredSize(): number | null {
    const { ended, queue } = this.#state;
    return ended === "errored" ? null : ended === "open" ? 1 - queue.length : 0;
  }

  /** Always null: a byte source uses `enqueue`. */
  get byobRequest(): null {
    return null;
  }

  enqueue(chunk: T): void {
    this.#state.give(chunk);
    if (this.#state.waiting.length > 0) void this.#state.pull();
  }

  close(): void {
    this.#state.close();
  }

  error(reason?: unknown): void {
    this.#state.fail(reason);
  }
}

const released = () => new TypeError("The reader was released.");

export class ReadableStreamDefaultReader<T = unknown> {
  #state: State<T> | undefined;
  readonly closed: Promise<undefined>;

  constructor(stream: ReadableStream<T>) {
    const state = ReadableStream.state(stream);
    if (state.reader) throw new TypeError("The stream is locked: it has a reader already.");
    state.reader = this;
    this.#state = state;
    this.closed = state.closed.promise;
  }

  async read(): Promise<Read<T>> {
    if (!this.#state) throw released();
    return this.#state.read();
  }

  async cancel(reason?: unknown): Promise<void> {
    if (!this.#state) throw released();
    return this.#state.cancel(reason);
  }

  releaseLock(): void {
    if (!this.#state) return;
    for (const one of this.#state.waiting.splice(0)) one.reject(released());
    this.#state.reader = undefined;
    this.#state = undefined;
  }
}

interface PipeOptions {
  preventClose?: boolean;
  preventAbort?: boolean;
  preventCancel?: boolean;
  signal?: { readonly aborted: boolean; readonly reason?: unknown };
}

export class ReadableStream<T = unknown> {
  readonly #state: State<T>;

  constructor(source: Source<T> = {}, _strategy: Strategy = {}) {
    this.#state = new State(source);
    this.#state.start();
  }

  static state<T>(stream: ReadableStream<T>): State<T> {
    return stream.#state;
  }

  static from<T>(items: Iterable<T> | AsyncIterable<T>): ReadableStream<T> {
    const iterator =
      Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    return new ReadableStream<T>({
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => iterator.return?.(reason),
    });
  }

  get locked(): boolean {
    return this.#state.reader !== undefined;
  }

  async cancel(reason?: unknown): Promise<void> {
    if (this.locked) throw new TypeError("The stream is locked: cancel it by its reader.");
    return this.#state.cancel(reason);
  }

  getReader({ mode }: { mode?: string } = {}): ReadableStreamDefaultReader<T> {
    if (mode !== undefined) {
      throw new TypeError(`A stream has no reader with mode "${mode}" here: call getReader().`);
    }
    return new ReadableStreamDefaultReader(this);
  }

  tee(): [ReadableStream<T>, ReadableStream<T>] {
    const reader = this.getReader();
    const branches: ReadableStreamDefaultController<T>[] = [];
    let reading: Promise<void> | undefined;
    const cancelled = new Set<number>();
    const readOne = async () => {
      try {
        const { done, value } = await reader.read();
        for (const [at, branch] of branches.entries()) {
          if (cancelled.has(at)) continue;
          if (done) branch.close();
          else branch.enqueue(value);
        }
      } catch (error) {
        for (const branch of branches) branch.error(error);
      } finally {
        reading = undefined;
      }
    };
    const next = () => (reading ??= readOne());
    const branch = (at: number) =>
      new ReadableStream<T>({
        start: (controller) => void branches.push(controller),
        pull: next,
        cancel: (reason) => cancelled.add(at).size === 2 && reader.cancel(reason),
      });
    return [branch(0), branch(1)];
  }

  async pipeTo(to: WritableStream<T>, options: PipeOptions = {}): Promise<void> {
    const reader = this.getReader();
    const writer = to.getWriter();
    try {
      for (;;) {
        if (options.signal?.aborted) throw options.signal.reason;
        const { done, value } = await reader.read();
        if (done) break;
        await writer.write(value);
      }
      if (options.preventClose !== true) await writer.close();
    } catch (error) {
      if (options.preventCancel !== true) await reader.cancel(error).catch(() => {});
      if (options.preventAbort !== true) await writer.abort(error).catch(() => {});
      throw error;
    } finally {
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  pipeThrough<O>(
    pair: { readonly readable: ReadableStream<O>; readonly writable: WritableStream<never> },
    options?: PipeOptions,
  ): ReadableStream<O> {
    this.pipeTo(pair.writable as WritableStream<T>, options).catch(() => {});
    return pair.readable;
  }

  async *values({ preventCancel = false } = {}): AsyncGenerator<T, undefined, undefined> {
    const reader = this.getReader();
    let isOver = false;
    try {
      for (;;) {
        const read = await reader.read().catch((error: unknown) => {
          isOver = true;
          throw error;
        });
        isOver = read.done;
        if (read.done) return undefined;
        yield read.value;
      }
    } finally {
      if (!isOver && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, undefined, undefined> {
    return this.values();
  }
}

interface WritableStreamDefaultController {
  error(reason?: unknown): void;
}

interface Sink<T> {
  start?(controller: WritableStreamDefaultController): unknown;
  write?(chunk: T, controller: WritableStreamDefaultController): unknown;
  close?(): unknown;
  abort?(reason?: unknown): unknown;
}

/** Writes chunks one at a time. */
export class WritableStream<T = unknown> {
  readonly #sink: Sink<T>;
  readonly #controller: WritableStreamDefaultController;
  readonly #closed = Promise.withResolvers<undefined>();
  #last: Promise<unknown>;
  #error: { reason: unknown } | undefined;
  #isClosed = false;
  #writer: WritableStreamDefaultWriter<T> | undefined;

  constructor(sink: Sink<T> = {}, _strategy: Strategy = {}) {
    this.#sink = sink;
    this.#controller = { error: (reason) => this.#fail(reason) };
    this.#closed.promise.catch(() => {});
    this.#last = Promise.resolve(sink.start?.(this.#controller));
    this.#last.catch((error: unknown) => this.#fail(error));
  }

  get locked(): boolean {
    return this.#writer !== undefined;
  }

  getWriter(): WritableStreamDefaultWriter<T> {
    return new WritableStreamDefaultWriter(this);
  }

  close(): Promise<void> {
    return this.getWriter().close();
  }

  abort(reason?: unknown): Promise<void> {
    return this.getWriter().abort(reason);
  }

  #fail(reason: unknown): void {
    this.#error ??= { reason };
    this.#closed.reject(reason);
  }

  #then(work: () => unknown): Promise<void> {
    const before = this.#last;
    const does = async () => {
      await before;
      if (this.#error) throw this.#error.reason;
      await work();
    };
    const done = does();
    this.#last = done.catch((error: unknown) => this.#fail(error));
    return done;
  }

  /** Locks the stream to a writer, or releases it if undefined; returns the writer's operations, by name. */
  static lock<T>(stream: WritableStream<T>, writer: WritableStreamDefaultWriter<T> | undefined) {
    if (writer !== undefined && stream.#writer !== undefined) {
      throw new TypeError("The stream is locked: it has a writer already.");
    }
    stream.#writer = writer;
    return {
      closed: stream.#closed.promise,
      write: (chunk: T) =>
        stream.#isClosed
          ? Promise.reject(new TypeError("The stream is closed."))
          : stream.#then(() => stream.#sink.write?.(chunk, stream.#controller)),
      close: () => {
        if (stream.#isClosed) return Promise.reject(new TypeError("The stream is closed."));
        stream.#isClosed = true;
        return stream.#then(async () => {
          await stream.#sink.close?.();
          stream.#closed.resolve(undefined);
        });
      },
      abort: async (reason: unknown) => {
        if (stream.#error || stream.#isClosed) return;
        stream.#fail(reason);
        await stream.#sink.abort?.(reason);
      },
    };
  }
}

export class WritableStreamDefaultWriter<T = unknown> {
  readonly #stream: WritableStream<T>;
  readonly #does: ReturnType<typeof WritableStream.lock<T>>;
  readonly closed: Promise<undefined>;
  readonly ready: Promise<undefined> = Promise.resolve(undefined);
  readonly desiredSize = 1;

  constructor(stream: WritableStream<T>) {
    this.#stream = stream;
    this.#does = WritableStream.lock(stream, this);
    this.closed = this.#does.closed;
  }

  write(chunk: T): Promise<void> {
    return this.#does.write(chunk);
  }

  close(): Promise<void> {
    return this.#does.close();
  }

  abort(reason?: unknown): Promise<void> {
    return this.#does.abort(reason);
  }

  releaseLock(): void {
    WritableStream.lock(this.#stream, undefined);
  }
}

interface TransformController<O> {
  readonly desiredSize: number | null;
  enqueue(chunk: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}

interface Transformer<I, O> {
  start?(controller: TransformController<O>): unknown;
  transform?(chunk: I, controller: TransformController<O>): unknown;
  flush?(controller: TransformController<O>): unknown;
}

export class TransformStream<I = unknown, O = I> {
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;

  constructor(transformer: Transformer<I, O> = {}) {
    let out!: ReadableStreamDefaultController<O>;
    let isOver = false;
    /** Resumes a writer that waits for a reader. */
    let resume = () => {};
    const readable = new ReadableStream<O>({
      start: (controller) => void (out = controller),
      pull: () => resume(),
      cancel: (reason) => {
        isOver = true;
        resume();
        failed(reason);
      },
    });
    let failed: (reason: unknown) => void = () => {};
    const controller: TransformController<O> = {
      get desiredSize() {
        return out.desiredSize;
      },
      enqueue: (chunk) => out.enqueue(chunk),
      error: (reason) => {
        out.error(reason);
        failed(reason);
      },
      terminate: () => {
        isOver = true;
        out.close();
        failed(new TypeError("The stream was terminated."));
      },
    };
    const orFail = async (work: () => unknown) => {
      try {
        await work();
      } catch (error) {
        out.error(error);
        throw error;
      }
    };
    this.readable = readable;
    this.writable = new WritableStream<I>({
      start: (sink) => {
        failed = (reason) => sink.error(reason);
        return orFail(() => transformer.start?.(controller));
      },
      write: async (chunk) => {
        if ((out.desiredSize ?? 1) <= 0) await new Promise<void>((resolve) => (resume = resolve));
        await orFail(() =>
          transformer.transform
            ? transformer.transform(chunk, controller)
            : out.enqueue(chunk as unknown as O),
        );
      },
      close: () =>
        orFail(async () => {
          await transformer.flush?.(controller);
          if (!isOver) out.close();
        }),
      abort: (reason) => out.error(reason),
    });
  }
}

export class TextDecoderStream extends TransformStream<ArrayBuffer | ArrayBufferView, string> {
  readonly encoding: string;

  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text !== "") controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== "") controller.enqueue(text);
      },
    });
    this.encoding = decoder.encoding;
  }
}

export class TextEncoderStream extends TransformStream<string, Uint8Array<ArrayBuffer>> {
  constructor() {
    let half = "";
    super({
      transform(chunk, controller) {
        const text = half + chunk;
        half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
        const whole = half === "" ? text : text.slice(0, -1);
        if (whole !== "") controller.enqueue(new TextEncoder().encode(whole));
      },
      flush(controller) {
        if (half !== "") controller.enqueue(new TextEncoder().encode(half));
      },
    });
  }
}

export class CountQueuingStrategy {
  readonly highWaterMark: number;

  constructor({ highWaterMark }: { highWaterMark: number }) {
    this.highWaterMark = highWaterMark;
  }

  size(): number {
    return 1;
  }
}

export class ByteLengthQueuingStrategy extends CountQueuingStrategy {
  override size(chunk?: ArrayBufferView): number {
    return chunk?.byteLength ?? 0;
  }
}
