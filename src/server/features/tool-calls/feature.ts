import { toolCallerOf } from "./tool-caller.ts";
import type { Feature } from "../../kernel/kernel.ts";

/** Servlets that call the tools of others (`may_call`). */
export const toolCallsFeature: Feature = {
  name: "tool-calls",
  start: () => ({ deployment: { toolCaller: toolCallerOf } }),
};
