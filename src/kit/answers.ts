import { isObject } from "../server/kernel/core/model.ts";
import { AskError } from "./asks.ts";
import { type Context, context } from "./context.ts";
import { logThrown, messageOf, running } from "./host.ts";
import {
  after,
  failed,
  isThenable,
  type OutputRule,
  promptResult,
  readResult,
  toolResult,
} from "./results.ts";
import { json } from "./json.ts";
import { type ExportHandler, RpcError } from "./run.ts";
import {
  ToolError,
  isStandardSchema,
  jsonSchemaOf,
  objectSchemaOf,
  parsed,
  warm,
} from "./schema.ts";
import type { JsonSchema, StandardSchema } from "./infer.ts";
import { askedFile, askedFiles, made } from "./stored-files.ts";
import { template } from "./templates.ts";
import type {
  Complete,
  PromptSpec,
  ResourceSpec,
  ResourceTemplateSpec,
  ScheduleSpec,
  ToolSpec,
  WebhookRequest,
  WebhookSpec,
} from "./specs.ts";

type Json = Record<string, unknown>;

const INVALID_PARAMS = -32602;

/** A spec without the types of its schemas. */
export interface AnySpec {
  tools?: Record<string, ToolSpec>;
  resources?: Record<string, ResourceSpec>;
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  prompts?: Record<string, PromptSpec<Record<string, unknown>>>;
  webhooks?: Record<string, WebhookSpec>;
  rootsChanged?(context: Context): unknown;
  schedules?: Record<string, ScheduleSpec>;
}

/**
 * The servlet's exports, each as a function from its input to its output. `lists` has the known outputs of list exports, by
 * export.
 */
export function answersOf(
  spec: AnySpec,
  lists: Readonly<Record<string, string>> = {},
): Record<string, ExportHandler> {
  const listing: Listing = (name, kind, entries) => {
    const output = lists[name] ?? json({ [kind]: entries() }, `The list of ${kind}`);
    return { [name]: () => output };
  };
  const { tools = {}, resources = {}, resourceTemplates = {}, prompts = {}, rootsChanged } = spec;
  const { schedules = {}, webhooks = {} } = spec;
  const completers = new Map<string, Record<string, Complete>>();
  return {
    ...(some(tools) && toolAnswers(tools, listing)),
    ...((some(resources) || some(resourceTemplates)) &&
      resourceAnswers(resources, resourceTemplates, completers, listing)),
    ...(some(prompts) && promptAnswers(prompts, completers, listing)),
    ...(completers.size > 0 && { complete: (input: Json) => completion(completers, input) }),
    ...(some(schedules) && scheduleAnswers(schedules)),
    ...(some(webhooks) && webhookAnswers(webhooks)),
    ...(rootsChanged && { on_roots_list_changed: () => after(rootsChanged(context), () => "") }),
  };
}

/** Makes the answer of a list export, whose output is computed once, at build time. */
type Listing = (name: string, kind: string, entries: () => Json[]) => Record<string, ExportHandler>;

interface Callable {
  /** For messages. */
  what: string;
  handler: ToolSpec["handler"];
  input: StandardSchema | undefined;
  /** The files that the user is asked for where they are missing. */
  asked: ReturnType<typeof askedFiles>;
  output: OutputRule;
}

const mapped = <T, U>(group: Record<string, T>, map: (name: string, value: T) => U) =>
  Object.fromEntries(Object.entries(group).map(([name, value]) => [name, map(name, value)]));

const some = (group: object): boolean => Object.keys(group).length > 0;

/** The entry of a group with this name, which the client chose. */
const entry = <T>(group: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(group, name) ? group[name] : undefined;

function request(input: Json): Json {
  return isObject(input["request"]) ? input["request"] : {};
}

function mustBeFunction(value: unknown, what: string, where: string): void {
  if (typeof value !== "function") throw new Error(`${where} needs a function \`${what}\`.`);
}

/** The parts of a tool that its calls need. */
function callable(name: string, { handler, input, output }: ToolSpec): Callable {
  const where = `The tool "${name}"`;
  mustBeFunction(handler, "handler", where);
  warm(input);
  warm(output);
  return {
    what: where,
    handler,
    input: isStandardSchema(input) ? input : undefined,
    asked: made.isFileTaken ? askedFiles(inputSchemaOf(name, input)) : [],
    output: isStandardSchema(output) ? output : output !== undefined,
  };
}

/** A tool's list entry. Without `input`, a handler without parameters takes no arguments, and any other handler takes any. */
function listedTool(name: string, tool: ToolSpec): Json {
  const { input, output, handler, view: _, visibility: __, ...rest } = tool;
  const takesAny = { type: "object", properties: {} };
  return {
    name,
    ...rest,
    inputSchema:
      input === undefined
        ? { ...takesAny, ...(handler.length === 0 && { additionalProperties: false }) }
        : withoutAsked(inputSchemaOf(name, input)),
    ...(output !== undefined && {
      outputSchema: jsonSchemaOf(output, "output", `The output of the tool "${name}"`),
    }),
  };
}

const inputSchemaOf = (tool: string, input: unknown): JsonSchema =>
  input === undefined ? {} : objectSchemaOf(input, "input", `The input of the tool "${tool}"`);

/** The schema of arguments, of which callers may leave out files that the user is asked for. */
function withoutAsked(schema: JsonSchema): JsonSchema {
  const asked = new Set(askedFiles(schema).map(([name]) => name));
  const { required } = schema;
  if (asked.size === 0 || !Array.isArray(required)) return schema;
  return { ...schema, required: required.filter((name: string) => !asked.has(name)) };
}

/** The arguments with the files that the user was asked for. Throws a `ToolError` if the user sends none. */
async function withAsked({ asked }: Callable, args: Json): Promise<Json> {
  const files: [string, string][] = [];
  for (const [name, wanted] of asked) {
    if (Object.hasOwn(args, name)) continue;
    const uri = await askedFile("file()", wanted).catch((error: unknown) => {
      if (!(error instanceof AskError) || error.reason !== "cannot-ask") throw error;
      throw new ToolError(
        `The file "${name}" is missing, and your client cannot ask the user for it. Pass it as an argument.`,
      );
    });
    if (uri === undefined) throw new ToolError(`The user sends no file for "${name}".`);
    files.push([name, uri]);
  }
  // Not by assignment: an argument may be named `__proto__`.
  return { ...args, ...Object.fromEntries(files) };
}

function toolAnswers(
  specs: NonNullable<AnySpec["tools"]>,
  listing: Listing,
): Record<string, ExportHandler> {
  const tools = mapped(specs, callable);
  return {
    ...listing("list_tools", "tools", () => Object.values(mapped(specs, listedTool))),
    call_tool: (input) => {
      const { name: given, arguments: args = {} } = request(input);
      const name = String(given);
      const tool = entry(tools, name);
      if (!tool) throw new RpcError(INVALID_PARAMS, `There is no tool "${name}".`);
      running.what = tool.what;
      try {
        const call = (ready: unknown) => tool.handler(ready as Json, context);
        const checked = (whole: unknown) =>
          tool.input === undefined
            ? call(whole)
            : after(parsed(tool.input, whole, `The arguments of "${name}" are not valid`), call);
        const isWhole = tool.asked.every(([one]) => Object.hasOwn(args as Json, one));
        const returned = isWhole ? checked(args) : after(withAsked(tool, args as Json), checked);
        const result = after(returned, (value) => toolResult(tool.output, name, value));
        return isThenable(result) ? result.then(undefined, toolError) : result;
      } catch (error) {
        return toolError(error);
      }
    },
  };
}

/** A tool that throws returns an error result, so that a model can correct its call. */
function toolError(error: unknown): string {
  const isForTool = error instanceof ToolError || (error instanceof AskError && !error.data);
  if (!isForTool) {
    if (error instanceof RpcError) throw error;
    logThrown(error);
  }
  return failed(messageOf(error));
}

function webhookAnswers(webhooks: Record<string, WebhookSpec>): Record<string, ExportHandler> {
  for (const [name, { receive }] of Object.entries(webhooks))
    mustBeFunction(receive, "receive", `The webhook "${name}"`);
  return {
    receive_webhook: (input) => {
      const { _meta, ...given } = request(input);
      const name = String(given["name"]);
      const found = entry(webhooks, name);
      if (!found) throw new RpcError(INVALID_PARAMS, `There is no webhook "${name}".`);
      running.what = `The webhook "${name}"`;
      try {
        const returned = found.receive(given as unknown as WebhookRequest, context);
        const result = after(returned, (value) => toolResult(false, name, value ?? null));
        return isThenable(result) ? result.then(undefined, toolError) : result;
      } catch (error) {
        return toolError(error);
      }
    },
  };
}

function resourceAnswers(
  resources: NonNullable<AnySpec["resources"]>,
  templates: NonNullable<AnySpec["resourceTemplates"]>,
  completers: Map<string, Record<string, Complete>>,
  listing: Listing,
): Record<string, ExportHandler> {
  const fixed = Object.entries(resources).map(([uri, { read, ...rest }]) => {
    mustBeFunction(read, "read", `The resource "${uri}"`);
    return { uri, ...rest };
  });
  const matchers = Object.entries(templates).map(([source, spec]) => ({
    ...template(source),
    source,
    spec,
  }));
  const listed = matchers.map(({ source, spec, names }) => {
    const { read, complete, list: _, ...rest } = spec;
    mustBeFunction(read, "read", `The resource template "${source}"`);
    if (complete) completers.set(`resource ${source}`, complete);
    for (const name of Object.keys(complete ?? {})) {
      if (names.includes(name)) continue;
      throw new Error(
        `The resource template "${source}" completes "${name}", which is not one of its variables.`,
      );
    }
    return { uriTemplate: source, ...rest };
  });
  const lists = Object.values(templates).flatMap(({ list }) => list ?? []);
  const all = async () =>
    [fixed, ...(await Promise.all(lists.map(async (list) => list(context))))].flat();
  return {
    ...(lists.length === 0
      ? fixed.length > 0 && listing("list_resources", "resources", () => fixed)
      : {
          list_resources: async () => json({ resources: await all() }, "The list of resources"),
        }),
    ...(listed.length > 0 && listing("list_resource_templates", "resourceTemplates", () => listed)),
    read_resource: (input) => {
      const uri = String(request(input)["uri"]);
      running.what = `The resource ${uri}`;
      const resource = entry(resources, uri);
      if (resource) {
        return after(resource.read(uri, context), (value) =>
          readResult(value, uri, resource.mimeType),
        );
      }
      for (const { match, spec } of matchers) {
        const variables = match(uri);
        if (!variables) continue;
        return after(spec.read(uri, variables, context), (value) =>
          readResult(value, uri, spec.mimeType),
        );
      }
      throw new RpcError(INVALID_PARAMS, `There is no resource ${uri}.`, { uri });
    },
  };
}

function promptAnswers(
  prompts: NonNullable<AnySpec["prompts"]>,
  completers: Map<string, Record<string, Complete>>,
  listing: Listing,
): Record<string, ExportHandler> {
  const entries = Object.entries(prompts).map(([name, prompt]) => {
    mustBeFunction(prompt.get, "get", `The prompt "${name}"`);
    const { get: _, arguments: declared = {}, ...rest } = prompt;
    const own: Record<string, Complete> = {};
    const args = Object.entries(declared).map(([argument, { complete, ...described }]) => {
      if (complete) own[argument] = complete;
      return { name: argument, ...described };
    });
    if (some(own)) completers.set(`prompt ${name}`, own);
    return { name, ...rest, ...(args.length > 0 && { arguments: args }) };
  });
  return {
    ...listing("list_prompts", "prompts", () => entries),
    get_prompt: (input) => {
      const { name: given, arguments: args = {} } = request(input);
      const name = String(given);
      const prompt = entry(prompts, name);
      if (!prompt) throw new RpcError(INVALID_PARAMS, `There is no prompt "${name}".`);
      running.what = `The prompt "${name}"`;
      const values = args as Record<string, string>;
      for (const [argument, { required }] of Object.entries(prompt.arguments ?? {})) {
        if (!required || entry(values, argument) !== undefined) continue;
        throw new RpcError(
          INVALID_PARAMS,
          `The prompt "${name}" needs the argument "${argument}".`,
        );
      }
      return after(prompt.get(values, context), (value) =>
        promptResult(value, name, prompt.description),
      );
    },
  };
}

function scheduleAnswers(specs: Record<string, ScheduleSpec>): Record<string, ExportHandler> {
  const runs = mapped(specs, (name, { run }) => {
    mustBeFunction(run, "run", `The schedule "${name}"`);
    return run;
  });
  return {
    run_schedule: (input) => {
      const { name: given, due, missed } = request(input);
      const name = String(given);
      const run = entry(runs, name);
      if (!run) throw new RpcError(INVALID_PARAMS, `There is no schedule "${name}".`);
      running.what = `The schedule "${name}"`;
      const time = { due: new Date(String(due)), missed: Number(missed) };
      return after(run(context, time), (value) => toolResult(false, name, value ?? null));
    },
  };
}

function completion(completers: Map<string, Record<string, Complete>>, input: Json): unknown {
  const { ref, argument, context: beside } = request(input);
  const { type, name, uri } = ref as Record<string, string | undefined>;
  const { name: which = "", value = "" } = argument as Record<string, string | undefined>;
  const kind = type === "prompt" || type === "ref/prompt" ? `prompt ${name}` : `resource ${uri}`;
  const complete = entry(completers.get(kind) ?? {}, which);
  const settled = isObject(beside) && isObject(beside["arguments"]) ? beside["arguments"] : {};
  const found = complete?.(value, { arguments: settled as Record<string, string> }) ?? [];
  return after(found, (completed) =>
    json(
      { completion: Array.isArray(completed) ? { values: completed } : completed },
      "The completion",
    ),
  );
}
