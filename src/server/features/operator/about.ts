import type { AboutFeature } from "../../kernel/about.ts";

export default {
  // What its operations manage: installs, states, people and usage.
  broughtInBy: ["INSTALLS", "SERVLET_STATES", "PROFILES", "USAGE"],
} satisfies AboutFeature;
