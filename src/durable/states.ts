import { DurableObject } from "cloudflare:workers";

/**
 * One state of a call that waits for its client's answer: where it is too large for the client to carry,
 * or may be used only once. It goes when it expires.
 */
export class States extends DurableObject {
  /** Keeps the (sealed) bytes until this Unix time in ms. */
  async put(bytes: Uint8Array, until: number): Promise<void> {
    const { storage } = this.ctx;
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS parts (at INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    );
    for (let at = 0; at < bytes.length; at += PART) {
      storage.sql.exec("INSERT INTO parts VALUES (?, ?)", at, bytes.slice(at, at + PART));
    }
    await storage.setAlarm(until);
  }

  /** What was put; undefined where it has expired or was spent. */
  async read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) return undefined;
    const parts = storage.sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM parts ORDER BY at")
      .toArray();
    return new Uint8Array(await new Blob(parts.map(({ bytes }) => bytes)).arrayBuffer());
  }

  /** Forgets what was put; false where there is nothing any more. */
  async spend(): Promise<boolean> {
    if ((await this.ctx.storage.getAlarm()) === null) return false;
    await this.#forget();
    return true;
  }

  override async alarm(): Promise<void> {
    await this.#forget();
  }

  async #forget(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }
}

/** A row may have 2 MB: https://developers.cloudflare.com/durable-objects/platform/limits/ */
const PART = 1024 * 1024;
