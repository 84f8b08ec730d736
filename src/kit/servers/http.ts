/** HTTP frameworks with which servers serve MCP themselves: they register the server that a route makes, and serve nothing. */
import { offerLater } from "./registry.ts";

type Callback = (...given: unknown[]) => unknown;

/** Paths for MCP, health checks and metadata, which need no warning. */
const OWN_PATHS =
  /^(?:\/?|\*|\/(?:[\w-]+\/)*(?:mcp|sse|messages?|health\w*|ping|status)|\/\.well-known\/.*)$/;

const told = new Set<string>();

function noteRoute(path: unknown, handlers: unknown[]): void {
  const where = typeof path === "string" ? path : String(path);
  if (!OWN_PATHS.test(where) && !told.has(where)) {
    told.add(where);
    console.warn(`The server serves HTTP itself: the route ${where} is not reachable.`);
  }
  const last = handlers.flat().findLast((one) => typeof one === "function");
  // The route for MCP may make a server for each request.
  if (last !== undefined && /mcp|sse|^\/$|^\*$/.test(where)) {
    offerLater(() => (last as Callback)(request(), response()));
  }
}

/** A placeholder request, with the members of Node's, express's and hono's requests. */
function request(): unknown {
  const raw = new Request("https://servlet.invalid/mcp", { method: "POST" });
  const header = (name?: string) => (name === undefined ? {} : undefined);
  const members = {
    method: "POST",
    url: "/mcp",
    path: "/mcp",
    body: {},
    query: {},
    params: {},
    headers: {},
    header,
    get: header,
    on() {},
    once() {},
    raw,
    req: { raw, header, json: async () => ({}) },
    json: (value: unknown) => new Response(JSON.stringify(value)),
    env: {},
    set() {},
    var: {},
    text: (value: string) => new Response(value),
  };
  return members;
}

/** A placeholder response: every method returns the response. */
function response(): unknown {
  const self: unknown = new Proxy(
    {},
    {
      get: (_, name) => (name === "then" ? undefined : name === "headersSent" ? false : () => self),
    },
  );
  return self;
}

/** A placeholder application: it records routes, and every other use returns the application. */
function application(): unknown {
  const routes = new Set(["get", "post", "put", "delete", "patch", "options", "all", "use", "on"]);
  const self: unknown = new Proxy(() => {}, {
    get: (_, name) => {
      if (name === "then" || typeof name !== "string") return undefined;
      if (name === "fetch") return async () => new Response();
      if (name === "listen") return listen;
      if (name === "address") return () => ({ port: 0, address: "", family: "IPv4" });
      return (...given: unknown[]) => {
        if (routes.has(name) && typeof given[0] === "string") noteRoute(given[0], given.slice(1));
        if (name === "route" && typeof given[0] === "string") return routed(given[0]);
        return self;
      };
    },
    apply: () => self,
    construct: () => self as object,
  });
  const routed = (path: string): unknown =>
    new Proxy(
      {},
      {
        get:
          () =>
          (...handlers: unknown[]) => (noteRoute(path, handlers), routed(path)),
      },
    );
  const listen = (): unknown => self;
  return self;
}

/** The export of such a package: a function or class whose every use returns an application. */
export const framework: unknown = new Proxy(application() as object, {
  get: (of, name) => {
    if (name === "default" || name === "Hono" || name === "Router") return framework;
    if (name === "json" || name === "urlencoded" || name === "static" || name === "raw") {
      return () => () => {};
    }
    return Reflect.get(of, name) as unknown;
  },
});

export default framework;
export const Hono = framework;
export const Router = framework;
export const createMcpExpressApp = application;
export const createMcpHonoApp = application;
export const createMcpFastifyApp = application;

/** Middleware and options without effect here. */
const middleware = () => (): void => {};
export const cors = middleware;
export const json = middleware;
export const urlencoded = middleware;
export const hostHeaderValidation = middleware;
export const localhostHostValidation = middleware;
export const mcpAuthRouter = middleware;
export const mcpAuthMetadataRouter = middleware;
export const requireBearerAuth = middleware;
export const toNodeHandler = middleware;
export class ProxyOAuthServerProvider {}

/** `serve` of `@hono/node-server`, and `createServer` of Node. */
export const serve = application;

export function createServer(...given: unknown[]): unknown {
  const handler = given.findLast((one) => typeof one === "function");
  if (handler !== undefined) offerLater(() => (handler as Callback)(request(), response()));
  return application();
}
