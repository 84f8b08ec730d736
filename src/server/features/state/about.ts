import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["SERVLET_STATES"],
  off: "state and files of servlets",
  storageCountedBy: "QUOTAS",
  optional: {
    add: "Bind SERVLET_STATES in wrangler.toml",
    limits: ["queuedCalls", "callerStateBytes", "sessionStateMs", "anonymousStateMs"],
  },
  servletsNeed: {
    bindings: ["KEY_RING", "SERVLET_STATES"],
    of: ({ state = "call" }) => state !== "call",
    because: "keeps state",
  },
} satisfies AboutFeature;
