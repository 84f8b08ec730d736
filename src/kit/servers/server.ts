/** `Server`, the low-level server of the official SDK, for both generations. */
import { context } from "../context.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { RpcError } from "../run.ts";
import { asProtocolError } from "./errors.ts";
import {
  ask,
  clientCapabilities,
  clientVersion,
  elicit,
  type Extra,
  extraOf,
  log,
  notify,
} from "./extra.ts";
import { change, offer, type Json, type MethodHandler, type Offer } from "./registry.ts";
import type { AnySpec } from "../answers.ts";

/** Methods that the server of servlets answers itself: a handler for them is never called. */
const OWN = new Set([
  "initialize",
  "notifications/cancelled",
  "notifications/initialized",
  "logging/setLevel",
  "ping",
  "resources/subscribe",
  "resources/unsubscribe",
  "server/discover",
  "subscriptions/listen",
]);

/** The exports that answer a servlet's methods, by method. */
export const EXPORTS: Readonly<Record<string, string>> = {
  "tools/list": "list_tools",
  "tools/call": "call_tool",
  "resources/list": "list_resources",
  "resources/templates/list": "list_resource_templates",
  "resources/read": "read_resource",
  "prompts/list": "list_prompts",
  "prompts/get": "get_prompt",
  "completion/complete": "complete",
  "notifications/roots/list_changed": "on_roots_list_changed",
};

export interface ServerInfo {
  name: string;
  version: string;
  [member: string]: unknown;
}

export interface ServerOptions {
  capabilities?: Json;
  instructions?: string;
  requestState?: { verify?: (state: string, context: unknown) => unknown };
}

type Callback = (...given: unknown[]) => unknown;

/** `Server` of `@modelcontextprotocol/sdk` and of `@modelcontextprotocol/server`. */
export class Server implements Offer {
  readonly handlers = new Map<string, MethodHandler>();
  readonly info: ServerInfo;
  readonly options: ServerOptions;
  transport: unknown;
  oninitialized: (() => unknown) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  fallbackRequestHandler: unknown;
  fallbackNotificationHandler: unknown;
  /** Set by the high-level server that uses this server. */
  spec: () => AnySpec = () => ({});

  constructor(info: ServerInfo, options: ServerOptions = {}) {
    this.info = info;
    this.options = options;
  }

  /** The last argument of the author's handlers; a `requestState` is verified first. */
  extraFor(method: string): Extra | Promise<Extra> {
    const verify = this.options.requestState?.verify;
    const state = context.requestState;
    if (verify === undefined || state === undefined) return extraOf(method);
    return Promise.resolve(verify(state, extraOf(method))).then(
      (verified) => extraOf(method, verified),
      () => {
        throw new RpcError(-32602, "The state of the call is not the server's.");
      },
    );
  }

  get name() {
    return this.info.name;
  }
  get instructions() {
    return this.options.instructions;
  }

  async connect(transport?: unknown): Promise<void> {
    this.transport = transport ?? {};
    offer(this);
  }
  async close(): Promise<void> {}

  private handle(method: string, handler: MethodHandler): void {
    if (OWN.has(method)) return;
    if (EXPORTS[method] === undefined) {
      console.warn(`The server of servlets does not serve the method ${method}.`);
      return;
    }
    this.handlers.set(method, async (params) => {
      try {
        return await handler(params);
      } catch (error) {
        throw asProtocolError(error);
      }
    });
    change();
  }
  /** `which` is a method or its request schema; the handler gets the whole request or, with further schemas, its params. */
  setRequestHandler(which: unknown, ...rest: [...object[], Callback]): void {
    const method = methodOf(which);
    const handler = rest.at(-1) as Callback;
    const isOfParams = rest.length > 1;
    this.handle(method, async (params) =>
      handler(isOfParams ? params : { method, params }, await this.extraFor(method)),
    );
  }
  setNotificationHandler(which: unknown, ...rest: [...object[], Callback]): void {
    this.setRequestHandler(which, ...rest);
  }
  removeRequestHandler(method: string): void {
    this.handlers.delete(method);
    change();
  }
  assertCanSetRequestHandler(method: string): void {
    if (this.handlers.has(method)) {
      throw new Error(`A request handler for ${method} already exists, which would be overridden`);
    }
  }
  registerCapabilities(capabilities: Json): void {
    Object.assign((this.options.capabilities ??= {}), capabilities);
  }
  getCapabilities(): Json {
    return this.options.capabilities ?? {};
  }
  getClientCapabilities = clientCapabilities;
  getClientVersion = clientVersion;
  getNegotiatedProtocolVersion = (): string | undefined => context.client.protocolVersion;

  request(request: { method: string; params?: Json }, _schema?: unknown, options?: object) {
    return ask(request, options);
  }
  async ping(): Promise<object> {
    return {};
  }
  createMessage(params: Json): Promise<unknown> {
    return ask({ method: "sampling/createMessage", params });
  }
  listRoots(): Promise<unknown> {
    return ask({ method: "roots/list" });
  }
  elicitInput = elicit;
  createElicitationCompletionNotifier(elicitationId: string): () => Promise<void> {
    const params = { elicitationId };
    return () => notify({ method: "notifications/elicitation/complete", params });
  }
  notification = notify;
  async sendLoggingMessage(params: Json): Promise<void> {
    log(params);
  }
  sendResourceUpdated(params: Json): Promise<void> {
    return notify({ method: "notifications/resources/updated", params });
  }
  sendResourceListChanged = () => notify({ method: "notifications/resources/list_changed" });
  sendToolListChanged = () => notify({ method: "notifications/tools/list_changed" });
  sendPromptListChanged = () => notify({ method: "notifications/prompts/list_changed" });
  projectCallToolResult = (result: unknown): unknown => result;
  /** Empty: the server makes a task of each call that waits. */
  readonly experimental = { tasks: {} };
}

/** The method itself, or the method literal in a request schema of the SDK or of zod. */
function methodOf(schema: unknown): string {
  if (typeof schema === "string") return schema;
  if (isObject(schema) && typeof schema["method"] === "string") return schema["method"];
  const shape = partOf(schema, "shape") ?? partOf(partOf(schema, "_def"), "shape");
  const method = partOf(typeof shape === "function" ? (shape as () => unknown)() : shape, "method");
  const definition = partOf(method, "_def") ?? partOf(partOf(method, "_zod"), "def");
  const values = partOf(definition, "values");
  const found: unknown =
    partOf(definition, "value") ?? (Array.isArray(values) ? values[0] : undefined);
  if (typeof found !== "string") throw new Error("Schema is missing a method literal");
  return found;
}

const partOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
