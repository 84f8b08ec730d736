import type { Feature } from "../kernel.ts";
import { carriedFeature } from "./carried.ts";
import { consoleFeature } from "./console.ts";
import { installsFeature } from "./installs.ts";
import { issuersFeature } from "./issuers.ts";
import { operatorFeature } from "./operator.ts";
import { otcFeature } from "./otc.ts";
import { peopleFeature } from "./people.ts";
import { searchFeature } from "./search.ts";
import { sessionsFeature } from "./sessions.ts";
import { signInFeature } from "./sign-in.ts";
import { stateFeature } from "./state.ts";
import { tasksFeature } from "./tasks.ts";
import { toolCallsFeature } from "./tool-calls.ts";
import { usageFeature } from "./usage.ts";

/** Every feature. */
export const features: readonly Feature[] = [
  ...[usageFeature, stateFeature, tasksFeature, carriedFeature, sessionsFeature, toolCallsFeature],
  ...[peopleFeature, signInFeature, issuersFeature, consoleFeature, installsFeature],
  ...[operatorFeature, searchFeature, otcFeature],
];
