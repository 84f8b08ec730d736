/** `McpServer` of the official SDK, of both generations. */
import { running } from "../host.ts";
import type {
  Complete,
  PromptSpec,
  ResourceSpec,
  ResourceTemplateSpec,
  ToolSpec,
} from "../specs.ts";
import { ToolError } from "../schema.ts";
import { template as compiledTemplate } from "../templates.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { ErrorCode, ProtocolError } from "./errors.ts";
import { log } from "./extra.ts";
import { change, type Json } from "./registry.ts";
import { argumentOf, innerOf, isShape, schemaOf, shapeOf } from "./schemas.ts";
import { Server, type ServerInfo, type ServerOptions } from "./server.ts";

type Callback = (...given: unknown[]) => unknown;

/** A registered tool, resource or prompt, with methods to change it later. */
interface Registered {
  [member: string]: unknown;
  callback: Callback;
  enabled: boolean;
  enable(): void;
  disable(): void;
  remove(): void;
  update(updates: Json): void;
}

/** The registrations of one kind, by name or URI. */
class Group {
  readonly all = new Map<string, Registered>();
  readonly #what: string;
  /** The member of updates that contains the new key. */
  readonly #key: string;
  readonly #told: () => unknown;

  constructor(what: string, key: string, told: () => unknown) {
    this.#what = what;
    this.#key = key;
    this.#told = told;
  }

  add(key: string, members: Json & { callback: Callback }): Registered {
    if (this.all.has(key)) throw new Error(`${this.#what} ${key} is already registered`);
    let place = key;
    const one: Registered = {
      ...members,
      get handler() {
        return one.callback;
      },
      get readCallback() {
        return one.callback;
      },
      enabled: true,
      enable: () => one.update({ enabled: true }),
      disable: () => one.update({ enabled: false }),
      remove: () => one.update({ [this.#key]: null }),
      update: ({ [this.#key]: moved, ...updates }) => {
        if (moved !== undefined && moved !== place) {
          this.all.delete(place);
          if (typeof moved === "string") this.all.set((place = moved), one);
        }
        Object.assign(one, Object.fromEntries(given(updates)));
        this.#changed();
      },
    };
    this.all.set(key, one);
    this.#changed();
    return one;
  }

  #changed(): void {
    change();
    this.#told();
  }

  /** Maps the enabled registrations by `make`, by key. */
  enabled<T>(make: (one: Registered, key: string) => T): Record<string, T> {
    const some = [...this.all].filter(([, { enabled }]) => enabled);
    return Object.fromEntries(some.map(([key, one]) => [key, make(one, key)]));
  }
}

const given = (members: Json) => Object.entries(members).filter(([, value]) => value !== undefined);

/** The members of an object that have one of these names and a value. */
export const listed = (one: Json, names: readonly string[]) =>
  Object.fromEntries(given(one).filter(([name]) => names.includes(name)));

const ANY_ARGUMENTS = { type: "object", properties: {} };

const COMPLETABLE = Symbol.for("mcp.completable");

/** Adds completions to the schema of a prompt's argument. */
export function completable<T extends object>(schema: T, complete: Callback): T {
  return Object.defineProperty(schema, COMPLETABLE, { value: { complete }, configurable: true });
}

const completerOf = (schema: unknown): Callback | undefined =>
  isObject(schema)
    ? (schema as { [COMPLETABLE]?: { complete: Callback } })[COMPLETABLE]?.complete
    : undefined;

export const isCompletable = (schema: unknown): boolean => completerOf(schema) !== undefined;

/** A URI template with the callbacks that list its resources and complete its variables. */
export class ResourceTemplate {
  readonly uriTemplate: UriTemplate;
  readonly #callbacks: { list?: Callback; complete?: Record<string, Callback> };

  constructor(
    template: string | UriTemplate,
    callbacks: { list?: Callback; complete?: Record<string, Callback> } = {},
  ) {
    this.uriTemplate = typeof template === "string" ? new UriTemplate(template) : template;
    this.#callbacks = callbacks;
  }
  get listCallback() {
    return this.#callbacks.list;
  }
  completeCallback(variable: string) {
    return this.#callbacks.complete?.[variable];
  }
  get completions() {
    return this.#callbacks.complete ?? {};
  }
}

/** The SDK's `UriTemplate`; matched values stay percent-encoded. */
export class UriTemplate {
  readonly template: string;
  readonly #known: ReturnType<typeof compiledTemplate>;

  constructor(source: string) {
    this.template = source;
    this.#known = compiledTemplate(source);
  }
  static isTemplate(text: string): boolean {
    return /\{[^}\s]+\}/.test(text);
  }
  get variableNames(): string[] {
    return this.#known.names;
  }
  toString(): string {
    return this.template;
  }
  match(uri: string): Record<string, string> | null {
    const variables = this.#known.match(uri, (text) => text);
    // Unlike the kit's, a variable of the path has a value.
    return variables === undefined || Object.values(variables).includes("") ? null : variables;
  }
  expand(variables: Readonly<Record<string, string | string[]>>): string {
    return this.template.replaceAll(
      /\{([+#./?&]?)([^{}]*)\}/g,
      (_, operator: string, names: string) => {
        const encode = operator === "+" || operator === "#" ? encodeURI : encodeURIComponent;
        const isQuery = operator === "?" || operator === "&";
        const values = names.split(",").flatMap((one) => {
          const name = one.trim().replace("*", "");
          const value = variables[name];
          if (value === undefined) return [];
          const text = [value].flat().map(encode).join(",");
          return isQuery ? `${name}=${text}` : text;
        });
        const separator = isQuery ? "&" : operator === "." || operator === "/" ? operator : ",";
        return values.length === 0
          ? ""
          : (operator === "+" ? "" : operator) + values.join(separator);
      },
    );
  }
}

/** `McpServer` of `@modelcontextprotocol/sdk` and of `@modelcontextprotocol/server`. */
export class McpServer {
  readonly server: Server;
  readonly #tools: Group;
  readonly #resources: Group;
  readonly #templates: Group;
  readonly #prompts: Group;

  constructor(info: ServerInfo, options?: ServerOptions) {
    const server = new Server(info, options);
    this.server = server;
    this.#tools = new Group("Tool", "name", () => this.sendToolListChanged());
    this.#resources = new Group("Resource", "uri", () => this.sendResourceListChanged());
    this.#templates = new Group("Resource template", "name", () => this.sendResourceListChanged());
    this.#prompts = new Group("Prompt", "name", () => this.sendPromptListChanged());
    server.spec = () => ({
      tools: this.#tools.enabled((one, name) => this.#toolOf(one, name)),
      resources: this.#resources.enabled((one) => this.#resourceOf(one)),
      resourceTemplates: Object.fromEntries(
        Object.entries(this.#templates.enabled((one, name) => this.#templateOf(one, name))).map(
          ([, { source, spec }]) => [source, spec],
        ),
      ),
      prompts: this.#prompts.enabled((one, name) => this.#promptOf(one, name)),
    });
  }

  connect(transport?: unknown): Promise<void> {
    return this.server.connect(transport);
  }
  close(): Promise<void> {
    return this.server.close();
  }
  isConnected(): boolean {
    return this.server.transport !== undefined;
  }
  async sendLoggingMessage(params: Json): Promise<void> {
    log(params);
  }
  sendToolListChanged(): void {
    if (running.call) void this.server.sendToolListChanged();
  }
  sendResourceListChanged(): void {
    if (running.call) void this.server.sendResourceListChanged();
  }
  sendPromptListChanged(): void {
    if (running.call) void this.server.sendPromptListChanged();
  }

  registerTool(name: string, config: Json, callback: Callback): Registered {
    const { inputSchema, outputSchema, ...rest } = config;
    const what = `The schema of the tool ${name}`;
    const [input, output] = [schemaOf(inputSchema, what), schemaOf(outputSchema, what)];
    return this.#tools.add(name, { ...rest, inputSchema: input, outputSchema: output, callback });
  }

  registerResource(
    name: string,
    place: string | ResourceTemplate,
    metadata: Json,
    callback: Callback,
  ): Registered {
    const members = { name, metadata, callback };
    if (typeof place === "string") return this.#resources.add(place, members);
    return this.#templates.add(name, { ...members, template: place });
  }

  registerPrompt(name: string, config: Json, callback: Callback): Registered {
    const { argsSchema, ...rest } = config;
    const schema = schemaOf(argsSchema, `The schema of the prompt ${name}`);
    return this.#prompts.add(name, { ...rest, argsSchema: schema, callback });
  }

  /** The deprecated signature: a name, an optional description, shape and annotations, and the callback. */
  tool(name: string, ...rest: unknown[]): Registered {
    const callback = rest.pop() as Callback;
    const description = typeof rest[0] === "string" ? rest.shift() : undefined;
    const inputSchema = isShape(rest[0]) ? rest.shift() : undefined;
    const annotations = rest.shift();
    if (isObject(annotations) && Object.values(annotations).some(isObject)) {
      throw new Error(
        `Tool ${name} expected a Zod schema or ToolAnnotations, but received an unrecognized object`,
      );
    }
    return this.registerTool(name, { description, inputSchema, annotations }, callback);
  }

  resource(name: string, place: string | ResourceTemplate, ...rest: unknown[]): Registered {
    const callback = rest.pop() as Callback;
    return this.registerResource(name, place, (rest[0] ?? {}) as Json, callback);
  }

  prompt(name: string, ...rest: unknown[]): Registered {
    const callback = rest.pop() as Callback;
    const description = typeof rest[0] === "string" ? rest.shift() : undefined;
    return this.registerPrompt(name, { description, argsSchema: rest[0] }, callback);
  }

  get experimental() {
    const registerToolTask = (name: string): never => {
      throw new Error(
        `Tasks are the server's: register ${name} by registerTool, and the server makes a task of a call that waits.`,
      );
    };
    return { tasks: { registerToolTask } };
  }

  #toolOf(one: Registered, name: string): ToolSpec {
    const { callback, inputSchema, outputSchema, paramsSchema = inputSchema } = one;
    const input = schemaOf(paramsSchema, `The schema of the tool ${name}`);
    return {
      ...listed(one, ["title", "description", "annotations", "icons", "_meta"]),
      input: input ?? ANY_ARGUMENTS,
      ...(outputSchema !== undefined && { output: outputSchema }),
      handler: async (args: unknown) => {
        try {
          const ready = this.server.extraFor("tools/call");
          const extra = ready instanceof Promise ? await ready : ready;
          const result = input === undefined ? callback(extra) : callback(args, extra);
          return requireStructured(await result, outputSchema, name) as never;
        } catch (error) {
          if (!(error instanceof ProtocolError)) throw error;
          if (error.code === ErrorCode.UrlElicitationRequired) throw error;
          // The SDK turns a tool's protocol error into an error result.
          throw new ToolError(error.message);
        }
      },
    };
  }

  #resourceOf({ name, metadata, callback }: Registered): ResourceSpec {
    return {
      name: name as string,
      ...(metadata as Json),
      read: async (uri) =>
        callback(new URL(uri), await this.server.extraFor("resources/read")) as never,
    };
  }

  #templateOf(one: Registered, name: string): { source: string; spec: ResourceTemplateSpec } {
    const { metadata, callback } = one;
    const by = one["template"] as ResourceTemplate;
    const extra = (method: string) => this.server.extraFor(method);
    const { listCallback, completions, uriTemplate } = by;
    const complete = Object.entries(completions).map(([variable, found]) => [
      variable,
      completeBy(found),
    ]);
    const list = async () => {
      const found = (await listCallback!(await extra("resources/list"))) as { resources: Json[] };
      return found.resources.map((each) => ({ ...(metadata as Json), ...each }));
    };
    const spec = {
      name,
      ...(metadata as Json),
      read: async (uri: string) =>
        callback(new URL(uri), matched(uriTemplate, uri), await extra("resources/read")),
      ...(listCallback && { list }),
      ...(complete.length > 0 && { complete: Object.fromEntries(complete) as object }),
    };
    return { source: uriTemplate.toString(), spec: spec as never };
  }

  #promptOf(one: Registered, name: string): PromptSpec<Record<string, unknown>> {
    const { callback, argsSchema } = one;
    const schema = schemaOf(argsSchema, `The schema of the prompt ${name}`);
    const shape = shapeOf(schema) ?? {};
    const extra = () => this.server.extraFor("prompts/get");
    const args = Object.entries(shape).map(([argument, member]) => {
      const completer = completerOf(member) ?? completerOf(innerOf(member));
      const complete = completer && { complete: completeBy(completer) };
      return [argument, { ...argumentOf(member), ...complete }];
    });
    return {
      ...listed(one, ["title", "description", "icons", "_meta"]),
      ...(args.length > 0 && { arguments: Object.fromEntries(args) as never }),
      get: async (values: unknown) => {
        if (schema === undefined) return callback(await extra()) as never;
        return callback(await settled(schema, values, name), await extra()) as never;
      },
    };
  }
}

function matched(template: UriTemplate, uri: string): Record<string, string> {
  const variables = template.match(uri);
  if (variables === null)
    throw new ProtocolError(ErrorCode.InvalidParams, `Resource ${uri} not found`);
  return variables;
}

/** Returns the result. Throws the SDK's error if it lacks `structuredContent` although the tool has an output schema. */
function requireStructured(result: unknown, outputSchema: unknown, name: string): unknown {
  const { isError, structuredContent, resultType } = isObject(result) ? result : {};
  const isWhole = isError === true || resultType === "input_required";
  if (outputSchema === undefined || isWhole || structuredContent !== undefined) return result;
  throw new ToolError(
    `Output validation error: Tool ${name} has an output schema but no structured content was provided`,
  );
}

/** The arguments of a prompt after the schema's defaults and transforms. */
async function settled(schema: object, values: unknown, name: string): Promise<unknown> {
  if (!("~standard" in schema)) return values;
  const { validate } = schema["~standard"] as {
    validate(value: unknown): Promise<{ value?: unknown; issues?: { message: string }[] }>;
  };
  const { value, issues } = await validate(values);
  if (!issues) return value;
  const why = issues.map(({ message }) => message).join("; ");
  throw new ProtocolError(ErrorCode.InvalidParams, `Invalid arguments for prompt ${name}: ${why}`);
}

/** Maximum number of completions that a client gets. */
const COMPLETIONS = 100;

const completeBy =
  (complete: Callback): Complete =>
  async (value, { arguments: before }) =>
    completed((await complete(value, { arguments: before })) as string[]) as never;

const completed = (all: readonly string[]) => ({
  values: all.slice(0, COMPLETIONS),
  total: all.length,
  hasMore: all.length > COMPLETIONS,
});
