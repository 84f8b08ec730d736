import type { Feature } from "../src/kernel.ts";
import { carriedFeature } from "../src/features/carried/feature.ts";
import { consoleFeature } from "../src/features/console/feature.ts";
import { installsFeature } from "../src/features/installs/feature.ts";
import { issuersFeature } from "../src/features/issuers/feature.ts";
import { operatorFeature } from "../src/features/operator/feature.ts";
import { otcFeature } from "../src/features/otc/feature.ts";
import { peopleFeature } from "../src/features/people/feature.ts";
import { searchFeature } from "../src/features/search/feature.ts";
import { sessionsFeature } from "../src/features/sessions/feature.ts";
import { signInFeature } from "../src/features/sign-in/feature.ts";
import { stateFeature } from "../src/features/state/feature.ts";
import { tasksFeature } from "../src/features/tasks/feature.ts";
import { toolCallsFeature } from "../src/features/tool-calls/feature.ts";
import { usageFeature } from "../src/features/usage/feature.ts";

/** Every feature: a bundle names those that its project needs. */
export const features: readonly Feature[] = [
  ...[usageFeature, stateFeature, tasksFeature, carriedFeature, sessionsFeature, toolCallsFeature],
  ...[peopleFeature, signInFeature, issuersFeature, consoleFeature, installsFeature],
  ...[operatorFeature, searchFeature, otcFeature],
];
