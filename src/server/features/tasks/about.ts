import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["TASKS"],
  storageCountedBy: "ATTEMPTS",
  settings: ["LINKS"],
} satisfies AboutFeature;
