import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["STATES"],
  storageCountedBy: "ATTEMPTS",
} satisfies AboutFeature;
