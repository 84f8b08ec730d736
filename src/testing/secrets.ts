import type { Accounts, Secrets } from "../servlets/deployment.ts";

/** Secrets that a caller has given before; others are asked for, and not given. */
export const scriptedSecrets = ({
  secrets = {},
}: {
  secrets?: Record<string, string>;
}): Secrets => ({
  find: async (_caller, { name }) => secrets[name],
  page: async () => "https://server.example/secret/1",
});

/** Accounts that a caller has connected before, by name, each with its token; others cannot be connected. */
export const scriptedAccounts = ({
  accounts = {},
}: {
  accounts?: Record<string, string>;
}): Accounts => ({
  knows: (account) => Object.hasOwn(accounts, account),
  state: async () => "connected",
  connectPage: async () => "https://server.example/connect/1",
  token: async (_caller, { account }) => accounts[account],
});
