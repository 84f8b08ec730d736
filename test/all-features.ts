import type { Feature } from "../src/server/kernel/kernel.ts";
import { carriedFeature } from "../src/server/features/carried/feature.ts";
import { consoleFeature } from "../src/server/features/console/feature.ts";
import { installsFeature } from "../src/server/features/installs/feature.ts";
import { issuersFeature } from "../src/server/features/issuers/feature.ts";
import { operatorFeature } from "../src/server/features/operator/feature.ts";
import { otcFeature } from "../src/server/features/otc/feature.ts";
import { peopleFeature } from "../src/server/features/people/feature.ts";
import { searchFeature } from "../src/server/features/search/feature.ts";
import { sessionsFeature } from "../src/server/features/sessions/feature.ts";
import { signInFeature } from "../src/server/features/sign-in/feature.ts";
import { stateFeature } from "../src/server/features/state/feature.ts";
import { skillsFeature } from "../src/server/features/skills/feature.ts";
import { tasksFeature } from "../src/server/features/tasks/feature.ts";
import { toolCallsFeature } from "../src/server/features/tool-calls/feature.ts";
import { usageFeature } from "../src/server/features/usage/feature.ts";
import { viewsFeature } from "../src/server/features/views/feature.ts";

/** Every feature: a bundle names those that its project needs. */
export const features: readonly Feature[] = [
  ...[usageFeature, stateFeature, tasksFeature, carriedFeature, sessionsFeature, toolCallsFeature],
  ...[peopleFeature, signInFeature, issuersFeature, consoleFeature, installsFeature],
  ...[operatorFeature, searchFeature, viewsFeature, skillsFeature, otcFeature],
];
