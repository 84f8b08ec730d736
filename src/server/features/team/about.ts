import type { AboutFeature } from "../../kernel/about.ts";

/** The bindings that the sign-in needs. */
export const TEAM_BINDINGS = [
  "OAUTH_KV",
  "GRANTS",
  "ATTEMPTS",
  "PROFILES",
  "TASKS",
  "KEY_RING",
] as const;

export default {
  needs: ["people", "sign-in"],
  settings: ["SIGN_IN"],
  broughtInBy: [],
  variableNeeds: { variable: "SIGN_IN", bindings: TEAM_BINDINGS },
  reasonIn: ({ variables }) => (variables.has("SIGN_IN") ? "the variable SIGN_IN" : undefined),
  optional: {
    add: "Set SIGN_IN under [vars] in wrangler.toml: it is no secret",
    settings: ["SIGN_IN"],
    limits: ["memberCheckMs", "memberHoldMs"],
  },
} satisfies AboutFeature;
