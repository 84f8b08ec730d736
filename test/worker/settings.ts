/** The Worker's variables. Each instance that was put back is compared with a newborn one. */
export const settings = {
  GREETING: "hi",
  VAULT_PROBE: "opened",
  SEASON: "plums",
  ISOLATION: "checked",
  // As `dev` says where only this machine can reach the server.
  EDGE_SERVLETS_RUNS: "on-loopback",
};
