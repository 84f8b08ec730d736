import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["USAGE"],
} satisfies AboutFeature;
