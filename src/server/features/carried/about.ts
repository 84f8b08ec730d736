import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["STATES"],
  off: "waiting calls of clients of 2026-07-28",
  storageCountedBy: "ATTEMPTS",
} satisfies AboutFeature;
