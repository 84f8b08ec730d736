import type { AccountGrant } from "../servlets/deployment.ts";

/** A secret of a person, which one servlet may have. */
export interface SecretOf {
  servlet: string;
  name: string;
}

/** The kept secrets and connected accounts of a person, without values; and calls that were handed over, by id. */
export interface ProfileSummary {
  secrets: (SecretOf & { keptAt: number })[];
  accounts: (AccountGrant & { connectedAt: number })[];
  calls: string[];
}

/** An account of a person at a provider, which one servlet uses. */
export interface AccountOf {
  servlet: string;
  /** The provider's name in ACCOUNTS. */
  account: string;
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
