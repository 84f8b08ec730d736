import type { Feature } from "../../kernel/kernel.ts";
import { searchContributor, searchTools, toolCaller } from "./search.ts";

/** Endpoints at which an agent searches for tools instead of reading all of them. */
export const searchFeature: Feature = {
  name: "search",
  start(kernel) {
    const { profiles = {} } = kernel.bundle;
    const isSearched = Object.values(profiles).some(({ tools }) => tools === "search");
    if (!isSearched) return {};
    const tools = { search_tools: searchTools(kernel), call_tool: toolCaller };
    return { catalog: searchContributor, tools: { server: tools } };
  },
};
