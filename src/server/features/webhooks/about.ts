import type { AboutFeature } from "../../kernel/about.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

const hasWebhooks = ({ webhooks = {} }: Manifest): boolean => Object.keys(webhooks).length > 0;

export default {
  needs: ["tasks", "people"],
  bindings: ["HOOKS"],
  off: "webhooks of servlets",
  storageCountedBy: "ATTEMPTS",
  optional: {
    add: "Bind HOOKS, TASKS, PROFILES and KEY_RING in wrangler.toml",
    limits: ["deliveryBytes", "deliveriesPerMinute"],
  },
  servletsNeed: {
    bindings: ["HOOKS", "KEY_RING", "PROFILES", "TASKS"],
    of: hasWebhooks,
    because: "has webhooks",
  },
  reasonIn({ servlets }) {
    const found = servlets.find(({ manifest }) => hasWebhooks(manifest));
    return found && `the servlet ${found.name}, which has webhooks`;
  },
} satisfies AboutFeature;
