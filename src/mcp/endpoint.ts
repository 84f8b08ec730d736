import { readJson } from "../body.ts";
import { Fault, report } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, type Share } from "../model.ts";
import { classify, isModern } from "./wire/classify.ts";
import { handleLegacy, handleSession } from "./legacy/handle.ts";
import type { Exchange } from "./wire/exchange.ts";
import { idOf } from "./wire/message.ts";
import { handleModern } from "./modern/handle.ts";
import { accepts, refusalResponse } from "./wire/reply.ts";

interface Setting extends Omit<Exchange, "headers" | "accepts" | "leaving">, Share {
  /** The `WWW-Authenticate` that goes with a fault, if one does. */
  challenge?(fault: Fault): string | undefined;
}

/**
 * The MCP endpoint: reads the body once, tells the eras apart once, answers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export async function mcpEndpoint(request: Request, setting: Setting): Promise<Response> {
  const { headers, method } = request;
  const version = headers.get("mcp-protocol-version") ?? undefined;
  const hasStreams = setting.sessions !== undefined && !isModern(version);
  const allowed = hasStreams ? ["POST", "GET", "DELETE"] : ["POST"];
  let body: unknown;
  try {
    if (!allowed.includes(method)) {
      throw new Fault("method_not_allowed", `The MCP endpoint takes ${allowed.join(", ")}.`);
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
    if (method !== "POST") {
      classify(undefined, version);
      return await handleSession(method, exchange);
    }
    body = await readJson(request);
    const kind = classify(body, version);
    if (setting.admit !== undefined || setting.registry.isNarrow) {
      const messages = [body].flat();
      // Larger batches are refused as they are.
      if (messages.length <= limits.batchMessages)
        for (const message of messages) await mayPass(message, setting);
    }
    switch (kind.era) {
      case "modern":
        return await handleModern(body, kind.version, exchange);
      case "legacy":
        return await handleLegacy(body, kind.version, exchange);
    }
  } catch (error) {
    const fault = report(error);
    const response = refusalResponse(fault, {
      // A lost session is not an error of one request: go-sdk would report it as one if the id were there.
      id: fault.code === "no_session" ? null : idOf(body),
      challenge: setting.challenge?.(fault),
    });
    if (fault.code === "method_not_allowed") response.headers.set("allow", allowed.join(", "));
    return response;
  }
}

/** Throws `too_many` or `insufficient_scope`. */
async function mayPass(message: unknown, { registry, admit }: Setting): Promise<void> {
  if (!isObject(message)) return;
  const params = isObject(message["params"]) ? message["params"] : {};
  const { method } = message;
  if (method !== undefined && admit !== undefined) {
    await admit();
    // Only known tools are counted: each name gets a counter of its own, and callers could invent names.
    const called = method === "tools/call" ? await registry.toolNamed(params["name"]) : undefined;
    if (called !== undefined) await admit(called.tool.name);
  }
  await registry.demandScope(method, params);
}
