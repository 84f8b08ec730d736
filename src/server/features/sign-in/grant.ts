import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { firstRow } from "../../kernel/storage/tables.ts";
import { limits } from "./limits.ts";

/** How long an ended grant is remembered: until KV shows all writes and deletions everywhere. */
const ENDED_GRANT_MS = 120_000;

export interface Refresh {
  /** The library's record of the grant afterwards, as JSON: its secrets are wrapped under the tokens. */
  record: string;
  /** Unix time in ms when the grant expires. */
  expires: number;
  /** The answer, sealed under the refresh token that was used. */
  answer: Uint8Array<ArrayBuffer>;
}

export interface GrantState {
  isOver: boolean;
  /** Undefined until the first refresh. */
  record?: string;
  /** Set if the token was used before; with the answer while that is kept. */
  used?: { at: number; answer?: Uint8Array<ArrayBuffer> };
}

/** One app's grant: its used refresh tokens, and for a minute the answers. */
export class Grant extends DurableObject<{ OAUTH_KV?: KVNamespace }> {
  readonly #sql = this.ctx.storage.sql;
  readonly #kv = this.ctx.storage.kv;
  readonly #alarm = new Alarm(this.ctx.storage);

  /** The state for the holder of the refresh token with this hash. Stores nothing. */
  state(token: string): GrantState {
    if (this.#kv.get("over") !== undefined) return { isOver: true };
    const last = this.#kv.get<Omit<Refresh, "answer">>("last");
    if (last === undefined) return { isOver: false };
    const query = "SELECT at, answer FROM used WHERE token = ?";
    const row = firstRow(this.#sql.exec<{ at: number; answer: ArrayBuffer | null }>(query, token));
    if (row === undefined) return { isOver: false, record: last.record };
    const { at, answer } = row;
    const isKept = answer !== null && at > Date.now() - limits.keptRefreshMs;
    const used = { at, ...(isKept && { answer: new Uint8Array(answer) }) };
    return { isOver: false, record: last.record, used };
  }

  /** Marks the refresh token used. If it was used before or the grant is over, returns the state and stores nothing. */
  async refresh(token: string, { answer, ...last }: Refresh): Promise<GrantState | undefined> {
    const state = this.state(token);
    if (state.isOver || state.used !== undefined) return state;
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS used (nth INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, answer BLOB)",
    );
    this.#sql.exec(
      "INSERT INTO used (token, at, answer) VALUES (?, ?, ?)",
      token,
      Date.now(),
      answer,
    );
    this.#sql.exec(
      "DELETE FROM used WHERE nth <= (SELECT max(nth) FROM used) - ?",
      limits.usedRefreshTokens,
    );
    this.#kv.put("last", last);
    await this.#plan(last.expires);
    return undefined;
  }

  /** Ends the grant; `tokens` is the key prefix of its access tokens. The object forgets it once KV is consistent. */
  async end(tokens: string): Promise<void> {
    this.#kv.put("over", tokens);
    await this.#alarm.set(Date.now() + ENDED_GRANT_MS);
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      const tokens = this.#kv.get<string>("over");
      const last = this.#kv.get<{ expires: number }>("last");
      if (tokens !== undefined) await this.#deleteTokens(tokens);
      else if (last !== undefined && last.expires > now) {
        this.#sql.exec("UPDATE used SET answer = NULL WHERE at <= ?", now - limits.keptRefreshMs);
        return this.#plan(last.expires);
      }
      return this.ctx.storage.deleteAll();
    });
  }

  /** Sets the alarm to when the next answer expires, or the grant if no answer is kept. */
  #plan(expires: number): Promise<void> {
    const { first } = this.#sql
      .exec<{ first: number | null }>("SELECT min(at) AS first FROM used WHERE answer NOT NULL")
      .one();
    return this.#alarm.set(first === null ? expires : first + limits.keptRefreshMs);
  }

  /** Deletes access tokens that KV did not list when the grant ended: its list may be a minute late. */
  async #deleteTokens(prefix: string): Promise<void> {
    const { OAUTH_KV: store } = this.env;
    if (store === undefined) return;
    const { keys } = await store.list({ prefix });
    await Promise.all(keys.map(({ name }) => store.delete(name)));
  }
}
