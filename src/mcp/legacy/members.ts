import { isObject, type Json } from "../../core/model.ts";

/**
 * Members that a later revision added: clients that decode into closed types reject unknown ones. https://github.com/modelcontextprotocol/modelcontextprotocol/tree/main/schema
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
export function knownMembers<T extends object>(value: T, kind: Kind, version: string): T {
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
export function knownResult(result: Json, version: string): Json {
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

/** An item with its nested parts reduced: a prompt's arguments, an embedded resource, a message's content. */
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
