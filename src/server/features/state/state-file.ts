/**
 * The file format of a servlet's state in one scope, written by `npm run servlets -- state export`: frames, each
 * with the length of its head (four bytes), the head as JSON, and `size` bytes of content. The last frame has
 * the SHA-256 of all bytes before it, so that truncated or altered files are detected.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod/mini";
import { once } from "../../kernel/core/once.ts";
import { Fault } from "../../kernel/core/errors.ts";

export const STATE_FILE_VERSION = 1;

/** Maximum bytes of a frame's content, and of a head: one has Extism's variables in base64. */
export const FRAME_BYTES = 256 * 1024;
const HEAD_BYTES = 4 * 1024 * 1024;

/** The heads of frames. Nodes are numbers by which the file names its files and folders. */
const headSchema = once(() => {
  const count = z.int().check(z.gte(0));
  const size = z.optional(count.check(z.lte(FRAME_BYTES)));
  const bigint = z.pipe(
    z.string().check(z.regex(/^-?\d{1,20}$/)),
    z.transform((text: string) => BigInt(text)),
  );

  const descriptor = z.strictObject({
    node: count,
    kind: z.enum(["file", "folder", "link"]),
    mount: z.string(),
    isPreopened: z.boolean(),
    offset: count,
    flags: count,
    rights: bigint,
    inheriting: bigint,
  });

  return z.discriminatedUnion("is", [
    z.strictObject({
      is: z.literal("state"),
      version: z.literal(STATE_FILE_VERSION),
      servlet: z.string(),
      /** Hash of the build that the memory belongs to; absent without memory. */
      hash: z.optional(z.string()),
      /** When the file was written, in ISO 8601. */
      time: z.string(),
    }),
    /** The state of the instance besides its memory. */
    z.strictObject({
      is: z.literal("memory"),
      pages: count,
      globals: z.array(z.string()),
      vars: z.array(z.tuple([z.string(), z.string()])),
    }),
    /** A block of the memory: its content follows. */
    z.strictObject({ is: z.literal("block"), nth: count, size }),
    /** The root of a store; its contents follow. */
    z.strictObject({
      is: z.literal("store"),
      host: z.string(),
      node: count,
      digest: z.optional(z.string()),
    }),
    /** A named node in a store, folders before their contents. A repeated node is a further name (hard link). */
    z.strictObject({
      is: z.literal("entry"),
      node: count,
      path: z.string(),
      kind: z.enum(["file", "folder", "link"]),
      length: count,
      modified: bigint,
      target: z.optional(z.string()),
    }),
    /** An unlinked file that the memory has open. */
    z.strictObject({ is: z.literal("nameless"), node: count, length: count, modified: bigint }),
    /** A part of the last file: its content follows. Parts without a frame are zero. */
    z.strictObject({ is: z.literal("data"), position: count, size }),
    /** The open file descriptors of the memory. */
    z.strictObject({ is: z.literal("open"), descriptors: z.array(z.tuple([count, descriptor])) }),
    z.strictObject({ is: z.literal("end"), sha256: z.string() }),
  ]);
});

export type FrameHead = z.infer<ReturnType<typeof headSchema>>;

export interface Frame {
  head: FrameHead;
  content: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes of a file with these frames and the final frame. */
export async function* stateFile(
  frames: Iterable<Frame> | AsyncIterable<Frame>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const hash = sha256.create();
  for await (const frame of frames) {
    const bytes = encoded(frame);
    hash.update(bytes);
    yield bytes;
  }
  const end = { is: "end", sha256: bytesToHex(hash.digest()) } as const;
  yield encoded({ head: end, content: new Uint8Array() });
}

function encoded({ head, content }: Frame): Uint8Array<ArrayBuffer> {
  const whole = content.length === 0 ? head : { ...head, size: content.length };
  const text = encoder.encode(
    JSON.stringify(whole, (_key, part: unknown) =>
      typeof part === "bigint" ? String(part) : part,
    ),
  );
  const bytes = new Uint8Array(4 + text.length + content.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  bytes.set(content, 4 + text.length);
  return bytes;
}

/**
 * The frames of a state file, without the last, which holds the checksum. Throws `invalid_request` if the file has
 * another format, is cut off or was altered: use no frame before all have been read.
 */
export async function* framesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const reader = new Reader(chunks);
  const hash = sha256.create();
  for (;;) {
    const prefix = await reader.take(4);
    const length = new DataView(prefix.buffer, prefix.byteOffset).getUint32(0, true);
    if (length > HEAD_BYTES) throw unfit();
    const text = await reader.take(length);
    const head = headIn(text);
    if (head.is === "end") {
      if (bytesToHex(hash.digest()) !== head.sha256 || !(await reader.isAtEnd())) throw unfit();
      return;
    }
    const content = await reader.take("size" in head ? (head.size ?? 0) : 0);
    for (const part of [prefix, text, content]) hash.update(part);
    yield { head, content };
  }
}

function headIn(text: Uint8Array): FrameHead {
  try {
    return headSchema().parse(JSON.parse(decoder.decode(text)));
  } catch (error) {
    throw unfit(error);
  }
}

const unfit = (cause?: unknown) =>
  new Fault(
    "invalid_request",
    "The file is not one that `state export` has written, or it was cut off or altered. Nothing was changed.",
    { cause },
  );

/** Reads exact numbers of bytes from chunks. */
class Reader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async take(length: number): Promise<Uint8Array> {
    const taken = new Uint8Array(length);
    for (let done = 0; done < length;) {
      if (this.#rest.length === 0 && !(await this.#more())) throw unfit();
      const part = this.#rest.subarray(0, length - done);
      taken.set(part, done);
      done += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return taken;
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  /** False at the end. */
  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest = value;
    return value.length > 0 || this.#more();
  }
}
