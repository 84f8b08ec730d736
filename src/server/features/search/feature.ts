import type { Feature } from "../../kernel/kernel.ts";
import { searchTools, toolCaller } from "./search.ts";

/** Endpoints at which an agent searches for tools instead of reading all of them. */
export const searchFeature: Feature = {
  name: "search",
  start(kernel) {
    const { profiles = {} } = kernel.bundle;
    const isSearched = Object.values(profiles).some(({ tools }) => tools === "search");
    if (!isSearched) return {};
    const tools = { search_tools: searchTools(() => kernel.registry()), call_tool: toolCaller };
    return { tools: { server: tools } };
  },
};
