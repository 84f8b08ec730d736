/** `edge-servlets/servlet`: the public API of the kit. */
import { type AnySpec, answersOf } from "./answers.ts";
import type { ServletEntry } from "./host.ts";
import { random } from "./random.ts";
import { entryOf } from "./run.ts";
import { objectSchemaOf } from "./schema.ts";
import type { EventSpec, ServletSpec, ToolSpec, ViewSpec } from "./specs.ts";
import { made } from "./stored-files.ts";

export { AskError } from "./asks.ts";
export { ToolCallError } from "./calls.ts";
export type { CallableTools, ToolCallResult } from "./calls.ts";
export { RpcError } from "./run.ts";
export { ToolError } from "./schema.ts";
export { runScript } from "./script.ts";
export { inspect } from "./globals/inspect.ts";
export type { Context, ElicitResult } from "./context.ts";
export type { FromJson, JsonSchema, StandardSchema } from "./infer.ts";
export type { MadeSchedule, ScheduleTime } from "./schedules.ts";
export type { SavedSnippet } from "./snippets.ts";
export { file } from "./stored-files.ts";
export type { FileLink, PassedFile } from "./stored-files.ts";
export type * from "./specs.ts";
export type * from "./types.ts";

/**
 * Defines the servlet; called once, for the default export of `servlet.ts`. Module scope runs once, when the servlet is built,
 * and each call of a handler starts from that state. Throws if a name, a handler or a schema is not valid.
 *
 * @example
 * import { defineServlet } from "edge-servlets/servlet";
 * import * as z from "zod/mini";
 *
 * export default defineServlet({
 *   tools: {
 *     shout: {
 *       description: "Says a text loudly",
 *       input: z.object({ text: z.string() }),
 *       handler: ({ text }) => text.toUpperCase(),
 *     },
 *   },
 * });
 */
export function defineServlet<
  const I extends Record<string, unknown>,
  const O extends Record<string, unknown>,
  const P extends Record<string, unknown>,
>(spec: ServletSpec<I, O, P>): TypedServlet<I, O> {
  if ("__servlet" in globalThis) throw new Error("A servlet calls defineServlet once.");
  const wrong = Object.keys(spec.tools ?? {}).find((name) => !/^[\w.-]{1,128}$/.test(name));
  if (wrong !== undefined) {
    throw new Error(
      `The tool "${wrong}" needs a name of letters, digits, "_", "-" and ".", at most 128.`,
    );
  }
  const answers = answersOf(spec as unknown as AnySpec);
  if (Object.keys(answers).length === 0) {
    throw new Error(
      "The servlet offers nothing: no tools, resources, resourceTemplates, prompts, schedules or webhooks.",
    );
  }
  Math.random = random;
  const { instructions, schedules, events, webhooks } = spec;
  const files = spec.files ?? (made.isFileTaken ? {} : undefined);
  const manifest = {
    ...viewsIn(spec),
    ...(instructions !== undefined && { instructions }),
    ...(schedules && { schedules: withoutCode(schedules) }),
    ...(events && { events: eventsIn(events) }),
    ...(webhooks && { webhooks: withoutCode(webhooks) }),
    ...(files && { files }),
  };
  globalThis.__servlet = { ...entryOf(answers), manifest };
  return globalThis.__servlet;
}

/**
 * A servlet whose type tells a view its tools: the schemas of their arguments (`I`) and results (`O`), by name.
 *
 * @example
 * import { defineServlet, type TypedServlet } from "edge-servlets/servlet";
 *
 * const servlet: TypedServlet<{}, { now: { type: "string" } }> = defineServlet({
 *   tools: { now: { output: { type: "string" }, handler: () => new Date().toISOString() } },
 * });
 * export default servlet;
 */
export interface TypedServlet<I, O> extends ServletEntry {
  /** Exists only as a type. */
  readonly "~schemas"?: { inputs: I; outputs: O };
}

/** The entries without their functions, as the manifest has them. */
const withoutCode = (entries: Record<string, object>): Record<string, object> =>
  JSON.parse(JSON.stringify(entries)) as Record<string, object>;

interface Viewed {
  tools?: Record<string, { view?: string; visibility?: readonly string[] }>;
  views?: Record<string, ViewSpec>;
}

/** The part of the manifest with the views, the tools that each shows, and the visibility of tools. */
function viewsIn({ tools = {}, views = {} }: Viewed): ServletEntry["manifest"] {
  const shown = Object.entries(views).map(([name, view]) => [name, { ...view, tools: [] }]);
  const all = Object.fromEntries(shown) as Record<string, { tools: string[] }>;
  const manifest = { views: all, tools: {} as Record<string, object> };
  for (const [name, { view, visibility }] of Object.entries(tools)) {
    if (visibility) manifest.tools[name] = { visibility };
    if (view === undefined) continue;
    if (!Object.hasOwn(all, view))
      throw new Error(`The tool "${name}" has the view "${view}", which \`views\` lacks.`);
    all[view]!.tools.push(name);
  }
  return manifest;
}

/** The types of events as the manifest has them. Throws if a schema does not describe an object. */
const eventsIn = (events: Record<string, EventSpec>): object =>
  Object.fromEntries(
    Object.entries(events).map(([name, { input, payload, ...event }]) => {
      const what = (of: string) => `The ${of} of the event "${name}"`;
      return [
        name,
        {
          ...event,
          ...(input !== undefined && { input: objectSchemaOf(input, "input", what("input")) }),
          payload: objectSchemaOf(payload, "output", what("payload")),
        },
      ];
    }),
  );

/**
 * Defines a tool on its own, for servlets of several files: its handler's arguments have the type of `input`.
 *
 * @example
 * import { defineServlet, defineTool } from "edge-servlets/servlet";
 *
 * const add = defineTool({
 *   description: "Adds two numbers",
 *   input: {
 *     type: "object",
 *     properties: { a: { type: "number" }, b: { type: "number" } },
 *     required: ["a", "b"],
 *   },
 *   handler: ({ a, b }) => a + b,
 * });
 * export default defineServlet({ tools: { add } });
 */
export function defineTool<const I, const O>(tool: ToolSpec<I, O>): ToolSpec<I, O> {
  return tool;
}
