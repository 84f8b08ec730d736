/** `fastmcp` for TypeScript. */
import { context } from "../context.ts";
import { ToolError } from "../schema.ts";
import type { ToolSpec } from "../specs.ts";
import { template as templateOf } from "../templates.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { inspect } from "../globals/inspect.ts";
import { authInfo, elicit, log } from "./extra.ts";
import { framework } from "./http.ts";
import { change, offer, type Json, type Offer } from "./registry.ts";
import { listed } from "./mcp-server.ts";
import { schemaOf } from "./schemas.ts";

type Callback = (...given: unknown[]) => unknown;
type Named = Json & { name: string };

/** An error whose message the caller gets. */
export class UserError extends ToolError {
  readonly extras: unknown;

  constructor(message: string, extras?: unknown) {
    super(message);
    this.extras = extras;
  }
}
export class UnexpectedStateError extends UserError {}

const LEVELS = { debug: "debug", error: "error", info: "info", warn: "warning" } as const;

const logs = Object.fromEntries(
  Object.entries(LEVELS).map(([name, level]) => [
    name,
    (message: string, data?: unknown) =>
      log({ level, data: data === undefined ? message : { message, context: data } }),
  ]),
);

/** The second argument of a tool's `execute`. */
const toolContext = () => ({
  log: logs,
  elicit,
  client: { version: context.client },
  requestId: String(context.id),
  sessionId: (context.client as { session?: string }).session,
  session: authInfo(),
  reportProgress: async ({ progress, total }: { progress: number; total?: number }) =>
    context.progress(progress, total),
  /** Logs the content to the client: MCP has no notification for a part of a result. */
  streamContent: async (content: unknown) =>
    log({ level: "info", data: typeof content === "string" ? content : textOf(content) }),
});

const textOf = (content: unknown): unknown =>
  isObject(content) && content["type"] === "text" ? content["text"] : inspect(content);

interface OpenTemplate extends Json {
  uriTemplate: string;
  arguments?: { name: string; complete?: Callback }[];
  load: Callback;
}

export class FastMCP implements Offer {
  readonly handlers = new Map<string, never>();
  readonly oninitialized = undefined;
  readonly options: Named & { instructions?: string };
  readonly sessions: unknown[] = [];
  readonly #tools = new Map<string, Named>();
  readonly #resources = new Map<string, Json>();
  readonly #templates = new Map<string, OpenTemplate>();
  readonly #prompts = new Map<string, Named>();

  constructor(options: Named & { instructions?: string; authenticate?: unknown }) {
    this.options = options;
    if (options.authenticate !== undefined) {
      throw new Error(
        "`authenticate` is not kept here, and without it the tools would be open: sign-in is the server's (docs/access.md). Remove it.",
      );
    }
  }
  get name() {
    return this.options.name;
  }
  get instructions() {
    return this.options.instructions;
  }

  addTool(tool: Named): void {
    if (tool["canAccess"] !== undefined) {
      throw new Error(
        `The tool ${tool.name} has \`canAccess\`, which is not kept here, and without it the tool would be open: let the scopes of the server decide (docs/access.md). Remove it.`,
      );
    }
    this.#tools.set(tool.name, tool);
    change();
  }
  addTools(tools: Named[]): void {
    for (const tool of tools) this.addTool(tool);
  }
  addResource(resource: Json & { uri: string }): void {
    this.#resources.set(resource.uri, resource);
    change();
  }
  addResources(resources: (Json & { uri: string })[]): void {
    for (const resource of resources) this.addResource(resource);
  }
  addResourceTemplate(template: OpenTemplate): void {
    this.#templates.set(template.uriTemplate, template);
    change();
  }
  addResourceTemplates(templates: OpenTemplate[]): void {
    for (const template of templates) this.addResourceTemplate(template);
  }
  addPrompt(prompt: Named): void {
    this.#prompts.set(prompt.name, prompt);
    change();
  }
  addPrompts(prompts: Named[]): void {
    for (const prompt of prompts) this.addPrompt(prompt);
  }
  removeTool(name: string): void {
    if (this.#tools.delete(name)) change();
  }
  removeResource(uri: string): void {
    if (this.#resources.delete(uri)) change();
  }
  removeResourceTemplate(template: string): void {
    if (this.#templates.delete(template)) change();
  }
  removePrompt(name: string): void {
    if (this.#prompts.delete(name)) change();
  }

  /** The contents of one of the server's resources, for an embedded resource. */
  async embedded(uri: string): Promise<Json> {
    const spec = this.spec();
    const fixed = spec.resources[uri];
    const [content] = (await (fixed ? fixed.read(uri) : this.#fromTemplate(uri))) as Json[];
    return { uri, ...content };
  }
  async #fromTemplate(uri: string): Promise<unknown> {
    for (const [source, template] of this.#templates) {
      const { match } = templateOf(source);
      const variables = match(uri);
      if (variables) return contentsOf(await template.load(variables), template);
    }
    throw new UnexpectedStateError(`Resource not found: ${uri}`, { uri });
  }

  async start(_options?: object): Promise<void> {
    offer(this);
  }
  async stop(): Promise<void> {}
  on(): this {
    return this;
  }
  off(): this {
    return this;
  }
  once(): this {
    return this;
  }
  getApp(): unknown {
    return framework;
  }

  spec() {
    return {
      tools: mapped(this.#tools, (tool) => toolOf(tool)),
      resources: mapped(this.#resources, (resource) => ({
        ...(without(resource, ["load", "complete", "uri"]) as { name: string }),
        read: async (_uri: string) =>
          contentsOf(await (resource["load"] as Callback)(), resource) as never,
      })),
      resourceTemplates: mapped(this.#templates, (template) => {
        const { load, arguments: args = [] } = template;
        return {
          ...(without(template, ["load", "arguments", "uriTemplate"]) as { name: string }),
          ...completersOf(args),
          read: async (_uri: string, variables: object) =>
            contentsOf(await load(variables), template) as never,
        };
      }),
      prompts: mapped(this.#prompts, (prompt) => ({
        ...without(prompt, ["load", "arguments", "name"]),
        arguments: Object.fromEntries(
          ((prompt["arguments"] ?? []) as Named[]).map(
            ({ name, enum: options, complete, ...described }) => [
              name,
              { ...described, ...completerOf(complete, options) },
            ],
          ),
        ) as never,
        get: async (values: unknown) => (await (prompt["load"] as Callback)(values)) as never,
      })),
    };
  }
}

const without = (members: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

const mapped = <T, U>(all: ReadonlyMap<string, T>, make: (one: T) => U): Record<string, U> =>
  Object.fromEntries([...all].map(([key, one]) => [key, make(one)]));

function toolOf(tool: Named): ToolSpec {
  const { name, parameters, outputSchema, execute, timeoutMs } = tool;
  const what = `The schema of the tool ${name}`;
  const [input, output] = [schemaOf(parameters, what), schemaOf(outputSchema, what)];
  return {
    ...listed(tool, ["description", "annotations", "_meta"]),
    input: input ?? { type: "object", properties: {} },
    ...(output !== undefined && { output }),
    handler: async (args: unknown) => {
      const running = (execute as Callback)(args, toolContext());
      const limit = typeof timeoutMs === "number" ? inTime(timeoutMs, name) : undefined;
      const result = await (limit === undefined ? running : Promise.race([running, limit]));
      return result ?? null;
    },
  };
}

async function inTime(ms: number, name: string): Promise<never> {
  await context.sleep(ms);
  throw new UserError(`Tool '${name}' timed out after ${ms}ms.`);
}

function contentsOf(loaded: unknown, { mimeType }: Json): Json[] {
  const all: unknown[] = Array.isArray(loaded) ? loaded : [loaded];
  return all.map((one) => ({
    ...(mimeType !== undefined && { mimeType }),
    ...(isObject(one) ? one : { text: String(one) }),
  }));
}

function completersOf(args: { name: string; complete?: Callback }[]) {
  const found = args.flatMap(({ name, complete }) => {
    const { complete: completer } = completerOf(complete, undefined);
    return completer === undefined ? [] : [[name, completer] as const];
  });
  return found.length === 0 ? {} : { complete: Object.fromEntries(found) };
}

function completerOf(complete: unknown, options: unknown) {
  if (typeof complete !== "function" && !Array.isArray(options)) return {};
  return {
    complete: async (value: string) => {
      if (typeof complete !== "function") {
        return (options as string[]).filter((one) => one.startsWith(value));
      }
      const { values } = (await (complete as Callback)(value)) as { values: string[] };
      return values;
    },
  };
}

/** An image or a sound as content, from a URL or from bytes. */
const content =
  (type: "image" | "audio", fallback: string) =>
  async (given: { url?: string; buffer?: Uint8Array; path?: string }) => {
    const response = given.url === undefined ? undefined : await fetch(given.url);
    const data = given.buffer ?? (await response?.bytes());
    if (data === undefined) throw new UserError("Give a url or a buffer: a servlet has no files.");
    const mimeType = response?.headers.get("content-type") ?? fallback;
    return { type, data: new Uint8Array(data).toBase64(), mimeType };
  };
export const imageContent = content("image", "image/png");
export const audioContent = content("audio", "audio/mpeg");
