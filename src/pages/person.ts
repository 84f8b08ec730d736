/** The stored data of a person. */
import type { AccountGrant } from "../servlets/deployment.ts";

/** A secret of a person, which one servlet may have. */
export interface SecretOf {
  servlet: string;
  name: string;
}

/** The kept secrets and connected accounts of a person, without values. */
export interface PersonSummary {
  secrets: (SecretOf & { keptAt: number })[];
  accounts: (AccountGrant & { connectedAt: number })[];
}

/** An account of a person at a provider, which one servlet uses. */
export type AccountOf = Pick<AccountGrant, "servlet" | "account">;

/** How a person came back from a provider. */
export interface FinishedAccount {
  /** The path of the page that asked for the account. */
  back: string;
  /** False without a failure if the person has refused. */
  isConnected: boolean;
  failure?: string;
}
