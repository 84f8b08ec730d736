/** Limits of the snippets that callers save. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Snippets of one caller: more would fill the context of a model that lists them. */
    snippets: 100,
    /** Characters of all snippets of one caller, as JSON: they are read together, for each list of tools. */
    snippetCharacters: 500_000,
    /** Characters of the code of one snippet. */
    snippetCode: 100_000,
    /** Characters of the schema of its arguments, which clients give to models. */
    snippetSchema: 8000,
    snippetDescription: 1000,
    /** How long an isolate takes a caller for one without listed snippets, after it has asked. */
    noSnippetsMs: 5000,
  },
});
