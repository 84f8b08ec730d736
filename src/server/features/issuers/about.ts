import type { AboutFeature } from "../../kernel/about.ts";

export default {
  // Verifying issuers' tokens takes the same code as the server's own sign-in.
  broughtInBy: ["GRANTS", "OAUTH_KV"],
  reasonIn: ({ variables }) =>
    variables.has("OAUTH_ISSUERS") ? "the variable OAUTH_ISSUERS" : undefined,
  optional: {
    add: "Set OAUTH_ISSUERS under [vars] in wrangler.toml: it is no secret",
    settings: ["OAUTH_ISSUERS"],
    limits: ["clockToleranceMs"],
  },
} satisfies AboutFeature;
