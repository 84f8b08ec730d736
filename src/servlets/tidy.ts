/**
 * What servlets give, made valid MCP. Plugins of other hosts were never held to the specification:
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  GetPromptResult,
  Json,
  Lists,
  ReadResourceResult,
  Tool,
} from "../model.ts";
import { isObject } from "../model.ts";

const bad = (what: string) =>
  new Fault("servlet_failed", `The servlet's output is not valid: ${what}.`);

const isString = (value: unknown) => typeof value === "string";
/** JSON has no others: what a guest writes as 1e999 would go out as null. */
const isNumber = (value: unknown) => Number.isFinite(value);
const isBoolean = (value: unknown) => typeof value === "boolean";
const isList = (fits: (one: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(fits);

/** What members must be that need not be there: clients refuse the whole of what has others. */
const FITS: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ title: isString, description: isString, lastModified: isString },
  ...{ _meta: isObject, outputSchema: isObject, execution: isObject },
  ...{ size: isNumber, total: isNumber, hasMore: isBoolean, required: isBoolean },
  ...{ readOnlyHint: isBoolean, destructiveHint: isBoolean },
  ...{ idempotentHint: isBoolean, openWorldHint: isBoolean },
  icons: isList((icon) => isObject(icon) && isString(icon["src"])),
  audience: isList((role) => role === "user" || role === "assistant"),
  priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
  annotations: (value) => isObject(value) && !saysNothing(value),
};

/** The object without its members that are null, are none, or say nothing. */
function present(value: unknown, what: string): Json {
  if (!isObject(value)) throw bad(`${what} is not an object`);
  let kept = value;
  for (const [key, member] of Object.entries(value)) {
    const own = key === "annotations" && isObject(member) ? present(member, key) : member;
    const isKept = own !== null && (!Object.hasOwn(FITS, key) || FITS[key]!(own));
    if (isKept && own === member) continue;
    if (kept === value) kept = { ...value };
    if (isKept) kept[key] = own;
    else delete kept[key];
  }
  return kept;
}

/** `{"audience": null, "priority": 0}` is what generated code writes where there are no annotations. */
const saysNothing = (annotations: Json): boolean =>
  Object.values(annotations).every(
    (value) => value === 0 || (Array.isArray(value) && value.length === 0),
  );

function string(value: unknown, what: string): string {
  if (typeof value !== "string") throw bad(`${what} is not a string`);
  return value;
}

function array(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw bad(`${what} is not an array`);
  return value;
}

/** Without those of these members that are no text, or the empty one. */
function withoutEmpty(block: Json, keys: string[]): Json {
  const kept = { ...block };
  for (const key of keys) if (kept[key] === "" || !isString(kept[key])) delete kept[key];
  return kept;
}

function inferredType(block: Json): string {
  if (typeof block["text"] === "string" && block["text"] !== "") return "text";
  if (isObject(block["resource"]) || isObject(block["Resource"])) return "resource";
  if (typeof block["data"] === "string" && block["data"] !== "") {
    return string(block["mimeType"] ?? "", "a block's mimeType").startsWith("audio/")
      ? "audio"
      : "image";
  }
  return typeof block["uri"] === "string" ? "resource_link" : "text";
}

/** One block of content. */
export function content(value: unknown): ContentBlock {
  const block = present(value, "a content block");
  const type =
    typeof block["type"] === "string" && block["type"] !== "" ? block["type"] : inferredType(block);
  switch (type) {
    case "text": {
      const text = string(block["text"], "a text block's text");
      return { ...withoutEmpty(block, ["data", "mimeType"]), type, text };
    }
    case "image":
    case "audio": {
      const data = string(block["data"], `an ${type} block's data`);
      const mimeType = string(
        block["mimeType"] || (type === "image" ? "image/png" : "audio/wav"),
        `an ${type} block's mimeType`,
      );
      return { ...withoutEmpty(block, ["text"]), type, data, mimeType };
    }
    case "resource": {
      const { Resource: nested, ...rest } = block;
      const resource = contents(rest["resource"] ?? nested ?? rest, undefined);
      return { ...without(rest, resource), type, resource };
    }
    case "resource_link":
      return {
        ...withoutEmpty(block, ["mimeType"]),
        type,
        uri: string(block["uri"], "a resource link's uri"),
        name: string(block["name"] ?? block["uri"], "a resource link's name"),
      };
    default:
      throw bad("a content block has an unknown type");
  }
}

/** The members of `block` that have not moved into `resource`. */
function without(block: Json, resource: Json): Json {
  return Object.fromEntries(
    Object.entries(block).filter(
      ([key]) => key === "annotations" || key === "_meta" || !(key in resource),
    ),
  );
}

/** A resource's contents: flat, or with `text` or `blob` as an object of its own; `uri` where it has none. */
function contents(value: unknown, uri: string | undefined): ReadResourceResult["contents"][number] {
  const outer = present(value, "a resource's contents");
  const inner = [outer["text"], outer["blob"]].find(isObject);
  const found = inner === undefined ? outer : { ...outer, text: null, blob: null, ...inner };
  const { type: _type, data, text, blob, uri: own, ...rest } = withoutEmpty(found, ["mimeType"]);
  const shared = { ...rest, uri: string(own || uri, "a resource's uri") };
  if (typeof text === "string" && !(text === "" && (blob || data))) return { ...shared, text };
  return { ...shared, blob: string(blob ?? data, "a resource's blob") };
}

export function toolResult(output: Json): CallToolResult {
  const result = present(output, "the result");
  const structured = result["structuredContent"];
  const text = structured === undefined ? undefined : JSON.stringify(structured);
  const blocks = result["content"] ?? (text === undefined ? undefined : [{ type: "text", text }]);
  return {
    ...result,
    content: array(blocks, "the result's content").map(content),
    ...(result["isError"] === undefined ? {} : { isError: result["isError"] === true }),
  };
}

/** `contents`, or the older `content` with blocks that leave out the uri. */
export function readResult(output: Json, uri: string): ReadResourceResult {
  const { contents: newer, content: older, ...rest } = present(output, "the result");
  const all = array(newer ?? older, "the result's contents");
  if (!isNumber(rest["ttlMs"])) delete rest["ttlMs"];
  if (rest["cacheScope"] !== "public" && rest["cacheScope"] !== "private")
    delete rest["cacheScope"];
  return { ...rest, contents: all.map((one) => contents(one, uri)) };
}

export function promptResult(output: Json): GetPromptResult {
  const result = present(output, "the result");
  const messages = array(result["messages"], "the prompt's messages").map((value) => {
    const message = present(value, "a prompt message");
    const role = message["role"];
    if (role !== "user" && role !== "assistant") throw bad("a prompt message's role is unknown");
    return { ...message, role, content: content(message["content"]) } as const;
  });
  return { ...result, messages };
}

export function completion(output: Json): CompleteResult {
  const { completion: given, ...rest } = present(output, "the result");
  const found = present(given, "the completion");
  const values = array(found["values"], "the completion's values");
  const cut = values.length > limits.completionValues;
  return {
    ...rest,
    completion: {
      ...found,
      values: values
        .slice(0, limits.completionValues)
        .map((one) => string(one, "a completion's value")),
      ...(cut ? { total: values.length, hasMore: true } : {}),
    },
  };
}

/** The lists' members that must be strings, the first of them what an entry is known by. */
const REQUIRED = {
  tools: ["name"],
  resources: ["uri", "name"],
  resourceTemplates: ["uriTemplate", "name"],
  prompts: ["name"],
} as const;

/** One list as a servlet gave it. */
export function list<K extends keyof Lists>(kind: K, value: unknown): Lists[K] {
  const entries = array(value ?? [], `the list of ${kind}`).map((one) => {
    const entry = withoutEmpty(present(one, `an entry of ${kind}`), [
      "description",
      "title",
      "mimeType",
    ]);
    const [key, ...others] = REQUIRED[kind];
    string(entry[key], `the ${key} of an entry of ${kind}`);
    for (const other of others) entry[other] = entry[other] || entry[key];
    if (kind === "tools") entry["inputSchema"] = inputSchema(entry["inputSchema"]);
    if (kind === "prompts" && entry["arguments"] !== undefined) {
      entry["arguments"] = array(entry["arguments"], "a prompt's arguments").map((argument) =>
        present(argument, "a prompt's argument"),
      );
    }
    return entry;
  });
  // What an entry must have is checked above; the rest is as its servlet wrote it.
  return entries as unknown[] as Lists[K];
}

function inputSchema(value: unknown): Tool["inputSchema"] {
  if (value === undefined) return { type: "object" };
  if (!isObject(value)) throw bad("a tool's inputSchema is not an object");
  return { ...value, type: "object" };
}
