import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["SCHEDULES"],
  off: "schedules",
  needs: ["tasks", "people"],
  storageCountedBy: "ATTEMPTS",
  calledAs: ["schedule", "Schedule"],
  optional: {
    add: "Bind SCHEDULES in wrangler.toml",
    limits: ["schedules", "scheduleMs"],
  },
  servletsNeed: {
    bindings: ["KEY_RING", "TASKS", "SCHEDULES"],
    of: ({ schedules = {} }) => Object.keys(schedules).length > 0,
    because: "has schedules",
  },
} satisfies AboutFeature;
