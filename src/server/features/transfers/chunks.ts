/** How many bytes are read at once. */
const CHUNK_BYTES = 128 * 1024;

/** The bytes of a stream, in order. A byte stream is read into one buffer: V8 would collect many buffers late. */
export class Chunks {
  readonly #byob: ReadableStreamBYOBReader | undefined;
  readonly #plain: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #buffer: ArrayBufferLike = new ArrayBuffer(CHUNK_BYTES);

  constructor(body: ReadableStream<Uint8Array>) {
    try {
      this.#byob = body.getReader({ mode: "byob" });
    } catch {
      // Not a byte stream.
      this.#plain = body.getReader();
    }
  }

  /** The next bytes, which are valid until the next call; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#byob === undefined) return (await this.#plain!.read()).value;
    const { done, value } = await this.#byob.read(new Uint8Array(this.#buffer as ArrayBuffer));
    if (value !== undefined) this.#buffer = value.buffer;
    return done ? undefined : value;
  }

  /** Stops reading. Never throws. */
  async cancel(reason?: unknown): Promise<void> {
    await (this.#byob ?? this.#plain)!.cancel(reason).catch(() => {});
  }
}
