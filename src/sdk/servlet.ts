/** Write servlets: `export default defineServlet({ tools: { … } })`. */
import { answersOf } from "./answers.ts";
import type { Entry } from "./host.ts";
import { random } from "./random.ts";
import { entryOf } from "./run.ts";
import type { AnySpec, ServletSpec, ToolSpec } from "./specs.ts";

export { AskError } from "./asks.ts";
export { RpcError } from "./run.ts";
export { ToolError } from "./schema.ts";
export { runScript } from "./script.ts";
export { inspect } from "./globals/inspect.ts";
export type { Context, ElicitResult } from "./context.ts";
export type { FromJson, JsonSchema, StandardSchema } from "./infer.ts";
export type * from "./specs.ts";
export type * from "./types.ts";

/**
 * Makes the servlet. Module scope, and so this, runs once, when the servlet is built; each call of a
 * handler starts from there. Throws where a name, a handler or a schema is not fit to be listed.
 */
export function defineServlet<
  const I extends Record<string, unknown>,
  const O extends Record<string, unknown>,
  const P extends Record<string, unknown>,
>(spec: ServletSpec<I, O, P>): Entry {
  if ("__servlet" in globalThis) throw new Error("A servlet calls defineServlet once.");
  const answers = answersOf(spec as unknown as AnySpec);
  if (Object.keys(answers).length === 0) {
    throw new Error(
      "The servlet offers nothing: no tools, resources, resourceTemplates or prompts.",
    );
  }
  Math.random = random;
  globalThis.__servlet = entryOf(answers);
  return globalThis.__servlet;
}

/** A tool on its own, for servlets of several files. */
export function defineTool<const I, const O>(tool: ToolSpec<I, O>): ToolSpec<I, O> {
  return tool;
}
