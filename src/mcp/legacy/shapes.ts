import { rpcError, type Fault, type JsonRpcError } from "../../core/errors.ts";
import { knownMembers, knownResult } from "./members.ts";
import type { Ask } from "../../core/asks.ts";
import { isObject, type McpContentBlock, type Json, type Tool } from "../../core/model.ts";
import { NOT_REPEATED } from "../../servlets/tidy/results.ts";

/** Converts messages to the shapes of the revisions before 2026-07-28. */

/** Tasks, pages that a client opens, and resumable polling streams came with 2025-11-25. */
export const hasTasks = (version: string): boolean => version >= "2025-11-25";

/** A result in the shape of this revision. */
export function olderResult(result: Json, version: string): Json {
  let shaped = knownResult(result, version);
  if (Array.isArray(shaped["tools"])) {
    shaped = { ...shaped, tools: (shaped["tools"] as Tool[]).map(olderTool) };
  }
  if ("structuredContent" in shaped && !isObject(shaped["structuredContent"])) {
    const { structuredContent: _, ...rest } = shaped;
    shaped = rest;
  }
  const { structuredContent: structured } = result;
  const blocks = shaped["content"];
  // Only the last block: a servlet can write this text itself, as often as it likes.
  const last: unknown = Array.isArray(blocks) && blocks.at(-1);
  const isLost = structured !== undefined && !("structuredContent" in shaped);
  if (isLost && isObject(last) && last["text"] === NOT_REPEATED) {
    const whole = { ...last, text: JSON.stringify(structured) };
    shaped = { ...shaped, content: [...(blocks as McpContentBlock[]).slice(0, -1), whole] };
  }
  if (Array.isArray(shaped["content"]) && version < "2025-06-18") {
    const content = (shaped["content"] as McpContentBlock[]).map((block) =>
      olderBlock(block, version),
    );
    shaped = { ...shaped, content };
  }
  return shaped;
}

/** Older structured output is always an object; with another schema clients reject the whole list. */
function olderTool(tool: Tool): Tool {
  if (tool.outputSchema === undefined || tool.outputSchema["type"] === "object") return tool;
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/** Links came with 2025-06-18, audio with 2025-03-26. */
function olderBlock(block: McpContentBlock, version: string): McpContentBlock {
  if (block.type === "resource_link") return { type: "text", text: `${block.name}: ${block.uri}` };
  if (block.type === "audio" && version < "2025-03-26") {
    return { type: "text", text: `(audio, ${block.mimeType})` };
  }
  return block;
}

/** A notification on the stream of a call. */
export function olderNotice(message: Json, version: string): Json {
  const { method, params } = message;
  if (method !== "notifications/progress" || !isObject(params)) return message;
  return { ...message, params: knownMembers(params, "progress", version) };
}

/** The result of `initialize`. */
export function olderIntroduction<T extends { capabilities: object; serverInfo: object }>(
  introduced: T,
  version: string,
): T {
  const { capabilities, serverInfo } = introduced;
  return {
    ...introduced,
    capabilities: knownMembers(capabilities, "capabilities", version),
    serverInfo: knownMembers(serverInfo, "implementation", version),
  };
}

/** A missing resource has a code of its own: https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling */
export function olderError(method: string, fault: Fault | JsonRpcError): JsonRpcError {
  const error = fault instanceof Error ? rpcError(fault) : fault;
  return method === "resources/read" && error.code === -32602 ? { ...error, code: -32002 } : error;
}

/** The id of the page that this request asks to be opened, if any. */
export const pageIn = ({ method, params }: Pick<Ask, "params"> & { method: string }) =>
  method === "elicitation/create" && params["mode"] === "url"
    ? String(params["elicitationId"])
    : undefined;

/** Params of a request to the client; url mode needs an `elicitationId`. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests */
export function olderAsk({ method, params }: Ask, version: string): Json {
  if (method !== "elicitation/create") return params;
  const isPage = params["mode"] === "url";
  const known = knownMembers(params, "question", version);
  return isPage ? { elicitationId: crypto.randomUUID(), ...params } : known;
}
