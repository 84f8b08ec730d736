import type { KeyRecords } from "./auth/key-records.ts";
import type { Installs } from "./features/installs/installs.ts";
import type { Attempts } from "./auth/attempts.ts";
import type { CallRecord } from "./features/otc/call-record.ts";
import type { Grant } from "./features/sign-in/grant.ts";
import type { Hub } from "./features/sessions/hub.ts";
import type { KeyRing } from "./storage/key-ring.ts";
import type { PersonObject } from "./pages/person-object.ts";
import type { Quota } from "./auth/quota.ts";
import type { ServletState } from "./features/state/servlet-state.ts";
import type { Session } from "./features/sessions/session.ts";
import type { States } from "./features/carried/states.ts";
import type { Task } from "./features/tasks/task.ts";
import type { RUNS, SettingName } from "./settings/own-names.ts";
import type { Usage } from "./features/usage/usage-object.ts";

/** Variables and secrets, which `readSettings` reads. */
type Variables = Partial<Record<SettingName | typeof RUNS, string>>;

/**
 * The bindings of wrangler.toml, and what each switches on. All are optional: without one, what it is for is off, or says
 * which binding is missing.
 */
export interface Env extends Variables {
  /** The script of the pages. */
  ASSETS?: Fetcher;
  /** Counts of sign-ins and of what each caller has stored; required by the server's own sign-in. */
  ATTEMPTS?: DurableObjectNamespace<Attempts>;
  /** Installed servlets, and calls that go on with an old build, with `LOADER` and `INSTALLS`. */
  BUILDS?: R2Bucket;
  /** The `call_id` of Open Tool Calling, with `KEY_RING`. */
  CALL_RECORDS?: DurableObjectNamespace<CallRecord>;
  /** The server's own sign-in, with `OAUTH_KV`, `ATTEMPTS` and `OWNER_PASSPHRASE`. */
  GRANTS?: DurableObjectNamespace<Grant>;
  /** Streams of changes; required by sessions. */
  HUBS?: DurableObjectNamespace<Hub>;
  /** Installed servlets, with `LOADER` and `BUILDS`. */
  INSTALLS?: DurableObjectNamespace<Installs>;
  /** Revocation of API keys while the server runs. */
  KEY_RECORDS?: DurableObjectNamespace<KeyRecords>;
  /** The keys that seal what is stored; required by sessions, tasks, states of calls and servlets, pages and what is kept for people. */
  KEY_RING?: DurableObjectNamespace<KeyRing>;
  /** Installed servlets, with `BUILDS` and `INSTALLS`. */
  LOADER?: WorkerLoader;
  /** The server's own sign-in, with `GRANTS`, `ATTEMPTS` and `OWNER_PASSPHRASE`. */
  OAUTH_KV?: KVNamespace;
  /** Secrets and accounts of people, and the lists of their calls. */
  PROFILES?: DurableObjectNamespace<PersonObject>;
  /** `callsPerMinute` and `toolCallsPerMinute` of `LIMITS`; bounds of what servlets keep for a caller. */
  QUOTAS?: DurableObjectNamespace<Quota>;
  /** Calls per minute, counted by the platform instead of `QUOTAS`. */
  RATE_LIMIT?: RateLimit;
  /** Servlets that keep state. */
  SERVLET_STATES?: DurableObjectNamespace<ServletState>;
  /** Clients of the revisions up to 2025-11-25 that have sessions, with `HUBS` and `TASKS`. */
  SESSIONS?: DurableObjectNamespace<Session>;
  /** Calls of clients of 2026-07-28 that wait for an answer, with `KEY_RING`. */
  STATES?: DurableObjectNamespace<States>;
  /** Tasks, and calls that go on by a link. */
  TASKS?: DurableObjectNamespace<Task>;
  /** The counters and errors that operators see. */
  USAGE?: DurableObjectNamespace<Usage>;
}
