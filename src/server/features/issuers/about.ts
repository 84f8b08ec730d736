import type { AboutFeature } from "../../kernel/about.ts";

export default {
  // Tokens of issuers are verified by what the own sign-in needs anyway.
  broughtInBy: ["GRANTS", "OAUTH_KV"],
  reasonIn: ({ variables }) =>
    variables.has("OAUTH_ISSUERS") ? "the variable OAUTH_ISSUERS" : undefined,
  optional: {
    add: "Set OAUTH_ISSUERS under [vars] in wrangler.toml: it is no secret",
    settings: ["OAUTH_ISSUERS"],
    limits: ["clockToleranceMs"],
  },
} satisfies AboutFeature;
