import type { Authenticator } from "../../kernel/auth/authenticator.ts";
import type { keyRecordsOf } from "../../kernel/auth/key-records.ts";
import type { RateLimiter } from "../../kernel/auth/rate-limiter.ts";
import type { Site } from "../../kernel/http/site.ts";
import type { Installer } from "../installs/installer.ts";
import type { actRecorder, usageOf } from "../usage/usage.ts";
import type { BundledServlets } from "../../kernel/servlets/bundle.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import type { Settings } from "../../kernel/settings/env.ts";
import type { ConsolePage } from "./pages.ts";
import type { Paged } from "../people/view.ts";
import type { People } from "../people/people.ts";
import type { PersonObjects } from "../people/person-objects.ts";

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
  readonly recordAct: ReturnType<typeof actRecorder>;
  readonly deployment: Deployment;
  readonly persons?: PersonObjects;
  readonly installer?: Installer;
  readonly started: readonly { readonly pages?: readonly ConsolePage[] }[];
  registry(): Promise<Registry>;
}
