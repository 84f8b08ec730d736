/**
 * An R2 bucket for workerd, which has the binding but no store: a Worker that answers the binding's requests from the
 * database of one Durable Object. It supports the operations that the bucket of builds needs: head, get of objects and
 * ranges, put of whole objects with a SHA-256, list by prefix, and delete.
 * https://github.com/cloudflare/workerd/blob/main/src/workerd/api/r2-api.capnp
 */
import { DurableObject } from "cloudflare:workers";
import * as z from "zod/mini";

/** A row has at most 2 MB. */
const PIECE_BYTES = 1024 * 1024;
const PAGE_KEYS = 1000;
const KEY_BYTES = 1024;
/** A noncharacter, which sorts after every key. */
const LAST = "\u{10ffff}";

const key = z.string().check(z.minLength(1), z.maxLength(KEY_BYTES));
/** 64-bit integers arrive as strings. */
const integer = z.pipe(z.union([z.string(), z.number()]), z.transform(Number));
const requestSchema = z.discriminatedUnion("method", [
  z.strictObject({ version: z.unknown(), method: z.literal("head"), object: key }),
  z.strictObject({
    version: z.unknown(),
    method: z.literal("get"),
    object: key,
    range: z.optional(z.strictObject({ offset: integer, length: integer })),
  }),
  z.strictObject({
    version: z.unknown(),
    method: z.literal("put"),
    object: key,
    sha256: z.optional(z.string()),
  }),
  z.strictObject({
    version: z.unknown(),
    method: z.literal("list"),
    prefix: z._default(z.string(), ""),
    cursor: z._default(z.string(), ""),
    limit: z._default(z.int().check(z.gte(1), z.lte(PAGE_KEYS)), PAGE_KEYS),
    // Accepted and ignored.
    include: z.optional(z.unknown()),
    newRuntime: z.optional(z.unknown()),
  }),
  z.strictObject({
    version: z.unknown(),
    method: z.literal("delete"),
    object: z.optional(key),
    objects: z._default(z.array(key), []),
  }),
]);

/** Error codes of the binding. https://developers.cloudflare.com/r2/api/error-codes/ */
const NO_SUCH_KEY = { status: 404, v4code: 10007 };
const BAD_DIGEST = { status: 400, v4code: 10037 };
const BAD_RANGE = { status: 416, v4code: 10039 };
const NOT_IMPLEMENTED = { status: 501, v4code: 10060 };

class Refused extends Error {
  readonly code: typeof NO_SUCH_KEY;

  constructor(code: typeof NO_SUCH_KEY, message: string) {
    super(message);
    this.code = code;
  }

  toResponse(): Response {
    const { status, v4code } = this.code;
    const error = JSON.stringify({ version: 1, v4code, message: this.message });
    return new Response(null, { status, headers: { "cf-r2-error": error } });
  }
}

interface Row {
  [column: string]: SqlStorageValue;
  key: string;
  version: string;
  size: number;
  /** Unix time in ms. */
  uploaded: number;
}

/** The Durable Object that holds a whole bucket. An upload becomes visible when it is complete. */
export class R2Store extends DurableObject {
  readonly #sql = this.ctx.storage.sql;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, version TEXT NOT NULL, size INTEGER NOT NULL, uploaded INTEGER NOT NULL) WITHOUT ROWID;
       CREATE TABLE IF NOT EXISTS pieces (version TEXT, at INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (version, at));
       DELETE FROM pieces WHERE version NOT IN (SELECT version FROM objects)`,
    );
  }

  override async fetch(request: Request): Promise<Response> {
    try {
      return await this.#answer(request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // A response before the body is read would look like a lost connection.
      if (!request.bodyUsed) await request.arrayBuffer();
      return error.toResponse();
    }
  }

  async #answer({ headers, body }: Request): Promise<Response> {
    const head = headers.get("cf-r2-request");
    if (head !== null) return this.#read(parsed(head));
    const pieces = piecesOf(body, Number(headers.get("cf-r2-metadata-size")));
    const { value: first } = await pieces.next();
    const asked = parsed(new TextDecoder().decode(first ?? undefined));
    switch (asked.method) {
      case "put":
        return encoded(described(await this.#put(asked.object, asked.sha256, pieces)));
      case "delete":
        for (const one of [asked.object ?? [], asked.objects].flat()) this.#delete(one);
        return new Response();
      default:
        return this.#read(asked);
    }
  }

  #read(asked: z.infer<typeof requestSchema>): Response {
    switch (asked.method) {
      case "head":
        return encoded(described(this.#row(asked.object)));
      case "get": {
        const row = this.#row(asked.object);
        const { offset, length } = asked.range ?? { offset: 0, length: row.size };
        if (asked.range && offset >= row.size)
          throw new Refused(BAD_RANGE, "The requested range is not satisfiable.");
        const range = { offset, length: Math.min(length, row.size - offset) };
        const metadata = { ...described(row), ...(asked.range && { range }) };
        return encoded(metadata, range.length, this.#bytesOf(row, range));
      }
      case "list":
        return encoded(this.#list(asked));
      default:
        throw new Refused(NOT_IMPLEMENTED, `${asked.method} needs a body`);
    }
  }

  #row(object: string): Row {
    const [row] = this.#sql.exec<Row>("SELECT * FROM objects WHERE key = ?", object);
    if (row === undefined) throw new Refused(NO_SUCH_KEY, "The specified key does not exist.");
    return row;
  }

  async *#bytesOf({ version }: Row, { offset, length }: { offset: number; length: number }) {
    let from = offset % PIECE_BYTES;
    let left = length;
    for (let at = (offset - from) / PIECE_BYTES; left > 0; at++) {
      const [row] = this.#sql.exec<{ bytes: ArrayBuffer }>(
        "SELECT bytes FROM pieces WHERE version = ? AND at = ?",
        version,
        at,
      );
      if (row === undefined) return;
      const bytes = new Uint8Array(row.bytes).subarray(from, from + left);
      from = 0;
      left -= bytes.length;
      yield bytes;
    }
  }

  async #put(
    object: string,
    sha256: string | undefined,
    pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): Promise<Row> {
    const version = crypto.randomUUID();
    const digest = new crypto.DigestStream("SHA-256");
    const writer = digest.getWriter();
    let size = 0;
    let at = 0;
    try {
      for await (const bytes of pieces) {
        this.#sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", version, at++, bytes.buffer);
        await writer.write(bytes);
        size += bytes.length;
        // V8 collects large buffers late.
        bytes.buffer.transfer(0);
      }
      await writer.close();
      const found = new Uint8Array(await digest.digest).toHex();
      if (sha256 !== undefined && found !== sha256)
        throw new Refused(BAD_DIGEST, "The SHA-256 checksum does not match what was sent.");
    } catch (error) {
      this.#sql.exec("DELETE FROM pieces WHERE version = ?", version);
      throw error;
    }
    return this.ctx.storage.transactionSync(() => {
      this.#delete(object);
      const row = { key: object, version, size, uploaded: Date.now() };
      this.#sql.exec(
        "INSERT INTO objects VALUES (?, ?, ?, ?)",
        object,
        version,
        size,
        row.uploaded,
      );
      return row;
    });
  }

  #delete(object: string): void {
    this.#sql.exec(
      "DELETE FROM pieces WHERE version IN (SELECT version FROM objects WHERE key = ?)",
      object,
    );
    this.#sql.exec("DELETE FROM objects WHERE key = ?", object);
  }

  #list({ prefix, cursor, limit }: { prefix: string; cursor: string; limit: number }): object {
    const rows = this.#sql
      .exec<Row>(
        "SELECT * FROM objects WHERE key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?",
        prefix,
        prefix + LAST,
        cursor,
        limit + 1,
      )
      .toArray();
    const objects = rows.slice(0, limit).map(described);
    const truncated = rows.length > limit;
    return {
      objects,
      truncated,
      delimitedPrefixes: [],
      ...(truncated && { cursor: rows[limit - 1]!.key }),
    };
  }
}

function parsed(text: string): z.infer<typeof requestSchema> {
  const { data, error } = requestSchema.safeParse(JSON.parse(text));
  if (data) return data;
  const what = error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ");
  throw new Refused(NOT_IMPLEMENTED, `This bucket does not support the request: ${what}`);
}

/** An object's metadata, as the binding reads it. */
const described = ({ key: name, version, size, uploaded }: Row) => ({
  name,
  version,
  size,
  etag: version.replaceAll("-", ""),
  uploaded,
  httpFields: {},
  customFields: [],
  checksums: {},
});

/** A response: metadata as JSON, followed by the bytes of an object. */
function encoded(
  metadata: object,
  size = 0,
  bytes?: AsyncIterable<Uint8Array<ArrayBuffer>>,
): Response {
  const head = new TextEncoder().encode(JSON.stringify(metadata));
  const headers = {
    "cf-r2-metadata-size": String(head.length),
    "content-type": "application/json",
  };
  if (bytes === undefined) return new Response(head, { headers });
  const { readable, writable } = new FixedLengthStream(head.length + size);
  void write(head, bytes, writable.getWriter());
  return new Response(readable, { headers });
}

/** Writes with backpressure. An error ends the response early, which the reader detects by the length. */
async function write(
  head: Uint8Array,
  bytes: AsyncIterable<Uint8Array<ArrayBuffer>>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  try {
    await writer.write(head);
    for await (const piece of bytes) {
      await writer.write(piece);
      piece.buffer.transfer(0);
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
  }
}

/** Splits a body: the first piece has `first` bytes, the others `PIECE_BYTES`. */
async function* piecesOf(body: ReadableStream<Uint8Array> | null, first: number) {
  let wanted = first;
  let piece = new Uint8Array(wanted);
  let filled = 0;
  for await (let chunk of body ?? []) {
    while (chunk.length > 0) {
      const taken = chunk.subarray(0, wanted - filled);
      piece.set(taken, filled);
      filled += taken.length;
      chunk = chunk.subarray(taken.length);
      if (filled < wanted) continue;
      yield piece;
      wanted = PIECE_BYTES;
      piece = new Uint8Array(wanted);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.slice(0, filled);
}

export default {
  fetch: (request: Request, env: { STORE: DurableObjectNamespace<R2Store> }) =>
    env.STORE.getByName("objects").fetch(request),
};
