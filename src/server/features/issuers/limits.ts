/** Limits of access tokens of other authorization servers. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Tolerated clock difference between an issuer of tokens and this server. */
    clockToleranceMs: 30_000,
  },
  internal: {
    /** How long an issuer's keys are used while it is down. */
    keySetStaleMs: 3_600_000,
    /** Pause between two fetches for an unknown key: any caller can name keys. */
    keySetCooldownMs: 30_000,
    /** Pause between two attempts to reach an issuer that is down. */
    issuerRetryMs: 5000,
  },
});
