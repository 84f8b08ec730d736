import type { Provider } from "../../kernel/auth/account-provider.ts";
import type { TasksOf } from "../../kernel/calls/task-object.ts";
import type { AccountGrant } from "../../kernel/servlets/deployment.ts";
import { report } from "../../kernel/core/errors.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { limits } from "./limits.ts";
import {
  isEnded,
  ListedCalls,
  LISTED_TABLE,
  type ListedCall,
} from "../../kernel/calls/listed-calls.ts";
import { ACCOUNT_TABLES, PersonAccounts, type IssuerClients } from "./person-accounts.ts";
import type { MemberParts, MemberRecord } from "./members.ts";
import { IssuerClient, type ClientAtIssuer, type IssuerAddress } from "./issuer-client.ts";
import type { IssuerMetadata } from "./issuer-metadata.ts";
import type { AccountRef, PersonSummary, SecretRef } from "./person.ts";
import { firstRow } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";

/** A stored secret. */
interface StoredSecret extends SecretRef {
  value: string;
  keptAt: number;
}

/** The parts of the server that a person's object uses. */
interface PersonServer {
  readonly sealer: Sealer;
  readonly providers: ReadonlyMap<string, Provider>;
  /** This server as a client of issuers that ACCOUNTS does not list. */
  readonly clients: IssuerClients;
  /** Its name there, and whether it may use issuers in a private network. */
  readonly client: { readonly title: string; readonly isSelfHosted: boolean };
  readonly tasks?: TasksOf;
  /** As in `Parts`. */
  memberRecord?(parts: MemberParts): MemberRecord;
}

/**
 * The stored data of one principal: secrets and accounts, sealed under a key of the principal, and the calls that wait for
 * a person. Each method is given the principal's name. Other objects of this class have this server's registration at an
 * issuer instead.
 */
export class PersonObject extends DurableObject<object> {
  readonly #server: PersonServer;
  readonly #sql = this.ctx.storage.sql;
  readonly #alarm = new Alarm(this.ctx.storage);
  #sealer: Sealer | undefined;
  #kept = Promise.withResolvers<void>();
  #ofPrincipal: PersonAccounts | undefined;
  #ofIssuer: IssuerClient | undefined;
  #member: MemberRecord | undefined;
  readonly #listed = new ListedCalls(this.#sql);

  constructor(state: DurableObjectState, env: object, server: PersonServer) {
    super(state, env);
    this.#server = server;
    this.#sql.exec(SCHEMA);
  }

  /** Keeps a secret, in place of the earlier one; false if there are too many. */
  async keep(principal: string, of: SecretRef, value: string): Promise<boolean> {
    const id = await idOf(of);
    const kept: StoredSecret = { ...of, value, keptAt: Date.now() };
    const sealed = await this.#sealerOf(principal).seal(encoder.encode(JSON.stringify(kept)), id);
    const { count } = this.#sql
      .exec<{ count: number }>("SELECT COUNT(*) AS count FROM secrets WHERE id <> ?", id)
      .one();
    if (count >= limits.keptSecrets) return false;
    this.#sql.exec("INSERT OR REPLACE INTO secrets VALUES (?, ?)", id, sealed);
    this.#kept.resolve();
    this.#kept = Promise.withResolvers();
    return true;
  }

  /** The secret if it was kept after `after` (Unix ms); waits at most `ms` for it. */
  async secret(principal: string, of: SecretRef, { after, ms }: { after: number; ms: number }) {
    const id = await idOf(of);
    // A timer, since the clock may be set back.
    const over = scheduler.wait(ms).then(() => true);
    for (let isOver = ms <= 0; ;) {
      const next = this.#kept.promise;
      const row = firstRow(this.#sql.exec<Row>("SELECT id, sealed FROM secrets WHERE id = ?", id));
      const found = row && (await this.#open(principal, row));
      if (found !== undefined && found.keptAt > after) return found.value;
      if (isOver) return undefined;
      isOver = (await Promise.race([next, over])) === true;
    }
  }

  async forget(of: SecretRef): Promise<void> {
    this.#sql.exec("DELETE FROM secrets WHERE id = ?", await idOf(of));
  }

  /**
   * The state of an account. Waits at most `ms` for it to be connected, or refused after `since` (Unix ms). An account
   * connected for less than this grant counts as missing.
   */
  async account(principal: string, grant: AccountGrant, wait: { since: number; ms: number }) {
    return this.#accounts(principal).state(grant, wait);
  }

  /**
   * Begins to connect an account: the address at the provider to which the person goes. `back` is the path of the page
   * that asks for it. Throws as `Provider.begin`.
   */
  beginAccount(
    principal: string,
    grant: AccountGrant,
    from: { redirectUri: string; back: string },
  ) {
    return settled(() => this.#accounts(principal).begin(grant, from));
  }

  /** Takes the address of the provider's answer, once; undefined for an answer to nothing that this person has begun. */
  async finishAccount(principal: string, address: string) {
    return this.#accounts(principal).finish(new URL(address));
  }

  /** Records that the person refuses to connect an account. */
  async declineAccount(principal: string, of: AccountRef) {
    await this.#accounts(principal).decline(of);
  }

  /**
   * An access token, which is renewed if it has expired or is the refused one; undefined if the account is not connected
   * any more, or for less than this grant. Throws as `Provider.refresh`.
   */
  async accountToken(principal: string, grant: AccountGrant, refused?: string) {
    return this.#accounts(principal).token(grant, refused);
  }

  /** Forgets an account, and has the provider revoke its tokens if it can. */
  async disconnectAccount(principal: string, of: AccountRef) {
    await this.#accounts(principal).disconnect(of);
  }

  /** As `IssuerClient.metadata`, for the issuer of this object. Throws `unavailable`. */
  issuerMetadata(at: IssuerAddress): Promise<Settled<IssuerMetadata>> {
    return settled(() => this.#issuerClient(at).metadata());
  }

  /** As `IssuerClient.find`, for the issuer of this object. Throws `unavailable`. */
  clientAtIssuer(at: IssuerAddress): Promise<Settled<ClientAtIssuer>> {
    return settled(() => this.#issuerClient(at).find());
  }

  /** As `IssuerClient.drop`, for the issuer of this object. */
  async dropClient(at: IssuerAddress, id: string): Promise<void> {
    await this.#issuerClient(at).drop(id);
  }

  /** Records a call that was handed over and is stored until then. */
  async note(call: string, until: number): Promise<void> {
    this.#dropOldCalls();
    this.#sql.exec("INSERT OR REPLACE INTO calls VALUES (?, ?)", call, until);
    await this.#wakeBy(Date.now() + limits.taskMs);
  }

  async summary(principal: string): Promise<PersonSummary> {
    const rows = this.#sql.exec<Row>("SELECT id, sealed FROM secrets").toArray();
    const all = await Promise.all(rows.map((row) => this.#open(principal, row)));
    return {
      secrets: all
        .filter((one) => one !== undefined)
        .map(({ servlet, name, keptAt }) => ({ servlet, name, keptAt })),
      accounts: await this.#accounts(principal).all(),
    };
  }

  /** Adds or updates a call or session in the list. */
  async list(principal: string, listed: ListedCall): Promise<void> {
    await this.#listed.put(listed, this.#sealerOf(principal));
    await this.#wakeBy(Date.now() + limits.taskMs);
  }

  /** Keeps it in the list until this Unix time in ms, at least. */
  async prolong(id: string, until: number): Promise<void> {
    await this.#listed.prolong(id, until);
    await this.#wakeBy(Math.max(until, Date.now() + limits.taskMs));
  }

  /** Takes it out of the list. */
  async unlist(id: string): Promise<void> {
    await this.#listed.drop(id);
  }

  /** All that are listed, the newest first. */
  async listed(principal: string): Promise<ListedCall[]> {
    return this.#listed.all(this.#sealerOf(principal));
  }

  /** An event stream of the calls: all of them, then each that changes. */
  async watch(principal: string): Promise<ReadableStream<Uint8Array>> {
    return this.#listed.watch(principal, this.#sealerOf(principal));
  }

  /** Deletes all of it, and the calls that were handed over; tokens are revoked where their provider can do that. */
  async forgetAll(principal: string): Promise<void> {
    const tasks = this.#server.tasks?.({ name: principal }, async () => {});
    const calls = this.#sql
      .exec<{ id: string }>("SELECT id FROM calls UNION SELECT id FROM listed")
      .toArray();
    for (let at = 0; at < calls.length; at += limits.shownCalls) {
      const some = calls.slice(at, at + limits.shownCalls);
      await Promise.all(some.map(async ({ id }) => tasks?.forget(id)));
      // If there are more than one request may call, the next request continues from here.
      for (const { id } of some) {
        this.#sql.exec("DELETE FROM calls WHERE id = ?", id);
        await this.#listed.drop(id);
      }
    }
    await this.#accounts(principal).forgetAll();
    const putBack = this.#memberOf(principal)?.lasting();
    await this.ctx.storage.deleteAll();
    this.#sql.exec(SCHEMA);
    putBack?.();
  }

  /** Calls a method of this member's record. */
  member(principal: string, method: string, args: readonly unknown[]): Promise<Settled<unknown>> {
    return settled(async () => {
      const record = this.#memberOf(principal);
      if (record === undefined) throw new Error("This server has no members");
      const { kv } = this.ctx.storage;
      // Each write costs.
      if (kv.get(PRINCIPAL) !== principal) kv.put(PRINCIPAL, principal);
      return (record as unknown as Record<string, (...all: readonly unknown[]) => unknown>)[
        method
      ]!(...args);
    });
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      this.#dropOldCalls();
      const principal = this.ctx.storage.kv.get<string>(PRINCIPAL);
      if (principal !== undefined) await this.#memberOf(principal)?.ring(now);
      const next = this.#listed.nextEnd();
      if (next !== undefined) await this.#wakeBy(next);
    });
  }

  /** Sets the alarm to this Unix time in ms, unless it is set earlier. */
  async #wakeBy(at: number): Promise<void> {
    const planned = (await this.ctx.storage.getAlarm()) ?? Infinity;
    if (at < planned || !(await this.#alarm.isPlanned())) await this.#alarm.set(at);
  }

  #memberOf(principal: string): MemberRecord | undefined {
    return (this.#member ??= this.#server.memberRecord?.({
      principal,
      kv: this.ctx.storage.kv,
      sealer: this.#sealerOf(principal),
      wakeBy: (at) => this.#wakeBy(at),
      hasCalls: async () => (await this.#openCalls(principal)).length > 0,
      stopCalls: async (reason) => {
        const tasks = this.#server.tasks?.({ name: principal, isAtPage: true }, async () => {});
        const open = await this.#openCalls(principal);
        // One that cannot be reached keeps no other from being stopped.
        await Promise.all(open.map(async (id) => tasks?.stop(id, reason).catch(report)));
      },
    }));
  }

  /** The ids of the calls that wait, or go on without their client. */
  async #openCalls(principal: string): Promise<string[]> {
    const noted = this.#sql.exec<{ id: string }>("SELECT id FROM calls").toArray();
    const listed = await this.listed(principal);
    const open = listed.filter(({ kind, status }) => kind === "call" && !isEnded({ status }));
    const ended = new Set(listed.filter((one) => isEnded(one)).map(({ id }) => id));
    const all = [...noted, ...open].map(({ id }) => id);
    return [...new Set(all)].filter((id) => !ended.has(id));
  }

  #dropOldCalls(): void {
    this.#listed.dropOld();
    this.#sql.exec("DELETE FROM calls WHERE until <= ?", Date.now());
  }

  async #open(principal: string, { id, sealed }: Row): Promise<StoredSecret | undefined> {
    const opened = await this.#sealerOf(principal).open(new Uint8Array(sealed), id);
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as StoredSecret);
  }

  #accounts(principal: string): PersonAccounts {
    return (this.#ofPrincipal ??= new PersonAccounts(() => ({
      sql: this.#sql,
      sealer: this.#sealerOf(principal),
      providers: this.#server.providers,
      clients: this.#server.clients,
      signedIn: async (grant, refused) => this.#memberOf(principal)?.token(grant, refused),
    })));
  }

  #issuerClient(at: IssuerAddress): IssuerClient {
    const sealer = this.#server.sealer.lasting(`client of ${at.origin} at ${at.issuer}`);
    const { kv } = this.ctx.storage;
    return (this.#ofIssuer ??= new IssuerClient(at, { kv, sealer, ...this.#server.client }));
  }

  /** Secrets do not expire, so neither does their key. */
  #sealerOf(principal: string): Sealer {
    return (this.#sealer ??= this.#server.sealer.lasting(`secrets of ${principal}`));
  }
}

interface Row extends Record<string, SqlStorageValue> {
  id: string;
  sealed: ArrayBuffer;
}

/** The key of the principal's name, which the alarm needs. */
const PRINCIPAL = "principal";

const SCHEMA = `${ACCOUNT_TABLES}${LISTED_TABLE}
CREATE TABLE IF NOT EXISTS secrets (id TEXT PRIMARY KEY, sealed BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, until INTEGER NOT NULL);`;

const idOf = ({ servlet, name }: SecretRef): Promise<string> =>
  hexDigest(JSON.stringify([servlet, name]));

const encoder = new TextEncoder();
