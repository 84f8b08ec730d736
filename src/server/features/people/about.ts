import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["tasks"],
  bindings: ["ASSETS", "PROFILES"],
  off: "pages for people: the console, secrets and accounts",
  broughtInBy: ["PROFILES", "TASKS"],
  optional: {
    add: "Bind PROFILES, TASKS and KEY_RING in wrangler.toml",
    settings: ["ACCOUNTS"],
    limits: ["personMs"],
  },
  servletsNeed: {
    bindings: ["KEY_RING", "PROFILES", "TASKS"],
    of: ({ accounts = {} }) => Object.keys(accounts).length > 0,
    because: "uses accounts of its callers",
  },
} satisfies AboutFeature;
