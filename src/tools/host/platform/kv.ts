/**
 * A KV namespace for workerd, which has the binding but no store: a Worker that answers the binding's requests from the
 * database of one Durable Object. It supports the operations that this project uses: get, put and delete of single
 * keys, and list, with expiration and metadata. Unlike in Cloudflare's KV, reads are never stale.
 * https://github.com/cloudflare/workerd/blob/main/src/workerd/api/kv.c++
 */
import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../../server/kernel/storage/alarm.ts";

/** A row of the database has at most 2 MB. */
const VALUE_BYTES = 1_900_000;
const KEY_BYTES = 512;
const METADATA_BYTES = 1024;
const PAGE_KEYS = 1000;
/** Minimum interval between sweeps that delete expired entries. Reads never return an expired entry. */
const SWEEP_MS = 60_000;
/** A noncharacter, which sorts after every key. */
const LAST = "\u{10ffff}";

interface Row {
  [column: string]: SqlStorageValue;
  key: string;
  value: ArrayBuffer;
  metadata: string | null;
  /** Unix time in seconds. */
  expires: number | null;
}

class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The Durable Object that holds a whole namespace. */
export class KvStore extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  readonly #alarm = new Alarm(this.ctx.storage);

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB NOT NULL, metadata TEXT, expires INTEGER) WITHOUT ROWID;
       CREATE INDEX IF NOT EXISTS by_expiry ON entries (expires) WHERE expires IS NOT NULL`,
    );
  }

  override async fetch(request: Request): Promise<Response> {
    try {
      return await this.#answer(request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // A response before the body is read would look like a lost connection.
      if (!request.bodyUsed) await request.arrayBuffer();
      // The binding's error shows the status text.
      return new Response(null, { status: error.status, statusText: error.message });
    }
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async () => {
      this.#sql.exec("DELETE FROM entries WHERE expires <= ?", now());
      await this.#planSweep();
    });
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/" && request.method === "GET") return this.#list(url.searchParams);
    const key = keyIn(url);
    switch (request.method) {
      case "GET":
        return this.#get(key);
      case "PUT":
        await this.#put(key, request, url.searchParams);
        return new Response();
      case "DELETE":
        this.#sql.exec("DELETE FROM entries WHERE key = ?", key);
        return new Response();
      default:
        throw new Refused(405, "Only get, put, delete and list of single keys are served here");
    }
  }

  #get(key: string): Response {
    const [row] = this.#sql.exec<Row>(
      `SELECT * FROM entries WHERE key = ? AND ${ALIVE}`,
      key,
      now(),
    );
    if (row === undefined) throw new Refused(404, "Not Found");
    const headers = new Headers();
    if (row.expires !== null) headers.set("CF-Expiration", String(row.expires));
    if (row.metadata !== null) headers.set("CF-KV-Metadata", row.metadata);
    return new Response(row.value, { headers });
  }

  async #put(key: string, request: Request, params: URLSearchParams): Promise<void> {
    const metadata = request.headers.get("CF-KV-Metadata");
    demandLength("The metadata", metadata ?? "", METADATA_BYTES);
    const value = await request.arrayBuffer();
    if (value.byteLength > VALUE_BYTES)
      throw new Refused(413, `The value has ${value.byteLength} bytes (limit ${VALUE_BYTES})`);
    const expires = expiryIn(params);
    this.#sql.exec(
      "INSERT OR REPLACE INTO entries (key, value, metadata, expires) VALUES (?, ?, ?, ?)",
      key,
      value,
      metadata,
      expires,
    );
    if (expires !== null) await this.#planSweep();
  }

  #list(params: URLSearchParams): Response {
    const prefix = params.get("prefix") ?? "";
    const limit = Number(params.get("key_count_limit") ?? PAGE_KEYS);
    if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_KEYS)
      throw new Refused(400, `The limit of a list must be 1 to ${PAGE_KEYS}`);
    const cursor = params.get("cursor");
    const rows = this.#sql
      .exec<Row>(
        `SELECT key, metadata, expires FROM entries
         WHERE key >= ? AND key < ? AND key > ? AND ${ALIVE} ORDER BY key LIMIT ?`,
        prefix,
        prefix + LAST,
        cursor === null ? "" : keyOfCursor(cursor),
        now(),
        limit + 1,
      )
      .toArray();
    const keys = rows.slice(0, limit).map(({ key: name, metadata, expires }) => ({
      name,
      ...(expires !== null && { expiration: expires }),
      ...(metadata !== null && { metadata }),
    }));
    const last = keys.at(-1);
    const more = rows.length > limit && last !== undefined;
    return Response.json({
      keys,
      list_complete: !more,
      ...(more && { cursor: new TextEncoder().encode(last.name).toBase64() }),
    });
  }

  async #planSweep(): Promise<void> {
    const { next } = this.#sql
      .exec<{ next: number | null }>("SELECT min(expires) AS next FROM entries")
      .one();
    if (next !== null && !(await this.#alarm.isPlanned()))
      await this.#alarm.set(Math.max(next * 1000, Date.now() + SWEEP_MS));
  }
}

const ALIVE = "(expires IS NULL OR expires > ?)";

/** Unix time in seconds, as KV counts. */
const now = () => Math.floor(Date.now() / 1000);

function keyIn({ pathname, searchParams }: URL): string {
  const path = pathname.slice(1);
  const key = searchParams.get("urlencoded") === "true" ? decodeURIComponent(path) : path;
  if (key === "" || key === "." || key === "..")
    throw new Refused(400, "A key must not be empty, nor . or ..");
  demandLength("The key", key, KEY_BYTES);
  return key;
}

function demandLength(what: string, text: string, limit: number): void {
  const { length } = new TextEncoder().encode(text);
  if (length > limit) throw new Refused(413, `${what} has ${length} bytes (limit ${limit})`);
}

/** When an entry expires, in Unix seconds; null if never. */
function expiryIn(params: URLSearchParams): number | null {
  const ttl = params.get("expiration_ttl");
  const at = params.get("expiration");
  if (ttl === null && at === null) return null;
  const expires = ttl === null ? Number(at) : now() + Number(ttl);
  if (!Number.isInteger(expires) || expires <= now())
    throw new Refused(400, "The expiration must be a whole number of seconds, and in the future");
  return expires;
}

function keyOfCursor(cursor: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.fromBase64(cursor),
    );
  } catch {
    throw new Refused(
      400,
      "The cursor is not valid: expected one that a list of this namespace returned",
    );
  }
}

export default {
  fetch: (request: Request, env: { STORE: DurableObjectNamespace<KvStore> }) =>
    env.STORE.getByName("entries").fetch(request),
};
