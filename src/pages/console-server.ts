import type { Authenticator } from "../auth/authenticator.ts";
import type { keyRecordsOf } from "../auth/key-records.ts";
import type { RateLimiter } from "../auth/rate-limiter.ts";
import type { Site } from "../http/site.ts";
import type { Installer } from "../features/installs/installer.ts";
import type { actsIn, usageOf } from "../features/usage/usage.ts";
import type { BundledServlets } from "../servlets/bundle.ts";
import type { Deployment } from "../servlets/deployment.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Settings } from "../settings/env.ts";
import type { Paged } from "./frame.ts";
import type { People } from "./people.ts";
import type { PersonObjects } from "./person-objects.ts";

/** The parts of the server that the console uses. A part whose binding is missing is absent. */
export interface ConsoleServer {
  readonly env: { ASSETS?: Fetcher };
  readonly bundle: Pick<BundledServlets, "profiles">;
  readonly settings: Settings;
  readonly site: Site;
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly people?: People;
  /** Absent where the pages for people are turned off (LINKS). */
  readonly paged?: Paged;
  readonly keyRecords: ReturnType<typeof keyRecordsOf>;
  readonly usage?: ReturnType<typeof usageOf>;
  /** Records an operator's action. */
  readonly acted: ReturnType<typeof actsIn>;
  readonly deployment: Deployment;
  readonly persons?: PersonObjects;
  readonly installer?: Installer;
  registry(): Promise<Registry>;
}
