import { hexDigestNow } from "../core/digest.ts";
import { Fault, rpcError } from "../core/errors.ts";
import { isObject } from "../core/model.ts";
import type { Span, SpanStart } from "./spans.ts";
import type { Entry } from "../servlets/registry.ts";

/** The parts of a request that its span records. */
interface Spanned {
  method: string;
  /** Absent for work that continues after its request is over. */
  id?: string | number | undefined;
  /** The row of its method, empty if unknown; absent if the method is certainly known. */
  row?: object;
  /** The entry that it names, if known. */
  entry?: Pick<Entry, "ref"> | Fault;
  version: string | undefined;
  session?: string | undefined;
}

/** The span of an MCP request. https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#server */
export function mcpSpan({ id, row, entry, version, session, ...request }: Spanned): SpanStart {
  // Unknown names are the caller's own text, with unlimited variety.
  const isKnown = row === undefined || Object.keys(row).length > 0;
  const method = isKnown ? request.method : "_OTHER";
  const { kind, name } = (entry instanceof Fault ? undefined : entry?.ref) ?? {};
  const tool = kind === "tool" ? name : undefined;
  const prompt = kind === "prompt" ? name : undefined;
  return {
    name: [method, tool ?? prompt ?? []].flat().join(" "),
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": version,
      "mcp.session.id": session && fingerprint(session),
      "jsonrpc.request.id": id === undefined ? undefined : String(id),
      "gen_ai.operation.name": method === "tools/call" ? "execute_tool" : undefined,
      "gen_ai.tool.name": tool,
      "gen_ai.prompt.name": prompt,
      "network.protocol.name": "http",
      "network.transport": "tcp",
    },
  };
}

/** Distinguishes sessions without exposing ids: whoever knows the id of an anonymous session can use it. */
const fingerprint = (session: string) => hexDigestNow(session).slice(0, 32);

/** Records that a request has ended with this fault. */
export function recordFault(span: Span, fault: Fault): void {
  const code = String(rpcError(fault).code);
  span.set({
    "error.type": code,
    "rpc.response.status_code": code,
    "edge_servlets.fault": fault.code,
  });
}

/** Records the outcome of a request's work in its span; returns the result. */
export async function recordOutcome<T>(span: Span, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    recordResult(span, result);
    return result;
  } catch (error) {
    recordFault(span, Fault.from(error));
    throw error;
  }
}

/** Records that a tool's result is marked as an error. */
export function recordResult(span: Span, result: unknown): void {
  if (isObject(result) && result["isError"] === true) span.set({ "error.type": "tool_error" });
}
