import type { AboutFeature } from "../../kernel/about.ts";

export default {
  broughtInBy: ["INSTALLS", "SERVLET_STATES", "PROFILES", "USAGE"],
} satisfies AboutFeature;
