/** The settings and limits of all features: for tools, which check them before they know the features of a server. */
import "./features/events/limits.ts";
import "./features/issuers/limits.ts";
import "./features/people/limits.ts";
import "./features/schedules/limits.ts";
import "./features/transfers/limits.ts";
import "./features/sessions/limits.ts";
import "./features/sign-in/limits.ts";
import "./features/state/limits.ts";
import "./features/team/limits.ts";
import "./features/webhooks/limits.ts";
import "./kernel/auth/limits.ts";
import "./kernel/mcp/limits.ts";
import "./kernel/wasm/limits.ts";

import type { FeatureSettings } from "./kernel/settings/env.ts";

export { deploymentOf, readSettings } from "./kernel/settings/env.ts";

export const allSettings: readonly FeatureSettings[] = [
  (await import("./features/events/settings.ts")).eventsSettings,
  (await import("./features/otc/settings.ts")).otcSettings,
  (await import("./features/sign-in/settings.ts")).signInSettings,
  (await import("./features/tasks/settings.ts")).tasksSettings,
  (await import("./features/team/settings.ts")).teamSettings,
];
