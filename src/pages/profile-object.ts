import type { Listed } from "../calls/listed-calls.ts";
import type { Settled } from "../state/remote-hooks.ts";

/** A secret of a person, which one servlet may have. */
export interface SecretOf {
  servlet: string;
  name: string;
}

/** The kept secrets and connected accounts of a person, without values; and calls that were handed over, by id. */
export interface ProfileSummary {
  secrets: (SecretOf & { keptAt: number })[];
  accounts: (Grant & { connectedAt: number })[];
  calls: string[];
}

/** An account of a person at a provider, which one servlet uses. */
export interface AccountOf {
  servlet: string;
  /** The provider's name in ACCOUNTS. */
  account: string;
}

/** What a servlet may do with an account: with these scopes, at these hosts (globs). */
export interface Grant extends AccountOf {
  scopes: readonly string[];
  hosts: readonly string[];
}

/** An account for a person: connected, refused since the servlet asked, or neither. */
export type AccountState = "connected" | "declined" | "missing";

/** How a person came back from a provider. */
export interface FinishedAccount {
  /** The path of the page that asked for the account. */
  back: string;
  /** False without a failure if the person has refused. */
  isConnected: boolean;
  failure?: string;
}

/** RPC interface of what is kept for one principal, whose name each method is given. */
export interface ProfileObject extends Rpc.DurableObjectBranded {
  /** Keeps a secret, in place of the earlier one; false if there are too many. */
  keep(principal: string, of: SecretOf, value: string): Promise<boolean>;
  /** The secret if it was kept after `after` (Unix ms); waits at most `ms` for it. */
  secret(
    principal: string,
    of: SecretOf,
    wait: { after: number; ms: number },
  ): Promise<string | undefined>;
  forget(of: SecretOf): Promise<void>;
  /**
   * How an account is; waits at most `ms` for it to be connected, or to be refused after `since` (Unix ms). One that was
   * connected for less than this grant is missing.
   */
  account(
    principal: string,
    grant: Grant,
    wait: { since: number; ms: number },
  ): Promise<AccountState>;
  /**
   * Begins to connect an account: the address at the provider to which the person goes. `back` is the path of the page
   * that asks for it. Throws as `Provider.begin`.
   */
  beginAccount(
    principal: string,
    grant: Grant,
    from: { redirectUri: string; back: string },
  ): Promise<Settled<string>>;
  /** Takes the provider's answer, once; undefined for an answer to nothing that this person has begun. */
  finishAccount(principal: string, answer: string): Promise<FinishedAccount | undefined>;
  /** The person refuses. */
  declineAccount(principal: string, of: AccountOf): Promise<void>;
  /**
   * An access token, which is renewed if it has expired or is the refused one; undefined if the account is not connected
   * any more, or for less than this grant. Throws as `Provider.refresh`.
   */
  accountToken(
    principal: string,
    grant: Grant,
    refused?: string,
  ): Promise<Settled<string | undefined>>;
  /** Forgets an account, and has the provider revoke its tokens if it can. */
  disconnectAccount(principal: string, of: AccountOf): Promise<void>;
  /** Notes a call that was handed over, which is stored until then. */
  note(call: string, until: number): Promise<void>;
  /** Notes that these calls have ended: the summary does not name them any more. */
  noteEnded(calls: readonly string[]): Promise<void>;
  summary(principal: string): Promise<ProfileSummary>;
  /** Lists a call or session as it is now. */
  list(principal: string, listed: Listed): Promise<void>;
  /** Takes it out of the list. */
  unlist(id: string): Promise<void>;
  /** All that are listed, the newest first. */
  listed(principal: string): Promise<Listed[]>;
  /** The same as an event stream, which goes on with each that changes. */
  watch(principal: string): Promise<ReadableStream<Uint8Array>>;
  /** Deletes all of it, and the calls that were handed over; tokens are revoked where their provider can do that. */
  forgetAll(principal: string): Promise<void>;
}
