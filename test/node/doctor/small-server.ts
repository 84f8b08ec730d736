/** A small MCP server in Node, of which a test lets one part misbehave. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

/** Answers a request, or leaves it to the rest of the server: returns false. */
type Odd = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

export const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

/** A stream that begins at once, and is kept alive until its client leaves. */
function stream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: {}\n\n");
  const timer = setInterval(() => response.write(": keep-alive\n\n"), 5);
  response.on("close", () => clearInterval(timer));
}

const RESULTS: Readonly<Record<string, (params: any) => object>> = {
  ping: () => ({}),
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: {}, serverInfo: {} }),
  "server/discover": () => ({ supportedVersions: ["2026-07-28"] }),
  "tools/list": () => ({
    tools: [
      { name: "write", inputSchema: { type: "object" } },
      { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
    ],
  }),
  "tools/call": ({ name }) => ({ content: [{ type: "text", text: name }] }),
};

const answer: Handler = ({ method, url = "" }, response, body) => {
  const path = url.replace(/\?.*|\/$/g, "");
  if (path === "/health") return json(response, { name: "small", version: "1.0.0" });
  if (path !== "/mcp") return json(response, {}, 404);
  if (method === "GET") return stream(response);
  const { id, method: asked = "", params } = JSON.parse(body || "{}");
  if (asked === "subscriptions/listen") return stream(response);
  if (id === undefined) return response.writeHead(202).end();
  return json(response, { jsonrpc: "2.0", id, result: RESULTS[asked]!(params) });
};

/** Serves for one test; returns the origin. With a certificate, over https at localhost. */
export async function smallServer(
  odd: Odd = () => false,
  tls?: { key: string; cert: string },
): Promise<string> {
  const listener: RequestListener = (request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => {
      if (odd(request, response, body) === false) answer(request, response, body);
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
}

const RESOURCE = "/.well-known/oauth-protected-resource";
const SERVER = "/.well-known/oauth-authorization-server";

/** The parts of a sign-in that a test may change. */
interface SignIn {
  challenge?: string;
  resource?: object;
  metadata?: object;
  /** The redirect addresses that can register; all by default. */
  takes?(redirect: string): boolean;
  /** The status of every registration, if it fails. */
  registers?: number;
  /** The answer of the sign-in page. */
  page?: Handler;
  deleted?: string[];
  /** The origin at which clients are deleted; the server's own by default. */
  deletesAt?: string;
}

/** A server that wants its clients to sign in, at itself. */
export const signingIn = ({
  challenge,
  resource,
  metadata,
  takes,
  registers,
  page,
  deleted,
  deletesAt,
}: SignIn = {}) => {
  const known: string[] = [];
  return smallServer((request, response, body) => {
    const { url = "", method } = request;
    const origin = `http://${request.headers.host}`;
    const { pathname, searchParams } = new URL(url, origin);
    if (pathname.startsWith("/mcp")) {
      const usual = `Bearer resource_metadata="${origin}${RESOURCE}/mcp"`;
      response.setHeader("www-authenticate", challenge ?? usual);
      return json(response, {}, 401);
    }
    if (pathname.startsWith(RESOURCE)) {
      const usual = { resource: `${origin}/mcp`, authorization_servers: [origin] };
      return json(response, { ...usual, ...resource });
    }
    if (pathname === SERVER)
      return json(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ["S256"],
        ...metadata,
      });
    if (pathname === "/register" && method === "POST") {
      if (registers !== undefined) return json(response, {}, registers);
      const { redirect_uris: redirects } = JSON.parse(body) as { redirect_uris: string[] };
      if (takes && !redirects.every(takes))
        return json(response, { error: "invalid_redirect_uri" }, 400);
      known.push(...redirects);
      return json(
        response,
        {
          client_id: "c",
          redirect_uris: redirects,
          ...(deleted && {
            registration_client_uri: `${deletesAt ?? origin}/register/c`,
            registration_access_token: "t",
          }),
        },
        201,
      );
    }
    if (pathname === "/register/c" && method === "DELETE") {
      deleted?.push(String(request.headers.authorization));
      return response.writeHead(204).end();
    }
    if (pathname === "/authorize") {
      if (page !== undefined) return page(request, response, body);
      const isKnown = known.includes(searchParams.get("redirect_uri") ?? "");
      return response
        .writeHead(isKnown ? 200 : 400, { "content-type": "text/html" })
        .end("<h1>Allow?</h1>");
    }
    return false;
  });
};
