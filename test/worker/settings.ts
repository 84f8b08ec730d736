/** The Worker's variables. Each instance that was put back is compared with a newborn one. */
export const settings = {
  GREETING: "hi",
  VAULT_PROBE: "opened",
  SEASON: "plums",
  // Of the guest `hooked`; those of senders are the examples of their documents.
  HOOK_SECRET: "It's a Secret to Everybody",
  HOOK_STANDARD: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  ISOLATION: "checked",
  // As `dev` says where only this machine can reach the server.
  EDGE_SERVLETS_RUNS: "on-loopback",
};
