import type { AboutFeature } from "../../kernel/about.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

const hasSnippets = ({ snippets }: Manifest): boolean => snippets !== undefined;

export default {
  off: "snippets that callers save",
  needs: ["state"],
  calledAs: ["Snippet"],
  servletsNeed: {
    bindings: ["KEY_RING", "SERVLET_STATES"],
    of: hasSnippets,
    because: "has snippets",
  },
  isForInstalled: true,
  reasonIn({ servlets }) {
    const having = servlets.find(({ manifest }) => hasSnippets(manifest));
    return having && `the servlet ${having.name}, which has snippets`;
  },
} satisfies AboutFeature;
