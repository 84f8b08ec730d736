/** Shapes of the data that the server stores for a person. */
import type { AccountGrant } from "../../kernel/servlets/deployment.ts";

/** A reference to a person’s secret, which only this servlet may use. */
export interface SecretRef {
  servlet: string;
  name: string;
}

/** A person's stored secrets and connected accounts, without their values. Times are Unix ms. */
export interface PersonSummary {
  secrets: (SecretRef & { keptAt: number })[];
  accounts: (AccountGrant & { connectedAt: number })[];
}

/** A reference to a person’s account at a provider, which only this servlet uses. */
export type AccountRef = Pick<AccountGrant, "servlet" | "account">;

/** The outcome of connecting an account at a provider. */
export interface FinishedAccount {
  /** The path of the page that asked for the account. */
  back: string;
  /** False without a `failure` if the person declined. */
  isConnected: boolean;
  failure?: string;
}
