/** The interface between the feature `team`, whose members sign in at providers, and the pages. */
import type { Principal } from "../../kernel/core/model.ts";
import type { AccountGrant } from "../../kernel/servlets/deployment.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { SignInProvider } from "./provider-sign-in.ts";

declare module "../../kernel/kernel.ts" {
  interface Parts {
    members?: Members;
    /** Makes the record of a member, in the object of that person. */
    memberRecord?(parts: MemberParts): MemberRecord;
  }
}

/** The parts of a person's object that the record of a member uses. */
export interface MemberParts {
  principal: string;
  kv: SyncKvStorage;
  sealer: Sealer;
  /** Sets the object's alarm to this Unix time in ms, unless it is set earlier. */
  wakeBy(at: number): Promise<void>;
  /** True while a call of this person waits or goes on without a client. */
  hasCalls(): Promise<boolean>;
  /** Fails these calls with this reason. */
  stopCalls(reason: string): Promise<void>;
}

/** The record of a member, which the person's object stores. */
export interface MemberRecord {
  /**
   * The access token of the sign-in if it serves as this account (`SIGN_IN.NAME.account`) and has its scopes; otherwise
   * undefined. A token that was refused, or has expired, is renewed.
   */
  token(account: AccountGrant, refused?: string): Promise<string | undefined>;
  /** Called before the person's data is deleted. The returned function restores what must outlive that. */
  lasting(): () => void;
  /** Called at the object's alarm, with its time in Unix ms. */
  ring(now: number): Promise<void>;
}

/** What a member may do now. */
export interface MemberAccess {
  /** The person's name, for people to read. */
  title: string;
  /** Grants and cookies are bound to it; it changes when the access ends. */
  seal: string;
  /** Granted scopes; absent if unlimited, except for `operator`. */
  scopes?: readonly string[];
  isOperator: boolean;
}

export interface Members {
  /** The providers at which they sign in. */
  readonly providers: readonly SignInProvider[];
  /** True for a principal of one of the providers. */
  knows(principal: string): boolean;
  /**
   * What this member may do. `isFresh` asks the provider, unless the last check is only seconds old. Throws `unauthorized`, with
   * the reason, if the access has ended; `unavailable` if the provider cannot be asked.
   */
  access(principal: string, how?: { isFresh: boolean }): Promise<MemberAccess>;
  /** Ends everything that was granted to this member's apps and browsers. */
  signOut(principal: string): Promise<void>;
}

/** A member at a page: with all their scopes, since no app limits them. */
export const atPages = (name: string, { scopes, isOperator }: MemberAccess): Principal => ({
  name,
  ...(isOperator
    ? { scopes: [...(scopes ?? ["*:*", "profile:*"]), "operator"] }
    : scopes && { scopes }),
});
