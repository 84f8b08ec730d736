import type { AboutFeature } from "../../kernel/about.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

const hasEvents = ({ events = {} }: Manifest): boolean => Object.keys(events).length > 0;

export default {
  bindings: ["EVENTS"],
  off: "events that servlets emit, and subscriptions to them",
  settings: ["EVENT_HOSTS"],
  // The class is bound in every project that has added what a version needs, and most emit no events.
  broughtInBy: [],
  calledAs: ["emit"],
  servletsNeed: {
    bindings: ["EVENTS", "KEY_RING", "ATTEMPTS"],
    of: hasEvents,
    because: "emits events",
  },
  storageCountedBy: "ATTEMPTS",
  reasonIn({ servlets }) {
    const emitting = servlets.find(({ manifest }) => hasEvents(manifest));
    return emitting && `the servlet ${emitting.name}, which emits events`;
  },
  optional: {
    add: "Bind EVENTS in wrangler.toml",
    settings: ["EVENT_HOSTS"],
    limits: ["eventMs", "subscriptionMs", "subscriptions", "deliveryMs"],
  },
} satisfies AboutFeature;
