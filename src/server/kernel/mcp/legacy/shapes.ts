/** Converts messages to the shapes of the revisions before 2026-07-28. */
import { rpcError, type Fault, type JsonRpcError } from "../../core/errors.ts";
import type { Ask } from "../../core/asks.ts";
import { isObject, type McpContentBlock, type Json, type Tool } from "../../core/model.ts";
import { NOT_REPEATED } from "../../servlets/tidy/results.ts";

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

/**
 * A missing resource has its own code:
 * https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
 */
export function olderError(method: string, fault: Fault | JsonRpcError): JsonRpcError {
  const error = fault instanceof Error ? rpcError(fault) : fault;
  return method === "resources/read" && error.code === -32602 ? { ...error, code: -32002 } : error;
}

/** The id of the page that this request asks to be opened, if any. */
export const pageIn = ({ method, params }: Pick<Ask, "params"> & { method: string }) =>
  method === "elicitation/create" && params["mode"] === "url"
    ? String(params["elicitationId"])
    : undefined;

/**
 * Params of a request to the client; url mode needs an `elicitationId`.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
 */
export function olderAsk({ method, params }: Ask, version: string): Json {
  if (method !== "elicitation/create") return params;
  const isPage = params["mode"] === "url";
  const known = knownMembers(params, "question", version);
  return isPage ? { elicitationId: crypto.randomUUID(), ...params } : known;
}

/**
 * Members that a later revision added: clients that decode into closed types reject unknown ones.
 * https://github.com/modelcontextprotocol/modelcontextprotocol/tree/main/schema
 */
const ADDED: { version: string; members: Partial<Record<Kind, readonly string[]>> }[] = [
  {
    version: "2025-03-26",
    members: { capabilities: ["completions"], progress: ["message"], tool: ["annotations"] },
  },
  {
    version: "2025-06-18",
    members: {
      argument: ["title"],
      block: ["_meta"],
      contents: ["_meta"],
      implementation: ["title"],
      prompt: ["title", "_meta"],
      resource: ["title", "_meta"],
      result: ["structuredContent"],
      tool: ["title", "outputSchema", "_meta"],
    },
  },
  {
    version: "2025-11-25",
    members: {
      block: ["icons"],
      implementation: ["icons", "websiteUrl", "description"],
      prompt: ["icons"],
      question: ["mode"],
      resource: ["icons"],
      tool: ["execution", "icons"],
    },
  },
];

/** Kinds of objects that have later members. */
type Kind =
  | "argument"
  | "block"
  | "capabilities"
  | "contents"
  | "implementation"
  | "progress"
  | "prompt"
  | "question"
  | "resource"
  | "result"
  | "tool";

/** The value without members of later revisions. */
function knownMembers<T extends object>(value: T, kind: Kind, version: string): T {
  const later = ADDED.flatMap((added) =>
    added.version > version ? (added.members[kind] ?? []) : [],
  );
  if (!later.some((key) => key in value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !later.includes(key))) as T;
}

/** Members of a result that are lists, with the kind of their items. */
const LISTS: Record<string, Kind> = {
  tools: "tool",
  prompts: "prompt",
  resources: "resource",
  resourceTemplates: "resource",
  contents: "contents",
  content: "block",
};

/** A result and its nested objects without members of later revisions. */
function knownResult(result: Json, version: string): Json {
  if (version >= ADDED.at(-1)!.version) return result;
  const known: Json = { ...knownMembers(result, "result", version) };
  for (const [key, kind] of Object.entries(LISTS)) {
    const list = known[key];
    if (!Array.isArray(list)) continue;
    known[key] = list
      .filter(isObject)
      .map((item) => inner(knownMembers(item, kind, version), version));
  }
  const { messages } = known;
  if (Array.isArray(messages)) {
    known["messages"] = messages.filter(isObject).map((message) => inner(message, version));
  }
  return known;
}

/**
 * An item without later members in its nested parts: a prompt's arguments, an embedded resource, a message's content.
 */
function inner(item: Json, version: string): Json {
  const { arguments: given, resource, content } = item;
  return {
    ...item,
    ...(Array.isArray(given) && {
      arguments: given.filter(isObject).map((one) => knownMembers(one, "argument", version)),
    }),
    ...(isObject(resource) && { resource: knownMembers(resource, "contents", version) }),
    ...(isObject(content) && { content: inner(knownMembers(content, "block", version), version) }),
  };
}
