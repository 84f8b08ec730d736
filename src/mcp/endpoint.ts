import { readJson } from "../body.ts";
import { Fault, httpStatus } from "../errors.ts";
import { classify } from "./classify.ts";
import { handleLegacy, handleSession } from "./legacy.ts";
import type { Exchange } from "./exchange.ts";
import { errorMessage, idOf } from "./message.ts";
import { handleModern } from "./modern.ts";
import { accepts, jsonResponse } from "./reply.ts";

type Setting = Omit<Exchange, "headers" | "accepts" | "leaving">;

/**
 * The MCP endpoint: reads the body once, tells the eras apart once, answers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export async function mcpEndpoint(request: Request, setting: Setting): Promise<Response> {
  const { headers } = request;
  let body: unknown;
  try {
    const { method } = request;
    const isStream = setting.sessions !== undefined && (method === "GET" || method === "DELETE");
    if (method !== "POST" && !isStream) {
      throw new Fault("method_not_allowed", `The MCP endpoint takes ${methodsOf(setting)}.`);
    }
    const admitted = accepts(headers.get("accept") ?? undefined);
    if (!admitted.json && !admitted.sse && method !== "DELETE") {
      throw new Fault("not_acceptable", "Accept must admit application/json or text/event-stream.");
    }
    const exchange = {
      ...setting,
      leaving: () => request.signal,
      headers,
      accepts: admitted,
    };
    const version = headers.get("mcp-protocol-version") ?? undefined;
    if (isStream) {
      classify(undefined, version);
      return await handleSession(method, exchange);
    }
    body = await readJson(request);
    const kind = classify(body, version);
    switch (kind.era) {
      case "modern":
        return await handleModern(body, kind.version, exchange);
      case "legacy":
        return await handleLegacy(body, kind.version, exchange);
    }
  } catch (error) {
    const fault = setting.report(error);
    const response = jsonResponse({
      status: httpStatus(fault),
      body: errorMessage(idOf(body), fault),
    });
    if (fault.code === "method_not_allowed") response.headers.set("allow", methodsOf(setting));
    return response;
  }
}

const methodsOf = ({ sessions }: Setting): string =>
  sessions === undefined ? "POST" : "POST, GET, DELETE";
