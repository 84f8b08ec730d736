import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["USAGE"],
  off: "counters, errors and the audit log",
} satisfies AboutFeature;
