/**
 * What costs are measured beside: a server in the way of `McpAgent` of the package `agents`, an object for each session, with the
 * tools of test/node/bench/servlets/costs, and `@cloudflare/codemode` for calls by code.
 */
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { codeMcpServer } from "@cloudflare/codemode/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { addTools } from "../node/bench/cost/tools.ts";

/** The part of `McpAgent` that is used: its package is installed only to be measured. */
interface AgentClass {
  new (...given: any[]): {
    state: { count: number };
    setState(state: { count: number }): void;
    elicitInput(params: object, options: object): Promise<{ content?: { name: string } }>;
    env: { SMALL_URL: string; LOADER: WorkerLoader };
  };
  serve(path: string): { fetch(request: Request, env: object, ctx: object): Promise<Response> };
}

/** The Worker, and the classes of its objects. */
export function peerOf(McpAgent: AgentClass) {
  const newServer = () => new McpServer({ name: "peer", version: "1.0.0" });
  class Peer extends McpAgent {
    server = newServer();
    initialState = { count: 0 };

    async init() {
      addTools(this.server, {
        url: this.env.SMALL_URL,
        next: () => {
          this.setState({ count: this.state.count + 1 });
          return this.state.count;
        },
        ask: (question, relatedRequestId) => this.elicitInput(question, { relatedRequestId }),
      });
    }
  }
  class CodePeer extends McpAgent {
    server!: McpServer;

    async init() {
      const server = newServer();
      addTools(server, { url: this.env.SMALL_URL });
      const executor = new DynamicWorkerExecutor({ loader: this.env.LOADER });
      this.server = await codeMcpServer({ server, executor });
    }
  }
  return { worker: Peer.serve("/mcp"), Peer, CodePeer };
}
