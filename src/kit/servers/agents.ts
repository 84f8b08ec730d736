/** `agents/mcp` and `agents/mcp/server` of Cloudflare. */
export { createMcpHandler, createMcpHandler as experimental_createMcpHandler } from "./handlers.ts";
export { WorkerTransport } from "./transports.ts";
import { context } from "../context.ts";
import { running } from "../host.ts";
import { env } from "./environment.ts";
import { elicit } from "./extra.ts";
import { exportNoters, noteServer, offerLater, type Json } from "./registry.ts";
import type { McpServer } from "./mcp-server.ts";
import type { Server } from "./server.ts";

type AgentClass = new () => McpAgent;

const classes = new Set<unknown>();

/** Registers an agent class that is exported or used for a handler. */
function offerAgent(agent: unknown): void {
  if (classes.has(agent)) return;
  classes.add(agent);
  offerLater(async () => {
    const made = new (agent as AgentClass)();
    await made.onStart(undefined);
    await made.init();
    noteServer(await made.server);
  });
}

/** Registers the value if it is an agent class. */
export function offerAgentsIn(value: unknown): void {
  if (typeof value === "function" && value.prototype instanceof McpAgent) offerAgent(value);
}

exportNoters.push(offerAgentsIn);

/** A handler that is never called. */
const handler = { fetch: async (): Promise<Response> => new Response() };

function lacking(what: string, instead: string): never {
  throw new Error(`A servlet has no ${what}: ${instead}.`);
}

/** An agent's storage, which servlets do not have: every access throws. */
const storage = new Proxy<Record<string, unknown>>(
  {},
  {
    get: () => lacking("ctx.storage", "keep it in this.state, or in files (edge-servlets/files)"),
  },
);

export abstract class McpAgent {
  abstract server: McpServer | Server | Promise<McpServer | Server>;
  abstract init(): unknown;

  initialState: unknown;
  #state: unknown;
  readonly env = env;
  readonly ctx = { storage, waitUntil() {}, id: { name: "servlet" } };

  get name(): string {
    return this.getSessionId();
  }
  /** The caller; other props of `agents` come from its own sign-in, which is not used here. */
  get props(): Json {
    if (!running.call) return {};
    const { principal } = context.client;
    return { principal, userId: principal };
  }
  get state(): unknown {
    return this.#state ?? this.initialState;
  }
  setState(state: unknown): void {
    this.#state = state;
    this.onStateChanged(state, "server");
    this.onStateUpdate(state, "server");
  }
  onStateChanged(_state: unknown, _source: unknown): void {}
  onStateUpdate(_state: unknown, _source: unknown): void {}
  onStart(_props?: unknown): unknown {
    return undefined;
  }
  elicitInput(params: Json, options?: object): Promise<unknown> {
    return elicit(params, options);
  }
  getSessionId(): string {
    return context.client.session ?? "";
  }
  getTransportType(): string {
    return "streamable-http";
  }
  async updateProps(_props: unknown): Promise<void> {}
  async reinitializeServer(): Promise<void> {}
  broadcast(): void {}
  sql(): never {
    return lacking("sql", "keep it in this.state, or in files; sqlite is there in Python");
  }
  schedule(): never {
    return lacking("schedule", "let a client call the tool when it is time");
  }
  queue(): never {
    return lacking("queue", "await the work in the call");
  }

  static serve(this: unknown, _path?: string, _options?: object): typeof handler {
    offerAgent(this);
    return handler;
  }
  static serveSSE(this: unknown, _path?: string, _options?: object): typeof handler {
    offerAgent(this);
    return handler;
  }
  static mount(this: unknown, _path?: string, _options?: object): typeof handler {
    offerAgent(this);
    return handler;
  }
}

/** The signed-in caller; undefined for an anonymous caller. */
export const getMcpAuthContext = (): { props: Json } | undefined =>
  context.client.principal === "anonymous"
    ? undefined
    : { props: { principal: context.client.principal } };
