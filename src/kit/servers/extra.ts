/** The last argument of the official SDK's handlers, and its functions for the running call. */
import { context } from "../context.ts";
import { RpcError } from "../run.ts";
import { jsonSchemaOf } from "../schema.ts";
import type { Json } from "./registry.ts";

interface Request {
  method: string;
  params?: Json;
}

interface Options {
  timeout?: number;
  maxTotalTimeout?: number;
}

/** Sends a request to the client, as the SDK's `request` does. */
export async function ask({ method, params = {} }: Request, options?: Options): Promise<unknown> {
  switch (method) {
    case "elicitation/create":
      return elicit(params, options);
    case "sampling/createMessage":
      return context.sample(params as never);
    case "roots/list":
      return { roots: await context.roots() };
    case "ping":
      return {};
    default:
      throw new RpcError(-32601, `A servlet cannot ask its client for ${method}.`);
  }
}

/** Asks the user to fill in a form or open a page; `requestedSchema` may be a schema of zod. */
export async function elicit(params: Json, options: Options = {}): Promise<unknown> {
  const timeout = options.timeout ?? options.maxTotalTimeout;
  const rest = timeout === undefined ? {} : { timeout };
  if (params["mode"] === "url") {
    const { message, url, elicitationId } = params as Record<string, string>;
    const which = elicitationId === undefined ? {} : { elicitationId };
    return context.elicitUrl({ message: message!, url: url!, ...which, ...rest });
  }
  const schema = jsonSchemaOf(params["requestedSchema"], "input", "The schema of a form");
  return context.elicit({ message: String(params["message"]), schema: schema as never, ...rest });
}

/** Sends a notification to the client, as the SDK's `notification` does. Logs a warning for an unsupported method. */
export async function notify({ method, params = {} }: Request): Promise<void> {
  switch (method) {
    case "notifications/progress": {
      const { progress, total, message } = params as {
        progress: number;
        total?: number;
        message?: string;
      };
      return context.progress(progress, total, message);
    }
    case "notifications/message":
      return log(params);
    case "notifications/tools/list_changed":
      return context.notifyToolsChanged();
    case "notifications/prompts/list_changed":
      return context.notifyPromptsChanged();
    case "notifications/resources/list_changed":
      return context.notifyResourcesChanged();
    case "notifications/resources/updated":
      return context.notifyResourceUpdated(String(params["uri"]));
    case "notifications/elicitation/complete":
      return context.notifyElicitationComplete(String(params["elicitationId"]));
    default:
      console.warn(`Clients get no notification ${method} from a servlet.`);
  }
}

export function log({ level, data, logger }: Json): void {
  context.log(level as never, data, logger as string | undefined);
}

/** The caller; undefined for an anonymous caller. Servlets do not get the caller's token. */
export function authInfo() {
  const { principal } = context.client;
  if (principal === undefined || principal === "anonymous") return undefined;
  return { token: "", clientId: principal, scopes: [], extra: { principal } };
}

export const clientCapabilities = (): Json => context.client.capabilities;

/** The client's name and version; empty if it does not say them, and while lists are learnt. */
export function clientVersion(): { name: string; version: string } {
  const { name = "", version = "" } = context.client;
  return { name, version };
}

/**
 * The last argument of handlers. Those of `@modelcontextprotocol/server` use `mcpReq` and `http`, those of
 * `@modelcontextprotocol/sdk` the other members. All are own members, as authors copy it.
 */
const membersOf = (method: string, verified: unknown) => ({
  get signal() {
    return context.signal;
  },
  get requestId() {
    return context.id;
  },
  get _meta() {
    return context.meta;
  },
  get authInfo() {
    return authInfo();
  },
  /** An opaque id of the session, if there is one. */
  get sessionId() {
    return context.client.session;
  },
  /** Servlets do not see HTTP headers. */
  get requestInfo() {
    return { headers: {} };
  },
  get sendNotification() {
    return notify;
  },
  get sendRequest() {
    return (request: Request, _schema?: unknown, options?: Options) => ask(request, options);
  },
  closeSSEStream(): void {},
  closeStandaloneSSEStream(): void {},

  get http() {
    const info = authInfo();
    return { ...(info && { authInfo: info }), closeSSE() {}, closeStandaloneSSE() {} };
  },
  get mcpReq() {
    const state = verified ?? context.requestState;
    return {
      method,
      id: context.id,
      _meta: context.meta,
      signal: context.signal,
      inputResponses: context.inputResponses,
      requestState: () => state,
      send: ask,
      notify,
      log: async (level: string, data: unknown, logger?: string) => log({ level, data, logger }),
      elicitInput: elicit,
      requestSampling: (params: Json) => ask({ method: "sampling/createMessage", params }),
      listRoots: () => ask({ method: "roots/list" }),
    };
  },
});

export type Extra = ReturnType<typeof membersOf>;

/** As `membersOf`; the members may be replaced, as those of the SDK's. */
function made(method: string, verified?: unknown): Extra {
  const extra = membersOf(method, verified);
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(extra))) {
    if (descriptor.get === undefined) continue;
    const set = (value: unknown) =>
      void Object.defineProperty(extra, key, { ...PLAIN, value, writable: true });
    Object.defineProperty(extra, key, { ...PLAIN, get: descriptor.get, set });
  }
  return extra;
}

const PLAIN = { enumerable: true, configurable: true };

/** Set by the bundle step: true if instances go on to the next call, which must not get what an earlier one has left. */
declare const SERVLET_KEEPS_STATE: boolean;

const METHODS = ["tools/call", "resources/read", "prompts/get", "completion/complete"];

/** By method: their members are about the running call, so they are made when the servlet is built. */
const extras = new Map(
  SERVLET_KEEPS_STATE ? [] : METHODS.map((method) => [method, made(method)] as const),
);

/** The last argument of a handler. `verified` is the `requestState` as the server's `verify` returned it. */
export const extraOf = (method: string, verified?: unknown): Extra =>
  (verified === undefined ? extras.get(method) : undefined) ?? made(method, verified);
