/** Listed snippets as tools of their caller. A call of one is redirected to the tool that runs snippets. */
import { logError } from "../../kernel/core/errors.ts";
import type { Tool } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import { FORMATS } from "../../kernel/schema/formats.ts";
import {
  withPortable,
  type CallersTools,
  type Catalog,
  type ToolEntry,
} from "../../kernel/servlets/catalog.ts";
import { checkOf } from "../../kernel/servlets/checks.ts";
import { SNIPPET_NAME } from "./functions.ts";
import type { Snippet, SnippetStore } from "./store.ts";

const PREFIX = "snippet_";

/** The name of the tool that a listed snippet is. */
export const snippetTool = (name: string): string => PREFIX + name;

const ANY: Tool["inputSchema"] = { type: "object" };

/** The tools of a catalog that run snippets. */
const runnersIn = oncePer((catalog: Catalog): readonly ToolEntry[] =>
  [...catalog.tools.values()].filter(
    // A profile with pinned arguments for the tool chooses the snippet itself.
    ({ servlet, own, pinned }) => servlet.manifest.snippets === own && pinned === undefined,
  ),
);

export function callersSnippets(store: SnippetStore): CallersTools {
  return {
    isOf: ({ manifest }) => manifest.snippets !== undefined,
    named(name, catalog) {
      const own = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "";
      const [runner] = runnersIn(catalog);
      if (runner === undefined || !SNIPPET_NAME.test(own)) return undefined;
      // The snippet is not read here: its schema checks the arguments when it is run.
      return entryOf(runner, { name: own, description: "" });
    },
    list(catalog, viewer) {
      const [runner] = runnersIn(catalog);
      if (runner === undefined) return [];
      const entries = (all: readonly Snippet[]) => all.map((one) => entryOf(runner, one));
      // The server's own tools are listed even if the snippets cannot be read.
      const failed = (error: unknown) => {
        logError(error);
        return [];
      };
      try {
        const listed = store.listed(runner.servlet, viewer);
        return listed instanceof Promise ? listed.then(entries).catch(failed) : entries(listed);
      } catch (error) {
        return failed(error);
      }
    },
  };
}

/** The entry of a snippet. Calls are redirected to `runner`; its annotations and other facts about calls hold for the snippet, too. */
function entryOf(
  runner: ToolEntry,
  { name, description, input = ANY }: Pick<Snippet, "name" | "description" | "input">,
): ToolEntry {
  const { takesFiles: _, output: _output, ...own } = runner;
  const { title: _title, ...tool } = runner.tool;
  const listed = {
    ...tool,
    name: snippetTool(name),
    // First: a long description is cut at its end.
    description: `A snippet that the user has saved, not of the server itself: ${description}`,
    inputSchema: input as Tool["inputSchema"],
  };
  const use = { name: `input of the snippet ${name}`, formats: FORMATS, isInput: true };
  return {
    ...own,
    tool: withPortable(listed),
    input: checkOf(ANY, use),
    target: (given) => ({ name: runner.tool.name, arguments: { name, arguments: given } }),
  };
}
