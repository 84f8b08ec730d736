import type { AccountGrant, AccountState } from "../../kernel/servlets/deployment.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import {
  Provider,
  RefusedClient,
  type Begun,
  type Granted,
  type Tokens,
} from "../../kernel/auth/account-provider.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault, logError, report } from "../../kernel/core/errors.ts";
import type { ClientAtIssuer, IssuerAddress } from "./issuer-client.ts";
import { OFFLINE_SCOPE, type IssuerMetadata } from "./issuer-metadata.ts";
import { limits } from "./limits.ts";
import type { AccountRef, FinishedAccount } from "./person.ts";
import { firstRow } from "../../kernel/storage/tables.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";

/** How long before its expiry an account's token is renewed: a request with it may take that long. */
const ACCOUNT_MARGIN_MS = 30_000;

/** This server as a client of issuers that ACCOUNTS does not list. */
export interface IssuerClients {
  /** As `IssuerClient.metadata`. */
  issuerMetadata(at: IssuerAddress): Promise<IssuerMetadata>;
  /** As `IssuerClient.find`. */
  clientAt(at: IssuerAddress): Promise<ClientAtIssuer>;
  /** As `IssuerClient.drop`. */
  dropClient(at: IssuerAddress, id: string): Promise<void>;
}

/** The client by which an account was connected, and the metadata at that time. */
interface OwnClient extends ClientAtIssuer {
  at: IssuerAddress;
}

/** A connected account as it is stored. */
interface ConnectedAccount extends AccountGrant {
  tokens: Tokens;
  /** Absent if the provider is one of ACCOUNTS. */
  own?: OwnClient;
  /** `Provider.identity` of the provider and client that the tokens are bound to. */
  from: string;
  /** Unix time in ms of the person's consent, and of the tokens. */
  connectedAt: number;
  grantedAt: number;
}

/** A person's pending visit at a provider. */
interface PendingVisit {
  grant: AccountGrant;
  begun: Begun;
  back: string;
  /** As in `ConnectedAccount`. */
  own?: OwnClient;
  /** `Provider.identity` of the provider and client that the code is bound to. */
  at: string;
}

interface Parts {
  sql: SqlStorage;
  sealer: Sealer;
  providers: ReadonlyMap<string, Provider>;
  clients: IssuerClients;
  /** The token of the person's own sign-in, if that is an account of this name: see `MemberRecord.token`. */
  signedIn(grant: AccountGrant, refused?: string): Promise<string | undefined>;
}

/** The accounts of one person, in the person's object. Tokens are renewed by one request at a time for each account. */
export class PersonAccounts {
  readonly #parts: () => Parts;
  readonly #renewing = new Map<string, Promise<Settled<string | undefined>>>();
  #changed = Promise.withResolvers<void>();
  #timesForgotten = 0;
  /** Counts the accounts that were stored or deleted. */
  #writes = 0;

  constructor(parts: () => Parts) {
    this.#parts = parts;
  }

  async state(
    grant: AccountGrant,
    { since, ms }: { since: number; ms: number },
  ): Promise<AccountState> {
    const id = await idOf(grant);
    // A timer, since the clock may be set back.
    const over = scheduler.wait(ms).then(() => true);
    for (let isOver = ms <= 0; ;) {
      const next = this.#changed.promise;
      const known = await this.#read(id);
      if (known !== undefined && covers(known, grant) && (await this.#isUsable(known)))
        return "connected";
      const { sql, signedIn } = this.#parts();
      const own = await settled(() => signedIn(grant));
      // Why a token cannot be had now is said where it is used.
      if (!("value" in own) || own.value !== undefined) return "connected";
      const declined = firstRow(
        sql.exec<{ at: number }>("SELECT at FROM declined WHERE id = ?", id),
      );
      if (declined !== undefined && declined.at > since) return "declined";
      if (isOver) return "missing";
      isOver = (await Promise.race([next, over])) === true;
    }
  }

  async begin(grant: AccountGrant, { redirectUri, back }: { redirectUri: string; back: string }) {
    const { sql, sealer } = this.#parts();
    const now = Date.now();
    const own = await this.#newClient(grant, new URL(redirectUri).origin);
    const provider = this.#provider(grant, own);
    const { resource } = grant;
    const { url, begun } = await provider.begin(scopesFor(grant, own), redirectUri, { resource });
    const at = provider.identity;
    const connecting: PendingVisit = { grant, begun, back, at, ...(own && { own }) };
    const state = await hexDigest(begun.state);
    const sealed = await sealer.seal(encoded(connecting), `connecting ${state}`);
    // No await from here on, so that no other attempt is counted meanwhile.
    sql.exec("DELETE FROM connecting WHERE until <= ?", now);
    const { count } = sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM connecting").one();
    if (count >= limits.connecting)
      throw new Fault("too_many", "You have begun this too often. Try again in ten minutes.", {
        data: { retryAfter: limits.connectingMs / 1000 },
      });
    sql.exec("INSERT INTO connecting VALUES (?, ?, ?)", state, now + limits.connectingMs, sealed);
    return url;
  }

  /** Takes the address to which a provider sends back, once; undefined for an answer to nothing that was begun here. */
  async finish({
    origin,
    pathname,
    searchParams: answer,
  }: URL): Promise<FinishedAccount | undefined> {
    const before = this.#timesForgotten;
    const { sql, sealer } = this.#parts();
    const state = await hexDigest(answer.get("state") ?? "");
    const query = "DELETE FROM connecting WHERE state = ? RETURNING until, sealed";
    const row = firstRow(sql.exec<{ until: number; sealed: ArrayBuffer }>(query, state));
    if (row === undefined || row.until <= Date.now()) return undefined;
    const opened = await sealer.open(new Uint8Array(row.sealed), `connecting ${state}`);
    if (opened === undefined) return undefined;
    const { grant, begun, back, at, own } = decoded(opened) as PendingVisit;
    // The answer of another provider has come to another address.
    if (begun.redirectUri !== origin + pathname) return undefined;
    try {
      const provider = this.#provider(grant, own);
      if (provider.identity !== at)
        throw new Fault(
          "unavailable",
          `This server has another provider ${grant.account} by now. Connect the account again.`,
        );
      const granted = await this.#unlessRefused(() => provider.finish(answer, begun), own);
      const tokens = granted?.tokens;
      if (tokens === undefined) {
        await this.decline(grant);
        return { back, isConnected: false };
      }
      const now = Date.now();
      const from = provider.identity;
      const account = { ...grant, tokens, from, ...(own && { own }) };
      const isForgotten = () => this.#timesForgotten !== before;
      if (!(await this.#keep({ ...account, connectedAt: now, grantedAt: now }, isForgotten))) {
        await provider.revoke(tokens).catch(logError);
        return undefined;
      }
      sql.exec("DELETE FROM declined WHERE id = ?", await idOf(grant));
      return { back, isConnected: true };
    } catch (error) {
      return { back, isConnected: false, failure: report(error).message };
    }
  }

  async decline(of: AccountRef): Promise<void> {
    const { sql } = this.#parts();
    sql.exec("INSERT OR REPLACE INTO declined VALUES (?, ?)", await idOf(of), Date.now());
    this.#tell();
  }

  async token(grant: AccountGrant, refused?: string): Promise<Settled<string | undefined>> {
    const known = await this.#read(await idOf(grant));
    // A call may have found the account connected before its servlet's manifest named more hosts.
    if (known === undefined || !covers(known, grant) || !this.#isCurrent(known))
      return settled(() => this.#parts().signedIn(grant, refused));
    const { tokens, grantedAt } = known;
    const isOver = (tokens.expires ?? Infinity) <= Date.now() + ACCOUNT_MARGIN_MS;
    // A host that refuses even new tokens does so for another reason.
    const isRefused = tokens.access === refused && grantedAt + limits.accountFreshMs <= Date.now();
    return isOver || isRefused ? this.#renewed(known) : { value: tokens.access };
  }

  async disconnect(of: AccountRef): Promise<void> {
    const id = await idOf(of);
    const known = await this.#read(id);
    this.#delete(id);
    // The account is forgotten here, even if the provider cannot be reached.
    if (known === undefined || !this.#isCurrent(known)) return;
    await this.#currentProvider(known)
      .then((provider) => provider.revoke(known.tokens))
      .catch(logError);
  }

  async forgetAll(): Promise<void> {
    this.#timesForgotten++;
    await Promise.all((await this.all()).map((one) => this.disconnect(one)));
  }

  async all(): Promise<(AccountGrant & { connectedAt: number })[]> {
    const rows = this.#parts().sql.exec<{ id: string }>("SELECT id FROM accounts").toArray();
    const all = await Promise.all(rows.map(({ id }) => this.#read(id)));
    return all.flatMap((one) => {
      if (one === undefined) return [];
      const { servlet, account, scopes, hosts, connectedAt } = one;
      return [{ servlet, account, scopes, hosts, connectedAt }];
    });
  }

  /** False for an account that its provider no longer grants, which is deleted. Renews its tokens if needed. */
  async #isUsable(grant: AccountGrant): Promise<boolean> {
    const found = await this.token(grant);
    // A provider that is down says nothing about the account.
    return !("value" in found) || found.value !== undefined;
  }

  async #renewed(known: ConnectedAccount): Promise<Settled<string | undefined>> {
    const id = await idOf(known);
    const flight = this.#renewing.get(id) ?? settled(() => this.#renew(id, known));
    this.#renewing.set(id, flight);
    try {
      return await flight;
    } finally {
      if (this.#renewing.get(id) === flight) this.#renewing.delete(id);
    }
  }

  async #renew(id: string, { tokens: { access } }: ConnectedAccount): Promise<string | undefined> {
    // It may have been renewed since it was read, and providers take a refresh token that is used twice for a stolen one.
    const known = await this.#read(id);
    if (known?.tokens.access !== access) return known?.tokens.access;
    const { refresh } = known.tokens;
    const provider = refresh === undefined ? undefined : await this.#currentProvider(known);
    const tokens = (await this.#refreshed(provider, known))?.tokens;
    // Its person may disconnect or connect it meanwhile.
    for (;;) {
      const before = this.#writes;
      const isChanged = () => this.#writes !== before;
      const current = await this.#read(id);
      if (current === undefined && tokens !== undefined)
        await provider?.revoke(tokens).catch(logError);
      if (current?.tokens.access !== access) return current?.tokens.access;
      if (tokens !== undefined) {
        const renewed = { ...current, tokens, grantedAt: Date.now() };
        if (await this.#keep(renewed, isChanged)) return tokens.access;
      } else if (!isChanged()) {
        this.#delete(id);
        return undefined;
      }
    }
  }

  /** The grant with new tokens; undefined if the provider no longer grants it, or no longer knows this server. */
  async #refreshed(
    provider: Provider | undefined,
    { tokens: { refresh }, resource, own }: ConnectedAccount,
  ): Promise<Granted | undefined> {
    if (provider === undefined || refresh === undefined) return undefined;
    try {
      return await this.#unlessRefused(() => provider.refresh(refresh, resource), own);
    } catch (error) {
      // A refresh token is bound to its client.
      if (isRefused(error, own)) return undefined;
      throw error;
    }
  }

  /** Runs a request to the provider. Drops the registration if the issuer refuses it. */
  async #unlessRefused<T>(work: () => Promise<T>, own: OwnClient | undefined): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (own !== undefined && isRefused(error, own))
        await this.#parts().clients.dropClient(own.at, own.client.id).catch(logError);
      throw error;
    }
  }

  /** Stores an account; false if it is `isVoid` once it is sealed. */
  async #keep(connected: ConnectedAccount, isVoid: () => boolean): Promise<boolean> {
    const { sql, sealer } = this.#parts();
    const id = await idOf(connected);
    const sealed = await sealer.seal(encoded(connected), `account ${id}`);
    if (isVoid()) return false;
    const { count } = sql
      .exec<{ count: number }>("SELECT COUNT(*) AS count FROM accounts WHERE id <> ?", id)
      .one();
    if (count >= limits.keptSecrets)
      throw new Fault(
        "too_many",
        `You have ${limits.keptSecrets} connected accounts, as many as you may. Disconnect one at /account first.`,
      );
    sql.exec("INSERT OR REPLACE INTO accounts VALUES (?, ?)", id, sealed);
    this.#writes++;
    this.#tell();
    return true;
  }

  #delete(id: string): void {
    this.#parts().sql.exec("DELETE FROM accounts WHERE id = ?", id);
    this.#writes++;
  }

  async #read(id: string): Promise<ConnectedAccount | undefined> {
    const { sql, sealer } = this.#parts();
    const query = "SELECT sealed FROM accounts WHERE id = ?";
    const row = firstRow(sql.exec<{ sealed: ArrayBuffer }>(query, id));
    const opened = row && (await sealer.open(new Uint8Array(row.sealed), `account ${id}`));
    return opened && (decoded(opened) as ConnectedAccount);
  }

  /** False if the configuration has another provider or client by now. */
  #isCurrent({ account, from, own }: ConnectedAccount): boolean {
    const provider = this.#parts().providers.get(account);
    return provider === undefined ? own !== undefined : provider.identity === from;
  }

  /** The client for a new connection; undefined if ACCOUNTS has the provider. Throws `unavailable`. */
  async #newClient(
    { account, issuer }: AccountGrant,
    origin: string,
  ): Promise<OwnClient | undefined> {
    const { providers, clients } = this.#parts();
    if (issuer === undefined || providers.has(account)) return undefined;
    const at = { issuer, origin };
    const found = await clients.clientAt(at);
    const { client } = found;
    if (client.registeredAt === undefined || !(await this.#isOut(client.id)))
      return { at, ...found };
    await clients.dropClient(at, client.id);
    return { at, ...(await clients.clientAt(at)) };
  }

  /** True if the person has a pending visit at the issuer with this client id: the issuer may not know the client any more. */
  async #isOut(client: string): Promise<boolean> {
    const { sql, sealer } = this.#parts();
    const rows = sql
      .exec<{ state: string; sealed: ArrayBuffer }>("SELECT state, sealed FROM connecting")
      .toArray();
    const all = await Promise.all(
      rows.map(({ state, sealed }) => sealer.open(new Uint8Array(sealed), `connecting ${state}`)),
    );
    return all.some((one) => one && (decoded(one) as PendingVisit).own?.client.id === client);
  }

  /** The provider of an account: the one in ACCOUNTS, else the issuer with this client. */
  #provider({ account }: AccountGrant, own: OwnClient | undefined): Provider {
    const provider = this.#parts().providers.get(account);
    if (provider !== undefined) return provider;
    if (own !== undefined) return providerBy(account, own);
    throw new Fault(
      "servlet_failed",
      `This server knows no provider ${account}: ACCOUNTS has none.`,
    );
  }

  /** As `#provider`, with the current metadata. Throws `unavailable`, also if tokens would go to another host than before. */
  async #currentProvider(known: ConnectedAccount): Promise<Provider> {
    const { account, own } = known;
    const { clients, providers } = this.#parts();
    if (own === undefined || providers.has(account)) return this.#provider(known, own);
    const now = await clients.issuerMetadata(own.at);
    const [before, after] = [own.metadata, now].map((one) => new URL(one.token_endpoint).host);
    if (before !== after)
      throw new Fault(
        "unavailable",
        `The issuer ${new URL(own.at.issuer).host} has moved its token endpoint from ${before} to ${after} since the account ${account} was connected, so this server has stopped using the account. If that is expected, disconnect the account at /account, and call again to connect it.`,
      );
    const { revocation_endpoint, ...others } = now;
    const isPinned = hostOf(revocation_endpoint) === hostOf(own.metadata.revocation_endpoint);
    const metadata = isPinned ? now : others;
    return providerBy(account, { ...own, metadata });
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** The tables. `declined` has the times at which the person refused to connect accounts. */
export const ACCOUNT_TABLES = `
CREATE TABLE IF NOT EXISTS accounts (id TEXT PRIMARY KEY, sealed BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS connecting (state TEXT PRIMARY KEY, until INTEGER NOT NULL, sealed BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS declined (id TEXT PRIMARY KEY, at INTEGER NOT NULL);`;

/** An issuer as a provider, with this client. */
const providerBy = (name: string, { at: { issuer }, client, metadata }: OwnClient): Provider => {
  const { id: client_id, secret, auth } = client;
  const settings = { issuer, client_id, auth, scopes: [], params: {} };
  return new Provider(name, settings, secret, { metadata });
};

/** The scopes to request: with one more for a refresh token, if the issuer lists it. */
function scopesFor({ scopes }: AccountGrant, own: OwnClient | undefined): readonly string[] {
  const isOffline = own?.metadata.scopes_supported.includes(OFFLINE_SCOPE);
  // Alone it would stand for less than the provider's default.
  return isOffline && scopes.length > 0 ? [...scopes, OFFLINE_SCOPE] : scopes;
}

/** True if the issuer has refused the client that it had registered. */
const isRefused = (error: unknown, own: OwnClient | undefined): boolean =>
  own?.client.registeredAt !== undefined &&
  error instanceof Fault &&
  error.cause instanceof RefusedClient;

const hostOf = (address: string | undefined): string | undefined =>
  address && new URL(address).host;

/** True if the person has agreed to all of this. */
const covers = (known: AccountGrant, { scopes, hosts, issuer, resource }: AccountGrant): boolean =>
  known.issuer === issuer &&
  known.resource === resource &&
  scopes.every((one) => known.scopes.includes(one)) &&
  hosts.every((one) => known.hosts.includes(one));

const idOf = ({ servlet, account }: AccountRef): Promise<string> =>
  hexDigest(JSON.stringify([servlet, account]));

const encoded = (value: object) => new TextEncoder().encode(JSON.stringify(value));
const decoded = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));
