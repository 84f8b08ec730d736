/** HTTP handlers that SDKs make from a server or its factory: they register the server, and serve nothing. */
import { McpServer } from "./mcp-server.ts";
import { noteServer, offerLater } from "./registry.ts";
import type { ServerInfo, ServerOptions } from "./server.ts";

type Callback = (...given: unknown[]) => unknown;

/** A handler that calls `serve` and answers every request with an empty response. */
function handlerOf(serve: () => unknown) {
  const fetch = async (..._given: unknown[]): Promise<Response> => {
    await serve();
    return new Response();
  };
  const nothing = async (): Promise<void> => {};
  const notify = new Proxy({}, { get: () => nothing });
  return Object.assign(fetch, { fetch, close: nothing, notify, bus: {} });
}

/** A function that calls a factory once and registers the server that it makes. */
export function factoryOf(factory: unknown): () => Promise<void> {
  let made: Promise<void> | undefined;
  const make = async (): Promise<void> => {
    const request = { era: "modern", authInfo: undefined, requestInfo: undefined };
    noteServer(typeof factory === "function" ? await (factory as Callback)(request) : factory);
  };
  return () => (made ??= make());
}

/** `createMcpHandler` of `@modelcontextprotocol/server` and of `agents`; takes a server or its factory. */
export function createMcpHandler(factory: unknown, _options?: object) {
  const make = factoryOf(factory);
  offerLater(make);
  return handlerOf(make);
}

/** `serveStdio` of `@modelcontextprotocol/server/stdio`. */
export async function serveStdio(factory: unknown, _options?: object) {
  await factoryOf(factory)();
  return { close: async (): Promise<void> => {} };
}

/** `createMcpHandler` of `mcp-handler`: `initialize` gets the server and registers tools, resources and prompts. */
export function createVercelHandler(
  initialize: Callback,
  options: { serverInfo?: ServerInfo } & ServerOptions = {},
  _config?: object,
) {
  const info = { name: "mcp-handler", version: "1.0.0", ...options.serverInfo };
  const make = factoryOf(async () => {
    const server = new McpServer(info, options);
    await initialize(server);
    return server;
  });
  offerLater(make);
  return handlerOf(make);
}

/** `withMcpAuth` of `mcp-handler`: the server handles sign-in, in front of its servlets. */
export const withMcpAuth = (handler: unknown): unknown => handler;

const notServed = (): (() => Response) => () => new Response(undefined, { status: 404 });
export const protectedResourceHandler = notServed;
export const metadataCorsOptionsRequestHandler = notServed;
