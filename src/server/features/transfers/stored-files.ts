/** The files of all callers: how they are made, written and read. */
import { hexDigest } from "../../kernel/core/digest.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { ANONYMOUS, type Principal } from "../../kernel/core/model.ts";
import { retry } from "../../kernel/core/retry.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import type { CallerTokens } from "../../kernel/storage/caller-tokens.ts";
import { Chunks } from "./chunks.ts";
import { limits } from "./limits.ts";
import {
  fileNameOf,
  mediaTypeOf,
  newName,
  type ChosenFile,
  type FileRequest,
  type ListedFile,
  type NewFile,
  type OpenFile,
  type OwnedFile,
  type StoredFile,
} from "./stored-file.ts";
import { cutOff, type FileRange, type TransfersObject } from "./transfers-object.ts";

/** What a token in a URL allows. */
export type TokenUse = "upload" | "download";

/** The parts of the server that store files. */
export interface TransferStore {
  objects: DurableObjectNamespace<TransfersObject>;
  tokens: CallerTokens;
  bucket?: R2Bucket | undefined;
}

/** A file that is to be made. */
interface FileSpec {
  name: string;
  mimeType?: string | undefined;
}

type FileDetails = Omit<NewFile, "id" | "owner" | "link">;

type Stub = DurableObjectStub<TransfersObject>;

export class StoredFiles {
  readonly #store: TransferStore;

  constructor(store: TransferStore) {
    this.#store = store;
  }

  /** Begins an upload: the URI of the file, and the token of the URL to which its bytes are sent. */
  async begin(
    owner: Principal,
    { name, mimeType, size }: FileSpec & { size: number },
  ): Promise<{ id: string; token: string }> {
    return this.#createUpload(owner, {
      name: fileNameOf(name),
      mimeType: mediaTypeOf(mimeType),
      size,
    });
  }

  /** Has a person asked for a file: its id, and the token of the URL of the page on which it is chosen. */
  async request(owner: Principal, request: FileRequest): Promise<{ id: string; token: string }> {
    return this.#createUpload(owner, { name: "file", mimeType: mediaTypeOf(), request });
  }

  /** Creates a file whose bytes are sent: its id, and the token of the URL to which they are. */
  async #createUpload(
    owner: Principal,
    spec: Omit<FileDetails, "upload">,
  ): Promise<{ id: string; token: string }> {
    const token = await this.#store.tokens.newToken(keyOf(owner), useOf("upload"));
    const id = await this.#create(owner, { ...spec, upload: await hexDigest(token) });
    return { id, token };
  }

  /** True if a file of this caller is whole; false while its bytes may still arrive. Throws `invalid_params` if there is none. */
  async isWhole(owner: Principal, id: string): Promise<boolean> {
    const place = await this.#placeOf(keyOf(owner));
    const state = await this.#ask(place, async (object) => object.stateOf(id, profileOf(owner)));
    if (state !== "over") return state === "whole";
    throw new Fault("invalid_params", "The file has not come in time.");
  }

  /** The upload whose URL has this token, and its owner; undefined if there is none. */
  async upload(token: string): Promise<OwnedFile<OpenFile> | undefined> {
    const place = await this.#placeIn(token, "upload");
    const digest = await hexDigest(token);
    if (place === undefined) return undefined;
    return this.#ask(place, async (object) => object.upload(digest));
  }

  /** Stores the next part of an upload. Undefined if there is no such upload. Throws `conflict`, `invalid_request`. */
  async receive(
    token: string,
    part: FileRange,
    { body, chosen }: { body: ReadableStream<Uint8Array> | null; chosen?: ChosenFile | undefined },
  ): Promise<OpenFile | undefined> {
    const place = await this.#placeIn(token, "upload");
    if (place === undefined) return undefined;
    const digest = await hexDigest(token);
    const admission = await this.#ask(place, async (object) => object.admit(digest, part, chosen));
    const admitted = unsettled(admission);
    if (admitted === undefined) return undefined;
    const object = this.#at(place);
    const { bucket } = this.#store;
    const { length, key } = admitted;
    const whole = new FixedLengthStream(length);
    // What stores the body decides: it may fail before it has read all.
    const send = (stored: Promise<unknown>) => {
      const end = () => "ended" as const;
      return pumped(body, whole.writable, { length, ended: stored.then(end, end) });
    };
    if (bucket === undefined || length === 0) {
      const stored = object.receive(admitted, whole.readable);
      const [outcome] = await Promise.allSettled([stored, send(stored)]);
      // The object died: it goes on from what has arrived.
      if (outcome.status === "rejected") throw cutOff(outcome.reason);
      return unsettled(outcome.value);
    }
    try {
      const stored = bucket.put(key, whole.readable);
      const [put, sent] = await Promise.allSettled([stored, send(stored)]);
      if (sent.status === "rejected") throw sent.reason;
      if (put.status === "rejected") throw bucketFailed(put.reason);
    } catch (error) {
      await Promise.allSettled([bucket.delete(key), object.endArrival(admitted)]);
      throw error;
    }
    const arrival = await object.arrived(admitted).catch((cause: unknown) => {
      throw cutOff(cause);
    });
    return this.#recorded(key, arrival);
  }

  /**
   * Deletes bytes in the bucket that were not recorded. Where no answer says so, they may have been: then they stay until the
   * time of their file is over.
   */
  async #recorded<T>(key: string, recording: Settled<T>): Promise<T> {
    try {
      return unsettled(recording);
    } catch (error) {
      await this.#store.bucket?.delete(key).catch(() => {});
      throw error;
    }
  }

  /** Begins a file of a servlet, and returns its id. */
  async make(
    owner: Principal,
    { name, mimeType, servlet }: FileSpec & { servlet: string },
  ): Promise<string> {
    const spec = { name: fileNameOf(name), mimeType: mediaTypeOf(mimeType), servlet };
    return this.#create(owner, spec);
  }

  async #create(owner: Principal, spec: FileDetails): Promise<string> {
    const id = newName();
    const link = await hexDigest(await this.linkToken(owner, id));
    const place = await this.#placeOf(keyOf(owner));
    const file = { ...spec, id, link, owner: ownerOf(owner) };
    unsettled(await this.#ask(place, async (object) => object.create(file)));
    return id;
  }

  /** The token of the URL from which a file is fetched. */
  linkToken(owner: Principal, id: string): Promise<string> {
    return this.#store.tokens.tokenNamed(keyOf(owner), useOf("download"), id);
  }

  /** Adds bytes to a file of a servlet. To add them again changes nothing. */
  async append(owner: Principal, { id, start }: { id: string; start: number }, bytes: Uint8Array) {
    const { bucket } = this.#store;
    const place = await this.#placeOf(keyOf(owner));
    const of = { id, start, length: bytes.length, profile: profileOf(owner) };
    const key = unsettled(await this.#ask(place, async (object) => object.admitAppend(of)));
    if (key === undefined) return;
    if (bucket === undefined) {
      unsettled(await this.#ask(place, async (object) => object.append(of, bytes)));
      return;
    }
    const remove = () => bucket.delete(key).catch(() => {});
    try {
      await bucket.put(key, bytes);
    } catch (error) {
      await remove();
      throw error;
    }
    // Not asked again: a second answer would say that the bytes were added before.
    const isAdded = await this.#recorded(key, await this.#at(place).append(of, { key }));
    if (!isAdded) await remove();
  }

  /** Ends a file of a servlet: it is whole. */
  async finish(owner: Principal, id: string): Promise<StoredFile> {
    const place = await this.#placeOf(keyOf(owner));
    const profile = profileOf(owner);
    return unsettled(await this.#ask(place, async (object) => object.finish(id, profile)));
  }

  /** A whole file of this caller. Throws `invalid_params` if there is none. */
  async open(owner: Principal, id: string): Promise<StoredFile> {
    const place = await this.#placeOf(keyOf(owner));
    const file = await this.#ask(place, async (object) => object.file(id, profileOf(owner)));
    if (file !== undefined) return file;
    throw new Fault(
      "invalid_params",
      "There is no such file of yours here: its URI is misspelt, its bytes have not arrived, or it was deleted.",
    );
  }

  /** Bytes of a whole file of this caller, fewer at its end. Throws `invalid_params` if there is no such file. */
  async read(owner: Principal, id: string, part: FileRange): Promise<Uint8Array> {
    const { size } = await this.open(owner, id);
    const start = Math.min(part.start, size);
    const length = Math.min(part.length, size - start);
    const bytes = new Uint8Array(length);
    let at = 0;
    const place = await this.#placeOf(keyOf(owner));
    for await (const piece of this.#bytesOf(place, id, { start, length })) {
      const some = piece instanceof ReadableStream ? await new Response(piece).bytes() : piece;
      bytes.set(some, at);
      at += some.length;
    }
    return bytes;
  }

  /** The whole file whose URL has this token, and its owner; undefined if there is none. */
  async download(token: string): Promise<OwnedFile<StoredFile> | undefined> {
    const place = await this.#placeIn(token, "download");
    const digest = await hexDigest(token);
    if (place === undefined) return undefined;
    return this.#ask(place, async (object) => object.download(digest));
  }

  /** The bytes of a part of a file, of which little is in memory at once: with a bucket, the platform pipes them. */
  async stream(owner: Principal, id: string, part: FileRange): Promise<ReadableStream<Uint8Array>> {
    const { readable, writable } = new FixedLengthStream(part.length);
    const pieces = this.#bytesOf(await this.#placeOf(keyOf(owner)), id, part);
    const send = async () => {
      for await (const piece of pieces)
        if (piece instanceof ReadableStream) await piece.pipeTo(writable, { preventClose: true });
        else await written(piece, writable);
      await writable.close();
    };
    // The reader learns by the length that bytes are missing; it may also have left.
    void send().catch((error: unknown) => writable.abort(error).catch(() => {}));
    return readable;
  }

  /** The newest files of a caller at all endpoints, and how many there are. */
  async list(owner: Principal): Promise<{ files: ListedFile[]; count: number }> {
    const place = await this.#placeOf(keyOf(owner));
    return this.#ask(place, async (object) => object.list(limits.shownFiles));
  }

  /** Deletes a file of this caller, if there is one. */
  async delete(owner: Principal, id: string): Promise<void> {
    const place = await this.#placeOf(keyOf(owner));
    await this.#ask(place, async (object) => object.delete(id));
  }

  /** Deletes all files of a caller, by its key. */
  async forget(caller: string): Promise<void> {
    await this.#ask(await this.#placeOf(caller), async (object) => object.forget());
  }

  async *#bytesOf(
    place: string,
    id: string,
    part: FileRange,
  ): AsyncGenerator<Uint8Array | ReadableStream<Uint8Array>> {
    if (part.length === 0) return;
    const end = part.start + part.length;
    const pieces = await this.#ask(place, async (object) => object.pieces(id, part));
    // The file was deleted meanwhile.
    if (pieces.length === 0) throw missing();
    for (const { start, length, key } of pieces) {
      const offset = Math.max(0, part.start - start);
      const count = Math.min(start + length, end) - start - offset;
      if (key === undefined) {
        const piece = await this.#ask(place, async (object) => object.piece(id, start));
        if (piece === undefined) throw missing();
        yield piece.subarray(offset, offset + count);
        continue;
      }
      const found = await this.#store.bucket?.get(key, { range: { offset, length: count } });
      if (found === null || found === undefined) throw missing();
      yield found.body;
    }
  }

  #placeOf(caller: string): Promise<string> {
    return this.#store.tokens.placeOf(caller);
  }

  /** Where a token may be known; undefined for a token that this server has not made. */
  #placeIn(token: string, use: TokenUse): Promise<string | undefined> {
    return this.#store.tokens.placeIn(token, useOf(use));
  }

  /** Asks an object for what may be repeated: again if it dies, as its stub is of no more use then. */
  #ask<T>(place: string, work: (object: Stub) => Promise<T>): Promise<T> {
    return retry(() => work(this.#at(place)));
  }

  #at(place: string): Stub {
    return this.#store.objects.getByName(`caller ${place}`);
  }
}

/** Writes bytes, and waits until they are read. */
async function written(bytes: Uint8Array, into: WritableStream<Uint8Array>): Promise<void> {
  const writer = into.getWriter();
  await writer.write(bytes);
  writer.releaseLock();
}

const useOf = (use: TokenUse): string => `${use} of a file`;

const profileOf = ({ profile = "" }: Principal): string => profile;

/** The owner as it is stored: its rights are checked before its files are sent to anybody. */
const ownerOf = ({ name, scopes, address, profile }: Principal): Principal => ({
  name,
  ...(scopes && { scopes }),
  ...(address !== undefined && { address }),
  ...(profile !== undefined && { profile }),
});

/**
 * The key of a caller. Callers of whom nothing is known share their room, and are told apart by the ids of their files,
 * which nobody can guess.
 */
const keyOf = (owner: Principal): string => callerKey(owner) ?? ANONYMOUS.name;

const missing = (): Fault =>
  new Fault("unavailable", "The bytes of this file are gone. Make or send it again.");

const bucketFailed = (cause: unknown): Fault =>
  new Fault("unavailable", "The bucket did not take the part. Send it again.", {
    data: { retryAfter: 5 },
    cause,
  });

/**
 * Writes the body as it arrives, or until `ended`: then nobody reads it any more. Throws `invalid_request` if it is cut off,
 * has another length or stalls.
 */
async function pumped(
  body: ReadableStream<Uint8Array> | null,
  into: WritableStream<Uint8Array>,
  { length, ended }: { length: number; ended: Promise<"ended"> },
): Promise<void> {
  const writer = into.getWriter();
  const chunks = body && new Chunks(body);
  const over = Date.now() + limits.uploadMs;
  let at = 0;
  const step = async (): Promise<"more" | "whole"> => {
    const chunk = await chunks?.next();
    if (chunk === undefined) return "whole";
    if (Date.now() > over) throw new Error("the part has come in too slowly");
    at += chunk.length;
    if (at > length) throw new Error("the body is longer than announced");
    await writer.write(chunk);
    return "more";
  };
  try {
    for (;;) {
      const next = await Promise.race([inTime(step()), ended]);
      if (next === "whole") break;
      if (next === "ended") return void chunks?.cancel();
    }
    if (at < length) throw new Error("the body is shorter than announced");
    await Promise.race([writer.close(), ended]);
  } catch (cause) {
    const left = Promise.allSettled([writer.abort(cause), chunks?.cancel(cause)]);
    await Promise.race([left, ended]);
    throw cutOff(cause);
  }
}

/** Rejects if the work takes longer than a sender may stall. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the sender stalls")), limits.uploadStallMs);
  });
  return Promise.race([work, stalled]).finally(() => clearTimeout(timer));
}
