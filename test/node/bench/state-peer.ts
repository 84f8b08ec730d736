/** The measure of state: the official SDK's server in a Durable Object for each caller, with a counter in its storage. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

interface Storage {
  get(key: string): Promise<number | undefined>;
  put(key: string, value: number): Promise<void>;
}

export class PeerCounter {
  readonly #storage: Storage;

  constructor({ storage }: { storage: Storage }) {
    this.#storage = storage;
  }

  /** Without a session the SDK wants a server and a transport for each request. */
  async fetch(request: Request): Promise<Response> {
    const server = new McpServer({ name: "peer", version: "1.0.0" });
    server.registerTool("counting-next", { description: "Counts one more." }, async () => {
      const count = ((await this.#storage.get("count")) ?? 0) + 1;
      await this.#storage.put("count", count);
      return { content: [{ type: "text", text: String(count) }] };
    });
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    return transport.handleRequest(request);
  }
}

interface Namespace {
  idFromName(name: string): object;
  get(id: object): PeerCounter;
}

export default {
  fetch(request: Request, { COUNTERS }: { COUNTERS: Namespace }): Promise<Response> | Response {
    if (new URL(request.url).pathname !== "/mcp") return new Response();
    const caller = request.headers.get("cf-connecting-ip") ?? "";
    return COUNTERS.get(COUNTERS.idFromName(caller)).fetch(request);
  },
};
