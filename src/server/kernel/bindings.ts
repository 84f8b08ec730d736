import type { Attempts } from "./auth/attempts.ts";
import type { KeyRecords } from "./auth/key-records.ts";
import type { Quota } from "./auth/quota.ts";
import type { Settings } from "./settings/env.ts";
import type { RUNS } from "./settings/own-names.ts";
import type { KeyRing } from "./storage/key-ring.ts";

/** Variables and secrets, which `readSettings` reads. */
type Variables = Partial<Record<keyof Settings | typeof RUNS, string>>;

/**
 * The bindings of wrangler.toml, and what each enables: those of the kernel, to which each feature adds its own. All
 * are optional: without a binding, its function is off or reports which binding is missing.
 */
export interface Env extends Variables {
  /** Counts of sign-ins and of stored objects by caller; required by the built-in sign-in. */
  ATTEMPTS?: DurableObjectNamespace<Attempts>;
  /** Revocation of API keys while the server runs. */
  KEY_RECORDS?: DurableObjectNamespace<KeyRecords>;
  /** The keys that seal stored data; required by sessions, tasks, states of calls and servlets, and pages. */
  KEY_RING?: DurableObjectNamespace<KeyRing>;
  /** `callsPerMinute` and `toolCallsPerMinute` of `LIMITS`; bounds on what servlets keep for a caller. */
  QUOTAS?: DurableObjectNamespace<Quota>;
  /** Calls per minute, counted by the platform instead of `QUOTAS`. */
  RATE_LIMIT?: RateLimit;
}
