import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["state"],
  bindings: ["INSTALLS", "BUILDS", "LOADER"],
  off: "installing servlets while the server runs",
} satisfies AboutFeature;
