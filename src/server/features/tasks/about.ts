import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["TASKS"],
  off: "tasks, and calls that go on by a link",
  storageCountedBy: "ATTEMPTS",
  settings: ["LINKS", "LINK_CLIENTS"],
} satisfies AboutFeature;
