import type { Provider } from "../../kernel/auth/account-provider.ts";
import type { AccountGrant, AccountState } from "../../kernel/servlets/deployment.ts";
import type { SecretRef } from "./person.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import { report } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { clientObjectName, type ClientAtIssuer, type IssuerAddress } from "./issuer-client.ts";
import type { IssuerMetadata } from "./issuer-metadata.ts";
import type { IssuerClients } from "./person-accounts.ts";
import { retry } from "../../kernel/core/retry.ts";
import type { ListedCall } from "../../kernel/calls/listed-calls.ts";
import type { PersonObject } from "./person-object.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";

/** A secret that a servlet asks a person for. */
export interface SecretRequest extends SecretRef {
  principal: string;
  /** The servlet's description of it. */
  message: string;
  /** Until when it may be entered, in Unix ms. */
  until: number;
}

/** An account that a person is asked to connect. */
export interface AccountRequest {
  principal: string;
  grant: AccountGrant;
  /** Until when it may be connected, in Unix ms. */
  until: number;
}

/** The stored data of each person, and the pages on which they enter secrets. */
export class PersonObjects implements IssuerClients {
  readonly #objects: DurableObjectNamespace<PersonObject>;
  readonly #sealer: Sealer;
  readonly #providers: ReadonlyMap<string, Provider>;

  constructor(
    objects: DurableObjectNamespace<PersonObject>,
    sealer: Sealer,
    providers: ReadonlyMap<string, Provider>,
  ) {
    this.#objects = objects;
    this.#sealer = sealer;
    this.#providers = providers;
  }

  /** Calls this principal's object, again if it dies: use it for repeatable work. */
  at<T>(
    principal: string,
    work: (object: DurableObjectStub<PersonObject>) => Promise<T>,
  ): Promise<T> {
    return retry(() => work(this.#objects.getByName(principal)));
  }

  /** As `at`, for work that cannot be repeated. */
  once<T>(
    principal: string,
    work: (object: DurableObjectStub<PersonObject>) => Promise<T>,
  ): Promise<T> {
    return work(this.#objects.getByName(principal));
  }

  find(
    principal: string,
    of: SecretRef,
    wait: { after: number; ms: number },
  ): Promise<string | undefined> {
    return this.at(principal, async (object) => object.secret(principal, of, wait));
  }

  /** Shows a call or session in its person's console. Never throws: nothing depends on it. */
  async list(principal: string, listed: ListedCall): Promise<void> {
    await this.at(principal, async (object) => object.list(principal, listed)).catch(report);
  }

  /** Keeps a session in it until this Unix time in ms, at least. Never throws. */
  async prolong(principal: string, id: string, until: number): Promise<void> {
    await this.at(principal, async (object) => object.prolong(id, until)).catch(report);
  }

  /** Takes a session out of it that has ended. Never throws. */
  async unlist(principal: string, id: string): Promise<void> {
    await this.at(principal, async (object) => object.unlist(id)).catch(report);
  }

  /** The address of the page that takes a secret. It reveals to nobody which secret. */
  page(origin: string, asked: Omit<SecretRequest, "until">): Promise<string> {
    return this.#address(origin + SECRET_PATH, asked);
  }

  /** The secret that the page with this token takes; undefined for a token that is not of this server, or too old. */
  secretRequest(token: string): Promise<SecretRequest | undefined> {
    return this.#opened<SecretRequest>(token, SECRET_PATH);
  }

  knows({ account, issuer }: AccountGrant): boolean {
    return this.#providers.has(account) || issuer !== undefined;
  }

  async issuerMetadata(at: IssuerAddress): Promise<IssuerMetadata> {
    const found = await this.at(clientObjectName(at), async (object) => object.issuerMetadata(at));
    return unsettled(found as Settled<IssuerMetadata>);
  }

  async clientAt(at: IssuerAddress): Promise<ClientAtIssuer> {
    const found = await this.at(clientObjectName(at), async (object) => object.clientAtIssuer(at));
    return unsettled(found as Settled<ClientAtIssuer>);
  }

  dropClient(at: IssuerAddress, id: string): Promise<void> {
    return this.at(clientObjectName(at), async (object) => object.dropClient(at, id));
  }

  state(
    principal: string,
    grant: AccountGrant,
    wait: { since: number; ms: number },
  ): Promise<AccountState> {
    return this.at(principal, async (object) => object.account(principal, grant, wait));
  }

  async connectPage(
    origin: string,
    principal: string,
    grant: AccountGrant,
    isMore: boolean,
  ): Promise<string> {
    const scopes = isMore ? await this.#scopesOf(principal, grant) : [];
    const whole = { ...grant, scopes: [...new Set([...scopes, ...grant.scopes])] };
    return this.#address(origin + CONNECT_PATH, { principal, grant: whole });
  }

  /** The scopes that a person has granted already. */
  async #scopesOf(
    principal: string,
    { servlet, account }: AccountGrant,
  ): Promise<readonly string[]> {
    const { accounts } = await this.at(principal, async (object) => object.summary(principal));
    const known = accounts.find((one) => one.servlet === servlet && one.account === account);
    return known?.scopes ?? [];
  }

  /** The account that the page with this token connects; undefined as for `secretRequest`. */
  accountRequest(token: string): Promise<AccountRequest | undefined> {
    return this.#opened<AccountRequest>(token, CONNECT_PATH);
  }

  async token(
    principal: string,
    grant: AccountGrant,
    refused?: string,
  ): Promise<string | undefined> {
    return unsettled(
      await this.at(principal, async (object) => object.accountToken(principal, grant, refused)),
    );
  }

  async #address(start: string, asked: object): Promise<string> {
    const whole = { ...asked, until: Date.now() + limits.taskMs };
    // A page's sealed token is none of another page.
    return start + (await this.#sealer.sealText(whole, placeOf(start)));
  }

  async #opened<T extends { until: number }>(token: string, path: string): Promise<T | undefined> {
    const asked = (await this.#sealer.openText(token, placeOf(path))) as T | undefined;
    return asked && asked.until > Date.now() ? asked : undefined;
  }
}

const placeOf = (address: string): string => `page ${new URL(address, "https://server").pathname}`;

/** The paths of such pages, before their tokens. */
const SECRET_PATH = "/secret/";
const CONNECT_PATH = "/connect/";

/** The path of a page that takes a secret or connects an account, if this address is one of such a page here. */
export const ownPathIn = (address: unknown, origin: string): string | undefined =>
  typeof address === "string" &&
  [SECRET_PATH, CONNECT_PATH].some((path) => address.startsWith(origin + path))
    ? address.slice(origin.length)
    : undefined;
