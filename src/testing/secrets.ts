import type { Secrets } from "../servlets/deployment.ts";

/** Secrets that a caller has given before; others are asked for, and not given. */
export const scriptedSecrets = ({
  secrets = {},
}: {
  secrets?: Record<string, string>;
}): Secrets => ({
  find: async (_caller, { name }) => secrets[name],
  page: async () => "https://server.example/secret/1",
});
