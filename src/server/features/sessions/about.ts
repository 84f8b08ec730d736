import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["tasks"],
  bindings: ["SESSIONS", "HUBS"],
  off: "sessions of clients up to 2025-11-25, and streams of changes",
  storageCountedBy: "ATTEMPTS",
  optional: {
    add: "Bind SESSIONS and HUBS in wrangler.toml",
    limits: ["listenStreams", "sessionIdleMs"],
  },
} satisfies AboutFeature;
