/** The measure of sessions: the official SDK's server and transport, each pair kept in a Durable Object. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

interface Id {
  toString(): string;
}

export class PeerSession {
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #connected: Promise<void>;

  constructor({ id }: { id: Id }) {
    const server = new McpServer({ name: "peer", version: "1.0.0" });
    server.registerTool(
      "greet",
      {
        description: "Greets a person by name.",
        inputSchema: z.object({ name: z.string().describe("Who to greet") }),
      },
      ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] }),
    );
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => String(id),
      enableJsonResponse: true,
    });
    this.#connected = server.connect(this.#transport);
  }

  async fetch(request: Request): Promise<Response> {
    await this.#connected;
    return this.#transport.handleRequest(request);
  }
}

interface Namespace {
  newUniqueId(): Id;
  idFromString(id: string): Id;
  get(id: Id): PeerSession;
}

export default {
  fetch(request: Request, { SESSIONS }: { SESSIONS: Namespace }): Promise<Response> | Response {
    if (new URL(request.url).pathname !== "/mcp") return new Response();
    const session = request.headers.get("mcp-session-id");
    const id = session === null ? SESSIONS.newUniqueId() : SESSIONS.idFromString(session);
    return SESSIONS.get(id).fetch(request);
  },
};
