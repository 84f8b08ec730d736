import { DurableObject } from "cloudflare:workers";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault, logError } from "../../kernel/core/errors.ts";
import type { Principal } from "../../kernel/core/model.ts";
import { PART } from "../../kernel/core/parts.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { firstRow, hasRow, hasTable } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { Chunks } from "./chunks.ts";
import { limits } from "./limits.ts";
import type {
  ChosenFile,
  FilePiece,
  FileRequest,
  ListedFile,
  NewFile,
  OpenFile,
  OwnedFile,
  StoredFile,
} from "./stored-file.ts";
import { newName } from "./stored-file.ts";

/** The parts of the server that files use. */
export interface TransfersServer {
  readonly sealer: Sealer;
  /** Where bytes are stored; absent if they are stored in this object. */
  readonly bucket?: R2Bucket | undefined;
  /** Counts bytes that a caller stores, by its key. Throws `too_many`. */
  countStored(caller: string | undefined, bytes: number): Promise<void>;
}

/** A part of an upload: its first byte and its length. */
export interface FileRange {
  start: number;
  length: number;
}

/** Bytes that a servlet adds to its file, and the endpoint at which it runs. */
export interface AppendRange extends FileRange {
  id: string;
  profile: string;
}

/** An admitted part. The next part of the same file takes its place. */
export interface AdmittedRange extends FileRange {
  id: string;
  /** A random name. */
  arrival: string;
  /** Its key in the bucket. */
  key: string;
}

/** A part whose bytes arrive. */
interface IncomingPart {
  arrival: string;
  /** When it was admitted, or a piece of it was last stored here, in Unix ms. */
  since: number;
  /** Stops reading it; absent if its bytes go to the bucket. */
  stop?: () => void;
}

interface Details {
  name: string;
  mimeType: string;
  owner: Principal;
  servlet?: string;
  request?: FileRequest;
}

interface Row extends Record<string, SqlStorageValue> {
  id: string;
  upload: string | null;
  link: string;
  profile: string;
  /** Null for a file of a servlet that is not whole yet. */
  size: number | null;
  received: number;
  pieces: number;
  isWhole: 0 | 1;
  made: number;
  expires: number;
  sealed: ArrayBuffer;
}

interface PieceRow extends Record<string, SqlStorageValue> {
  start: number;
  length: number;
  key: string | null;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS stored_files (id TEXT PRIMARY KEY, upload TEXT, link TEXT NOT NULL, profile TEXT NOT NULL, size INTEGER,
  received INTEGER NOT NULL, pieces INTEGER NOT NULL, isWhole INTEGER NOT NULL, made INTEGER NOT NULL, expires INTEGER NOT NULL,
  sealed BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS uploaded_files ON stored_files (upload);
CREATE UNIQUE INDEX IF NOT EXISTS linked_files ON stored_files (link);
CREATE TABLE IF NOT EXISTS file_pieces (id TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL, key TEXT, bytes BLOB,
  PRIMARY KEY (id, start));`;

const encoder = new TextEncoder();

/**
 * The files of one caller: those that it sends, and those that servlets make for it. A piece is stored in one
 * transaction with the count of bytes that have arrived, so that an upload goes on where it stopped, however often this
 * object dies.
 */
export class TransfersObject extends DurableObject<object> {
  readonly #sql = this.ctx.storage.sql;
  readonly #alarm = new Alarm(this.ctx.storage);
  readonly #server: TransfersServer;
  /** Parts that arrive, by the id of their file. */
  readonly #arriving = new Map<string, IncomingPart>();

  constructor(state: DurableObjectState, env: object, server: TransfersServer) {
    super(state, env);
    this.#server = server;
  }

  /** Makes a file without bytes, once. Throws `invalid_params` if the caller has no room for it, and `too_many`. */
  create(file: NewFile): Promise<Settled<void>> {
    const { id, name, mimeType, size, owner, servlet, upload, link, request } = file;
    return settled(async () => {
      if (this.#row(id) !== undefined) return;
      const by = { ...(servlet && { servlet }), ...(request && { request }) };
      const details: Details = { name, mimeType, owner, ...by };
      if (size !== undefined) demandFileSize(size);
      this.#dropUnanswered();
      this.#demandRoom(size ?? 0);
      // Bytes of a servlet are counted as they come.
      if (upload !== undefined) await this.#count(owner, size);
      const sealed = await this.#sealDetails(details, id);
      this.#sql.exec(SCHEMA);
      // Another file may have taken the room meanwhile.
      this.#demandRoom(size ?? 0);
      const now = Date.now();
      this.#sql.exec(
        "INSERT INTO stored_files VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?)",
        id,
        upload ?? null,
        link,
        owner.profile ?? "",
        size ?? null,
        now,
        now + (request ? limits.transferMs : limits.uploadIdleMs),
        sealed,
      );
      await this.#setAlarm();
    });
  }

  /** The upload with this token, and its owner; undefined if there is none, or its time is over. */
  async upload(token: string): Promise<OwnedFile<OpenFile> | undefined> {
    const row = this.#find("upload", token);
    return row && this.#owned(row);
  }

  /**
   * Admits the next part of an upload, in place of one that is arriving; `chosen` is the file that it belongs to, if a person
   * was asked for one. Until the part has arrived, the upload ends at its last time only. Throws `conflict`, `too_large`,
   * `too_many`, `invalid_params`.
   */
  admit(
    token: string,
    part: FileRange,
    chosen?: ChosenFile,
  ): Promise<Settled<AdmittedRange | undefined>> {
    return settled(async () => {
      if (chosen !== undefined) await this.#choose(token, part, chosen);
      const row = this.#find("upload", token);
      if (row === undefined) return undefined;
      demandNext(row, part);
      const now = Date.now();
      const { uploadIdleMs, uploadsAtOnce } = limits;
      for (const [id, { since, stop }] of this.#arriving)
        if (id === row.id || now >= since + uploadIdleMs) {
          stop?.();
          this.#arriving.delete(id);
        }
      if (this.#arriving.size >= uploadsAtOnce)
        throw new Fault(
          "too_many",
          `Too many uploads at once (limit ${uploadsAtOnce}). Send this part again in a while.`,
          { data: { retryAfter: 5 } },
        );
      const arrival = newName();
      this.#arriving.set(row.id, { arrival, since: now });
      this.#expire(row.id, row.made + limits.uploadMs);
      return { ...part, id: row.id, arrival, key: this.#newKey(row.id) };
    });
  }

  /** Stores that an admitted part is in the bucket. Throws `conflict` if another part has taken its place. */
  arrived(part: AdmittedRange): Promise<Settled<OpenFile>> {
    return settled(async () => {
      try {
        return await this.#shown(this.#add(part, part.arrival));
      } finally {
        await this.endArrival(part);
      }
    });
  }

  /** Ends the wait for an admitted part, whether it has arrived or not. */
  async endArrival({ id, arrival }: AdmittedRange): Promise<void> {
    if (this.#arriving.get(id)?.arrival !== arrival) return;
    this.#arriving.delete(id);
    const row = this.#row(id);
    if (row?.isWhole === 0) this.#expire(id, nextExpiry(row));
    await this.#setAlarm();
  }

  /** Stores an admitted part here, as its bytes arrive. What has arrived before a failure stays. Throws `conflict`. */
  receive(part: AdmittedRange, body: ReadableStream<Uint8Array>): Promise<Settled<OpenFile>> {
    return settled(async () => {
      const { id, arrival, start, length } = part;
      const chunks = new Chunks(body);
      let at = start;
      try {
        if (this.#isReplaced(id, arrival)) throw replaced();
        // Absent if this object has died since.
        const arriving = this.#arriving.get(id);
        if (arriving) arriving.stop = () => void chunks.cancel();
        for await (const bytes of inParts(chunks)) {
          const sealed = await this.#seal(bytes, `${id} at ${at}`);
          this.#add({ id, start: at, length: bytes.length, sealed }, arrival);
          at += bytes.length;
          if (arriving) arriving.since = Date.now();
        }
        if (at !== start + length) throw cutOff();
        const row = length === 0 ? this.#add({ id, start, length }, arrival) : this.#row(id);
        if (row === undefined) throw unknownFile();
        return await this.#shown(row);
      } finally {
        void chunks.cancel();
        await this.endArrival(part);
      }
    });
  }

  /**
   * Counts bytes that a servlet is to add to its file, and returns a key for them in the bucket; undefined if they were
   * added before. Throws `invalid_params`, `too_many`.
   */
  admitAppend(of: AppendRange): Promise<Settled<string | undefined>> {
    return settled(async () => {
      const row = this.#appendable(of);
      if (row === undefined) return undefined;
      await this.#count((await this.#details(row))?.owner, of.length);
      return this.#newKey(of.id);
    });
  }

  /**
   * Adds admitted bytes of a servlet to its file, or the key under which they are in the bucket; false if they were added
   * meanwhile. Throws `invalid_params`.
   */
  append(of: AppendRange, given: Uint8Array | { key: string }): Promise<Settled<boolean>> {
    return settled(async () => {
      const { id, start, length } = of;
      const more =
        given instanceof Uint8Array
          ? { sealed: await this.#seal(given, `${id} at ${start}`) }
          : given;
      if (this.#appendable(of) === undefined) return false;
      this.#add({ id, start, length, ...more });
      await this.#setAlarm();
      return true;
    });
  }

  /** Ends a servlet's file: it is whole. Throws `invalid_params`. */
  finish(id: string, profile: string): Promise<Settled<StoredFile>> {
    return settled(async () => {
      const row = this.#ofServlet(id, profile);
      const expires = row.isWhole === 1 ? row.expires : Date.now() + limits.transferMs;
      this.#sql.exec(
        "UPDATE stored_files SET size = received, isWhole = 1, expires = ? WHERE id = ?",
        expires,
        id,
      );
      await this.#setAlarm();
      return this.#shown(this.#row(id)!);
    });
  }

  /** A whole file; undefined if there is none with this id at this endpoint. */
  async file(id: string, profile: string): Promise<StoredFile | undefined> {
    const row = this.#row(id);
    return row?.isWhole === 1 && row.profile === profile ? this.#shown(row) : undefined;
  }

  /** Whether a file is whole, or its bytes may still arrive, or neither. */
  async stateOf(id: string, profile: string): Promise<"arriving" | "over" | "whole"> {
    const row = this.#row(id);
    if (row === undefined || row.profile !== profile) return "over";
    return row.isWhole === 1 ? "whole" : "arriving";
  }

  /** The whole file whose URL has this token, and its owner. */
  async download(token: string): Promise<OwnedFile<StoredFile> | undefined> {
    const row = this.#find("link", token);
    return row?.isWhole === 1 ? this.#owned(row) : undefined;
  }

  /** The pieces with bytes of this range. */
  async pieces(id: string, { start, length }: FileRange): Promise<FilePiece[]> {
    if (this.#row(id) === undefined) return [];
    return this.#sql
      .exec<PieceRow>(
        "SELECT start, length, key FROM file_pieces WHERE id = ? AND start < ? AND start + length > ? ORDER BY start",
        id,
        start + length,
        start,
      )
      .toArray()
      .map(({ key, ...piece }) => ({ ...piece, ...(key !== null && { key }) }));
  }

  /** The bytes of a piece in this object; undefined if it was deleted, or its key is gone. */
  async piece(id: string, start: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.#row(id) === undefined) return undefined;
    const row = firstRow(
      this.#sql.exec<{ bytes: ArrayBuffer }>(
        "SELECT bytes FROM file_pieces WHERE id = ? AND start = ?",
        id,
        start,
      ),
    );
    return row && this.#server.sealer.open(new Uint8Array(row.bytes), `${id} at ${start}`);
  }

  /** The newest files at all endpoints, also those whose bytes still arrive, and how many there are. */
  async list(most: number): Promise<{ files: ListedFile[]; count: number }> {
    if (!this.#hasTables) return { files: [], count: 0 };
    const rows = this.#sql
      .exec<Row & { count: number }>(
        "SELECT *, COUNT(*) OVER () AS count FROM stored_files WHERE expires > ? ORDER BY made DESC LIMIT ?",
        Date.now(),
        most,
      )
      .toArray();
    const files = rows.map(async (row): Promise<ListedFile[]> => {
      const details = await this.#details(row);
      if (details === undefined) return [];
      const { made, profile } = row;
      const { servlet } = details;
      const own = { made, profile, ...(servlet && { servlet }) };
      return [{ ...(await this.#shown(row)), ...own }];
    });
    return { files: (await Promise.all(files)).flat(), count: rows[0]?.count ?? 0 };
  }

  /** Deletes a file, also one whose bytes still arrive: a part that arrives later finds none. */
  async delete(id: string): Promise<void> {
    if (!this.#hasTables) return;
    const now = Date.now();
    this.#sql.exec("UPDATE stored_files SET expires = ? WHERE id = ?", now, id);
    // If this object dies meanwhile, the alarm goes on.
    await this.#setAlarm();
    await this.#dropOver(now);
  }

  /** Deletes everything. If that fails half-way, the alarm goes on. */
  async forget(): Promise<void> {
    if (this.#hasTables) {
      // What still arrives is refused from now on.
      this.#sql.exec("UPDATE stored_files SET expires = 0");
      await this.#alarm.set(Date.now() + limits.emptyAgainMs);
    }
    await this.#empty(this.#prefix);
    await this.ctx.storage.deleteAll();
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, (now) => this.#dropOver(now));
  }

  /** Deletes the files whose time is over. */
  async #dropOver(now: number): Promise<void> {
    if (!this.#hasTables) return;
    const over = this.#sql
      .exec<{ id: string }>("SELECT id FROM stored_files WHERE expires <= ?", now)
      .toArray();
    // The rows go last: if this object dies meanwhile, another alarm goes on.
    try {
      for (const { id } of over) await this.#empty(this.#prefixOf(id));
    } catch (error) {
      // The platform gives an alarm up that fails for some minutes.
      logError(error);
      return this.#alarm.set(now + limits.emptyAgainMs);
    }
    // The alarm and deletions run at the same time: another one may have dropped the last file, and the tables.
    if (!this.#hasTables) return;
    for (const { id } of over) this.#drop(id);
    await this.#setAlarm();
  }

  /**
   * Stores which file a person has chosen, in place of another one that they chose before. Throws `invalid_params`,
   * `too_many`, `conflict`.
   */
  async #choose(token: string, { start }: FileRange, chosen: ChosenFile): Promise<void> {
    const row = this.#find("upload", token);
    const details = row?.isWhole === 0 ? await this.#details(row) : undefined;
    if (row === undefined || details?.request === undefined) return;
    const { id, received } = row;
    const { name, mimeType, size } = chosen;
    const isSameSize = row.size === size;
    if (start > 0 && !isSameSize)
      throw new Fault("conflict", "This is a part of another file. Begin with its first byte.", {
        data: { received },
      });
    const isKnown = isSameSize && details.name === name && details.mimeType === mimeType;
    if (start > 0 || isKnown) return;
    demandFileSize(size, details.request.mostBytes);
    const more = size - (row.size ?? 0);
    this.#demandRoom(more, 0);
    await this.#count(details.owner, size);
    const sealed = await this.#sealDetails({ ...details, name, mimeType }, id);
    if (received > 0) await this.#empty(this.#prefixOf(id));
    const now = this.#row(id);
    if (now?.received !== received || now.size !== row.size) throw replaced();
    this.#demandRoom(more, 0);
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM file_pieces WHERE id = ?", id);
      this.#sql.exec(
        "UPDATE stored_files SET size = ?, sealed = ?, received = 0, pieces = 0, made = ? WHERE id = ?",
        // The time of an upload begins when a person first chooses a file.
        size,
        sealed,
        row.size === null ? Date.now() : row.made,
        id,
      );
    });
  }

  /** The file of a servlet, to which these bytes are to be added; undefined if they were added before. Throws `invalid_params`. */
  #appendable({ id, start, length, profile }: AppendRange): Row | undefined {
    const row = this.#ofServlet(id, profile);
    if (start + length <= row.received) return undefined;
    if (start !== row.received || row.isWhole === 1) throw unknownFile();
    demandFileSize(start + length);
    this.#demandRoom(length, 0);
    return row;
  }

  /** A file that a servlet has begun. Throws `invalid_params`. */
  #ofServlet(id: string, profile: string): Row {
    const row = this.#row(id);
    if (row === undefined || row.profile !== profile || row.upload !== null) throw unknownFile();
    return row;
  }

  /** Counts bytes that the owner stores. Throws `too_many`. */
  #count(owner: Principal | undefined, bytes = 0): Promise<void> {
    return this.#server.countStored(owner && callerKey(owner), bytes);
  }

  #isReplaced(id: string, arrival: string): boolean {
    const newest = this.#arriving.get(id);
    return newest !== undefined && newest.arrival !== arrival;
  }

  /** Adds a piece and its bytes to the count of received bytes, in one transaction. Throws `conflict`. */
  #add(piece: FilePiece & { id: string; sealed?: Uint8Array<ArrayBuffer> }, arrival?: string): Row {
    const { id, start, length, key = null, sealed = null } = piece;
    return this.ctx.storage.transactionSync(() => {
      const row = this.#row(id);
      const isReplaced = arrival !== undefined && this.#isReplaced(id, arrival);
      if (row === undefined || row.isWhole === 1 || row.received !== start || isReplaced)
        throw replaced();
      if (row.pieces >= limits.transferPieces) throw tooManyPieces();
      const received = start + length;
      const isWhole = received === row.size;
      const expires = isWhole ? Date.now() + limits.transferMs : nextExpiry(row);
      if (length > 0)
        this.#sql.exec(
          "INSERT INTO file_pieces VALUES (?, ?, ?, ?, ?)",
          id,
          start,
          length,
          key,
          sealed,
        );
      this.#sql.exec(
        "UPDATE stored_files SET received = ?, pieces = pieces + 1, isWhole = ?, expires = ? WHERE id = ?",
        received,
        Number(isWhole),
        expires,
        id,
      );
      return this.#row(id)!;
    });
  }

  /** The number of files, and of their bytes, with the announced ones of uploads. */
  #stored(): { count: number; sum: number } {
    if (!this.#hasTables) return { count: 0, sum: 0 };
    this.#prune(Date.now());
    const query =
      "SELECT COUNT(*) AS count, IFNULL(SUM(IFNULL(size, received)), 0) AS sum FROM stored_files";
    return this.#sql.exec<{ count: number; sum: number }>(query).one();
  }

  /** Throws `invalid_params` if the caller has no room for a file of this size. */
  #demandRoom(bytes: number, files = 1): void {
    const { count, sum } = this.#stored();
    const { callerTransfers, callerTransferBytes } = limits;
    if (count + files > callerTransfers)
      throw new Fault(
        "invalid_params",
        `You have too many stored files (limit ${callerTransfers}). ${howToMakeRoom()}`,
      );
    if (sum + bytes > callerTransferBytes)
      throw new Fault(
        "invalid_params",
        `Your stored files have ${sum} bytes, and this one has ${bytes} more (limit ${callerTransferBytes}). ${howToMakeRoom()}`,
      );
  }

  /** Makes room for another file: drops the one for which a person was asked first, if they have chosen none for some time. */
  #dropUnanswered(): void {
    if (this.#stored().count < limits.callerTransfers) return;
    const [unanswered] = this.#sql
      .exec<{ id: string }>(
        "SELECT id FROM stored_files WHERE upload IS NOT NULL AND size IS NULL AND made < ? ORDER BY made LIMIT 1",
        Date.now() - limits.uploadIdleMs,
      )
      .toArray();
    if (unanswered !== undefined) this.#drop(unanswered.id);
  }

  /** The row of a file whose time is not over. */
  #row(id: string): Row | undefined {
    return this.#find("id", id);
  }

  #find(column: "id" | "link" | "upload", value: string): Row | undefined {
    if (!this.#hasTables) return undefined;
    const query = `SELECT * FROM stored_files WHERE ${column} = ? AND expires > ?`;
    return firstRow(this.#sql.exec<Row>(query, value, Date.now()));
  }

  async #shown(row: Row): Promise<OpenFile> {
    const owned = await this.#owned(row);
    if (owned === undefined) throw unknownFile();
    return owned.file;
  }

  /** A file and its owner; undefined if the key that sealed them is gone. */
  async #owned(row: Row): Promise<OwnedFile<OpenFile> | undefined> {
    const details = await this.#details(row);
    if (details === undefined) return undefined;
    const { id, size, received, expires } = row;
    const { owner, ...shown } = details;
    const isWhole = row.isWhole === 1;
    return { owner, file: { ...shown, id, size: size ?? received, received, isWhole, expires } };
  }

  /** Undefined if the key that sealed them is gone. */
  async #details({ id, sealed }: Row): Promise<Details | undefined> {
    const opened = await this.#server.sealer.open(new Uint8Array(sealed), id);
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as Details);
  }

  #sealDetails(details: Details, id: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#seal(encoder.encode(JSON.stringify(details)), id);
  }

  #seal(bytes: Uint8Array, place: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#server.sealer.seal(bytes, place);
  }

  get #prefix(): string {
    return `${this.ctx.id.toString()}/`;
  }

  #prefixOf(id: string): string {
    return `${this.#prefix}${id}/`;
  }

  /** Each part has a key of its own: one that arrives late replaces nothing. */
  #newKey(id: string): string {
    return this.#prefixOf(id) + newName();
  }

  /** Deletes everything in the bucket whose key begins so. */
  async #empty(prefix: string): Promise<void> {
    const { bucket } = this.#server;
    if (bucket === undefined) return;
    for (;;) {
      // R2 lists and deletes at most 1000 keys in one request.
      const { objects } = await bucket.list({ prefix });
      if (objects.length === 0) return;
      await bucket.delete(objects.map(({ key }) => key));
    }
  }

  /** Drops files without bytes in a bucket whose time is over; the alarm drops the others. */
  #prune(now: number): void {
    if (this.#server.bucket !== undefined) return;
    const query = "SELECT id FROM stored_files WHERE expires <= ?";
    for (const { id } of this.#sql.exec<{ id: string }>(query, now).toArray()) this.#drop(id);
  }

  #drop(id: string): void {
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM file_pieces WHERE id = ?", id);
      this.#sql.exec("DELETE FROM stored_files WHERE id = ?", id);
    });
  }

  #expire(id: string, at: number): void {
    this.#sql.exec("UPDATE stored_files SET expires = ? WHERE id = ?", at, id);
  }

  async #setAlarm(): Promise<void> {
    if (!this.#hasTables) return;
    const query = "SELECT MIN(expires) AS at FROM stored_files";
    const { at } = this.#sql.exec<{ at: number | null }>(query).one();
    if (at !== null) await this.#alarm.set(at);
    else if (!hasRow(this.#sql, "SELECT 1 FROM file_pieces")) await this.ctx.storage.deleteAll();
  }

  /** True if anything was stored. A URL that somebody guesses makes no tables. */
  get #hasTables(): boolean {
    return hasTable(this.#sql, "stored_files");
  }
}

/** The bytes of a stream in parts that fit a row. */
async function* inParts(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const part = new Uint8Array(PART);
  let length = 0;
  try {
    for (let rest = await chunks.next(); rest !== undefined; rest = await chunks.next())
      while (rest.length > 0) {
        const fits = rest.subarray(0, PART - length);
        part.set(fits, length);
        length += fits.length;
        rest = rest.subarray(fits.length);
        if (length < PART) continue;
        yield part;
        length = 0;
      }
  } catch (cause) {
    throw cutOff(cause);
  }
  if (length > 0) yield part.subarray(0, length);
}

/** The error for a part that did not arrive whole. */
export const cutOff = (cause?: unknown): Fault =>
  new Fault(
    "invalid_request",
    "The part was cut off. GET this URL to learn how many bytes have arrived, and send the rest.",
    { cause },
  );

const replaced = (): Fault =>
  new Fault("conflict", "Another part has taken the place of this one.");

/** When an unfinished file expires, unless another part of it begins. */
const nextExpiry = ({ made }: Row): number =>
  Math.min(made + limits.uploadMs, Date.now() + limits.uploadIdleMs);

/** Throws unless this part is the next one of an upload, and not too large. */
function demandNext(row: Row, { start, length }: FileRange): void {
  const { received, size, isWhole, pieces } = row;
  const data = { received };
  if (isWhole === 1)
    throw new Fault("conflict", "The file was sent already. Pass its URI to a tool.", { data });
  if (start !== received)
    throw new Fault(
      "conflict",
      `The part begins at byte ${start}, but ${received} bytes have arrived. Send the bytes from ${received} on.`,
      { data },
    );
  const { uploadPartBytes } = limits;
  if (length > uploadPartBytes)
    throw new Fault(
      "too_large",
      `The part has ${length} bytes (limit ${uploadPartBytes}). Send the file in smaller parts, each with its Content-Range.`,
      { data },
    );
  if (size !== null && start + length > size)
    throw new Fault(
      "conflict",
      `The file has more bytes than the ${size} that upload_file was told. Call upload_file again with the real size.`,
      { data },
    );
  if (pieces >= limits.transferPieces) throw tooManyPieces();
}

function demandFileSize(size: number, given = Infinity): void {
  const most = Math.min(given, limits.transferBytes);
  if (size > most)
    throw new Fault(
      "invalid_params",
      `The file has ${size} bytes (limit ${most}). Send a smaller one, or split it.`,
    );
}

const howToMakeRoom = (): string =>
  `Delete some on the console's page Files. Each is deleted ${limits.transferMs / 3_600_000} hours after it was made.`;

const tooManyPieces = (): Fault =>
  new Fault(
    "invalid_params",
    `The file comes in too many parts (limit ${limits.transferPieces}). Begin again with larger ones.`,
  );

const unknownFile = (): Fault =>
  new Fault("invalid_params", "There is no such file of this caller. It may have been deleted.");
