import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["state"],
  bindings: ["INSTALLS", "BUILDS", "LOADER"],
} satisfies AboutFeature;
