import type { AboutFeature } from "../../kernel/about.ts";

export default {
  bindings: ["CALL_RECORDS"],
  off: "Open Tool Calling (/tools)",
  storageCountedBy: "ATTEMPTS",
  settings: ["OTC_JWT_SECRET", "OTC_JWT_AUDIENCE"],
  optional: { add: "Bind CALL_RECORDS in wrangler.toml", settings: ["OTC_JWT_SECRET"] },
} satisfies AboutFeature;
