/** Write servlets: `export default defineServlet({ tools: { … } })`. */
import { answersOf } from "./answers.ts";
import type { Entry } from "./host.ts";
import type { OutputOf } from "./infer.ts";
import { random } from "./random.ts";
import { entryOf } from "./run.ts";
import type { Context } from "./context.ts";
import type {
  PromptSpec,
  ResourceSpec,
  ResourceTemplateSpec,
  ToolFrame,
  ToolReturn,
  ToolSpec,
} from "./types.ts";

export { AskError } from "./asks.ts";
export { RpcError } from "./run.ts";
export { ToolError } from "./schema.ts";
export type { Context, ElicitResult } from "./context.ts";
export type { FromJson, JsonSchema, StandardSchema } from "./infer.ts";
export type * from "./types.ts";

/** Definition of a servlet. */
export interface ServletSpec<
  I extends Record<string, unknown>,
  O extends Record<string, unknown>,
  P extends Record<string, unknown>,
> {
  /** By name. */
  tools?: {
    [K in keyof I]: ToolFrame<I[K]> & {
      output?: unknown;
      handler(
        args: OutputOf<I[K]>,
        context: Context,
      ): K extends keyof O ? ToolReturn<O[K]> : ToolReturn<unknown>;
    };
  } & { [K in keyof O]: { output?: O[K] } };
  /** By URI. */
  resources?: Record<string, ResourceSpec>;
  /** By URI template (RFC 6570). */
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  /** By name. */
  prompts?: { [K in keyof P]: PromptSpec<P[K]> };
  /** Called when the client's roots have changed. */
  rootsChanged?(context: Context): unknown;
}

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

/** A spec whose schemas nobody looks at as types any more. */
export interface AnySpec {
  tools?: Record<string, ToolSpec>;
  resources?: Record<string, ResourceSpec>;
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  prompts?: Record<string, PromptSpec<Record<string, unknown>>>;
  rootsChanged?(context: Context): unknown;
}
