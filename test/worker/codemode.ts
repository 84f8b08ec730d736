/**
 * `@cloudflare/codemode` in front of the same server: a script runs in an isolate of its own, and the tools that it calls are
 * called within the process. `/codemode` runs a script as its executor alone does, `/codemode/durable` as its runtime, which
 * records each call and pauses for those that a person must allow.
 */
import {
  CodemodeConnector,
  createCodemodeRuntime,
  DynamicWorkerExecutor,
  type CodemodeRuntimeHandle,
  type ConnectorTool,
} from "@cloudflare/codemode";
import { DurableObject } from "cloudflare:workers";
import { modern } from "../node/bench/kinds.ts";

export { CodemodeRuntime } from "@cloudflare/codemode";

interface PeerEnv {
  LOADER: WorkerLoader;
  AGENT: DurableObjectNamespace<Agent>;
}
type Served = Pick<Required<ExportedHandler>, "fetch">;

/** The server in this process. */
let served: Served;

interface Tool {
  name: string;
  description: string;
  inputSchema: object;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
}

/** A request to the server in this process. */
async function ask(method: string, params: { name?: string }, env: unknown, ctx: unknown) {
  const { headers, body } = modern(method, params, params.name);
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json" },
    body,
  });
  const response = await served.fetch(request as never, env, ctx as ExecutionContext);
  const { result, error } = (await response.json()) as { result: any; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
}

let tools: Promise<Tool[]> | undefined;

/** The tools of the server, each with a function that calls it; results are unwrapped as `codeMcpServer` does. */
async function callable(env: unknown, ctx: unknown) {
  tools ??= ask("tools/list", {}, env, ctx).then((listed: { tools: Tool[] }) => listed.tools);
  return (await tools).map((tool) => {
    const call = async (args: unknown) => {
      const params = { name: tool.name, arguments: args };
      const { isError, structuredContent, content } = await ask("tools/call", params, env, ctx);
      if (isError) throw new Error(content[0].text);
      return structuredContent ?? (content.length === 1 ? content[0].text : content);
    };
    return { ...tool, call };
  });
}

/** The tools as a connector, of which those that may destroy something need an approval. */
class Tools extends CodemodeConnector<PeerEnv> {
  name() {
    return "tools";
  }
  protected async tools(): Promise<Record<string, ConnectorTool>> {
    const all = await callable(this.env, this.ctx);
    return Object.fromEntries(
      all.map(({ name, description, inputSchema, annotations = {}, call }) => {
        const { readOnlyHint, destructiveHint } = annotations;
        const requiresApproval = readOnlyHint !== true && destructiveHint !== false;
        return [name, { description, inputSchema, requiresApproval, execute: call }];
      }),
    );
  }
}

/** An agent whose user allows everything. */
export class Agent extends DurableObject<PeerEnv> {
  readonly #runtime: CodemodeRuntimeHandle;

  constructor(ctx: DurableObjectState, env: PeerEnv) {
    super(ctx, env);
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
    this.#runtime = createCodemodeRuntime({ ctx, executor, connectors: [new Tools(ctx, env)] });
  }

  async run(code: string) {
    let approvals = 0;
    let outcome = await this.#runtime.execute({ code });
    for (; outcome.status === "paused"; approvals++) {
      outcome = await this.#runtime.approve({ executionId: outcome.executionId });
    }
    if (outcome.status === "error") throw new Error(outcome.error);
    return { result: outcome.result, approvals };
  }
}

/** The server, and the two ways to run a script beside it. */
export default function before(worker: Served): ExportedHandler<PeerEnv> {
  served = worker;
  return {
    async fetch(request, env, ctx) {
      const { pathname } = new URL(request.url);
      if (!pathname.startsWith("/codemode")) return served.fetch(request as never, env, ctx);
      const code = await request.text();
      if (pathname === "/codemode/durable")
        return Response.json(await Promise.resolve(env.AGENT.getByName("one").run(code)));
      const functions = (await callable(env, ctx)).map(({ name, call }) => [name, call] as const);
      const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
      const fns = Object.fromEntries(functions);
      return Response.json(await executor.execute(code, [{ name: "tools", fns }]));
    },
  };
}
