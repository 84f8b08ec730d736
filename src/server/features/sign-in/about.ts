import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["GRANTS", "OAUTH_KV"],
  off: "sign-in by a passphrase or at a team's providers",
  settings: ["ENTERPRISE_ISSUERS"],
  optional: {
    add: "Bind OAUTH_KV, GRANTS and ATTEMPTS in wrangler.toml: npm run passphrase adds the lines",
    settings: ["OWNER_PASSPHRASE", "ENTERPRISE_ISSUERS"],
    limits: ["refreshTokenMs"],
  },
} satisfies AboutFeature;
