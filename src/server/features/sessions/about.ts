import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["tasks"],
  bindings: ["SESSIONS", "HUBS"],
  storageCountedBy: "ATTEMPTS",
  optional: {
    add: "Bind SESSIONS and HUBS in wrangler.toml",
    limits: ["listenStreams", "sessionIdleMs"],
  },
} satisfies AboutFeature;
