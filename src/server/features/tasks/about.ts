import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["TASKS"],
  settings: ["LINKS"],
} satisfies AboutFeature;
