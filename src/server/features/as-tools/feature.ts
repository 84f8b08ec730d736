import type { Feature } from "../../kernel/kernel.ts";
import { asToolsContributor, asTools } from "./as-tools.ts";

/** Endpoints at which tools list and read resources and prompts, for clients that have only tools. */
export const asToolsFeature: Feature = {
  name: "as-tools",
  start: (kernel) => ({ catalog: asToolsContributor, tools: { server: asTools(kernel) } }),
};
