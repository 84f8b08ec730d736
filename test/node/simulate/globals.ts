import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  timingSafeEqual,
} from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { BEGINNING, type Scheduler } from "./scheduler.ts";

const HASHES: Record<string, string> = {
  "SHA-1": "sha1",
  "SHA-256": "sha256",
  "SHA-512": "sha512",
};

interface AesGcm {
  iv: Uint8Array;
  additionalData?: Uint8Array;
}

/** Gives the code under test a clock, timers, random numbers and an asynchronous platform that one scheduler drives. */
export function replaceGlobals(
  scheduler: Scheduler,
  send: (request: Request) => Promise<Response>,
): () => void {
  const actor = () => scheduler.current;
  const timers = new Map<number, { stop: () => void }>();
  let lastTimer = 0;

  const setTimer = (run: () => void, ms = 0, repeats = false): number => {
    const id = ++lastTimer;
    const owner = actor();
    // Of an actor that is over: what waits for it goes on at once, to its end.
    if (owner === undefined || !owner.isAlive) {
      if (!repeats) queueMicrotask(run);
      return id;
    }
    const set = () => {
      const event = scheduler.timer(Math.max(1, Math.trunc(ms)), owner, () => {
        if (repeats && owner.isAlive) set();
        else timers.delete(id);
        run();
      });
      timers.set(id, { stop: () => scheduler.drop(event) });
    };
    set();
    return id;
  };
  const clearTimer = (id: number | undefined): void => {
    timers.get(id ?? 0)?.stop();
    timers.delete(id ?? 0);
  };

  const later = <T>(how: () => T): Promise<T> => {
    const owner = actor();
    if (owner === undefined) return Promise.resolve().then(how);
    return scheduler.eventually(owner, (settle) => settle(how, 0));
  };
  const bytesOf = (data: BufferSource): Uint8Array =>
    ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
  const exact = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;

  class SimulatedKey {
    readonly bytes: Uint8Array;
    readonly algorithm: { name: string };
    readonly hash: string;
    constructor(bytes: Uint8Array, algorithm: string | { name: string; hash?: string }) {
      this.bytes = bytes.slice();
      const { name, hash = "SHA-256" } =
        typeof algorithm === "string" ? { name: algorithm } : algorithm;
      this.algorithm = { name };
      this.hash = HASHES[hash]!;
    }
  }
  const mac = ({ bytes, hash }: SimulatedKey, data: BufferSource): Buffer =>
    createHmac(hash, bytes).update(bytesOf(data)).digest();
  const subtle = {
    digest: (_name: string, data: BufferSource) =>
      later(() => exact(createHash("sha256").update(bytesOf(data)).digest())),
    importKey: (_format: string, bytes: BufferSource, algorithm: string | { name: string }) =>
      later(() => new SimulatedKey(bytesOf(bytes), algorithm)),
    sign: (_name: string, key: SimulatedKey, data: BufferSource) =>
      later(() => exact(mac(key, data))),
    verify: (_name: string, key: SimulatedKey, signature: BufferSource, data: BufferSource) =>
      later(() => mac(key, data).equals(bytesOf(signature))),
    timingSafeEqual: (one: BufferSource, other: BufferSource) =>
      timingSafeEqual(bytesOf(one), bytesOf(other)),
    encrypt: ({ iv, additionalData }: AesGcm, key: SimulatedKey, data: BufferSource) =>
      later(() => {
        const cipher = createCipheriv("aes-256-gcm", key.bytes, iv);
        if (additionalData !== undefined) cipher.setAAD(additionalData);
        return exact(
          Buffer.concat([cipher.update(bytesOf(data)), cipher.final(), cipher.getAuthTag()]),
        );
      }),
    decrypt: ({ iv, additionalData }: AesGcm, key: SimulatedKey, data: BufferSource) =>
      later(() => {
        const bytes = bytesOf(data);
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, iv);
        if (additionalData !== undefined) decipher.setAAD(additionalData);
        decipher.setAuthTag(bytes.subarray(-16));
        return exact(Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]));
      }),
  };
  const fill = <T extends ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = scheduler.chance.below(256);
    return view;
  };

  class SimulatedBlob {
    readonly #bytes: Uint8Array;
    constructor(parts: BufferSource[]) {
      // Not a Buffer: a slice of one is a view.
      this.#bytes = new Uint8Array(Buffer.concat(parts.map(bytesOf)));
    }
    arrayBuffer(): Promise<ArrayBuffer> {
      return Promise.resolve(this.#bytes.slice().buffer as ArrayBuffer);
    }
    stream(): ReadableStream<Uint8Array> {
      return new ReadableStream({
        start: (controller) => {
          controller.enqueue(this.#bytes.slice());
          controller.close();
        },
      });
    }
  }
  const whole = (change: (bytes: Uint8Array) => Buffer) =>
    class extends TransformStream<Uint8Array, Uint8Array> {
      constructor() {
        const chunks: Uint8Array[] = [];
        super({
          transform: (chunk) => void chunks.push(chunk),
          flush: (controller) => controller.enqueue(new Uint8Array(change(Buffer.concat(chunks)))),
        });
      }
    };

  class FixedLength extends TransformStream<Uint8Array, Uint8Array> {
    constructor(length: number) {
      let left = length;
      super({
        transform: (chunk, controller) => {
          left -= chunk.length;
          if (left < 0) throw new TypeError("more bytes than announced");
          controller.enqueue(chunk);
        },
        flush: () => {
          if (left > 0) throw new TypeError("fewer bytes than announced");
        },
      });
    }
  }

  const { Request: NativeRequest } = globalThis;
  const requests: Request[] = [];
  /** Node collects a request of which nobody holds more than the signal, which never aborts then; Workers do not. */
  class KeptRequest extends NativeRequest {
    constructor(...args: ConstructorParameters<typeof NativeRequest>) {
      super(...args);
      requests.push(this);
    }
  }

  const now = () => {
    const { skewMs = 0, backMs = scheduler.backMs } = actor() ?? {};
    return Math.floor(scheduler.now - backMs + skewMs);
  };
  const written = (level: string) => (first: unknown) => {
    if (actor()?.isAlive !== false) scheduler.note(`${level}: ${String(first).split("\n")[0]}`);
  };
  const { Date: NativeDate, console: nativeConsole } = globalThis;
  const replaced: Record<string, unknown> = {
    Date: class extends NativeDate {
      constructor(...args: [] | [number]) {
        if (args.length === 0) super(now());
        else super(...args);
      }
      static override now = now;
    },
    setTimeout: (run: () => void, ms?: number) => setTimer(run, ms),
    clearTimeout: clearTimer,
    setInterval: (run: () => void, ms?: number) => setTimer(run, ms, true),
    clearInterval: clearTimer,
    scheduler: { wait: (ms: number) => scheduler.sleep(ms) },
    crypto: { subtle, getRandomValues: fill, randomUUID: () => uuidOf(fill(new Uint8Array(16))) },
    Blob: SimulatedBlob,
    CompressionStream: whole(deflateRawSync),
    DecompressionStream: whole(inflateRawSync),
    FixedLengthStream: FixedLength,
    Request: KeptRequest,
    fetch: (input: Request | URL, init?: RequestInit) => send(new Request(input, init)),
    console: {
      ...nativeConsole,
      ...Object.fromEntries(
        ["error", "warn", "info", "log", "debug"].map((level) => [level, written(level)]),
      ),
    },
  };
  const before = Object.keys(replaced).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  );
  for (const [name, value] of Object.entries(replaced)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, descriptor);
    }
  };
}

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join("-");
}

export { BEGINNING };
