import type { Feature } from "../kernel.ts";
import { carriedFeature } from "./carried/feature.ts";
import { consoleFeature } from "./console/feature.ts";
import { installsFeature } from "./installs/feature.ts";
import { issuersFeature } from "./issuers/feature.ts";
import { operatorFeature } from "./operator/feature.ts";
import { otcFeature } from "./otc/feature.ts";
import { peopleFeature } from "./people/feature.ts";
import { searchFeature } from "./search/feature.ts";
import { sessionsFeature } from "./sessions/feature.ts";
import { signInFeature } from "./sign-in/feature.ts";
import { stateFeature } from "./state/feature.ts";
import { tasksFeature } from "./tasks/feature.ts";
import { toolCallsFeature } from "./tool-calls/feature.ts";
import { usageFeature } from "./usage/feature.ts";

/** Every feature. */
export const features: readonly Feature[] = [
  ...[usageFeature, stateFeature, tasksFeature, carriedFeature, sessionsFeature, toolCallsFeature],
  ...[peopleFeature, signInFeature, issuersFeature, consoleFeature, installsFeature],
  ...[operatorFeature, searchFeature, otcFeature],
];
