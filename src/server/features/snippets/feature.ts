import type { Feature } from "../../kernel/kernel.ts";
import { stateFeature } from "../state/feature.ts";
import { callersSnippets, snippetTool } from "./catalog.ts";
import { snippetFunctions } from "./functions.ts";
import { SnippetStore } from "./store.ts";

/** Scripts that callers save under names, and have as tools of their own. */
export const snippetsFeature: Feature = {
  name: "snippets",
  needs: [stateFeature],
  start(kernel) {
    if (kernel.documents === undefined) return {};
    const store = new SnippetStore(kernel.documents);
    return {
      catalog: { callersTools: callersSnippets(store) },
      hostFunctions: snippetFunctions(store, snippetTool),
    };
  },
};
