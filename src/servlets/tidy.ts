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

const isOneOf = (all: unknown[]) => (value: unknown) => all.includes(value);

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** As RFC 3339 writes it, and of a day that there is: `Date` takes 30 February for 2 March. */
function isDateTime(value: unknown): boolean {
  const day = typeof value === "string" ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined || Number.isNaN(Date.parse(day))) return false;
  return new Date(day).toISOString().startsWith(day);
}

type Fits = Readonly<Record<string, (value: unknown) => boolean>>;

/** Checks of optional members: clients reject a whole object if one has the wrong type. */
const FITS: Fits = {
  ...{ title: isString, description: isString, lastModified: isDateTime },
  ...{ _meta: isObject, outputSchema: isObject, execution: isObject, icons: Array.isArray },
  ...{ size: isNumber, total: Number.isSafeInteger, hasMore: isBoolean, required: isBoolean },
  ...{ readOnlyHint: isBoolean, destructiveHint: isBoolean },
  ...{ idempotentHint: isBoolean, openWorldHint: isBoolean },
  audience: isList(isOneOf(["user", "assistant"])),
  priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
  annotations: (value) => isObject(value) && !saysNothing(value),
};

/** The same for what stands in members. */
const ICON: Fits = {
  mimeType: isString,
  sizes: isList(isString),
  theme: isOneOf(["light", "dark"]),
};
const EXECUTION: Fits = { taskSupport: isOneOf(["required", "optional", "forbidden"]) };
const SCHEMA: Fits = { $schema: isString, properties: isObject, required: isList(isString) };

/** The object without those of these members that do not fit. */
function fitting(value: Json, fits: Fits): Json {
  const kept = { ...value };
  for (const [key, fit] of Object.entries(fits)) if (!fit(kept[key])) delete kept[key];
  return kept;
}

/** A member without the parts that clients reject. */
function tidied(key: string, member: unknown): unknown {
  if (key === "icons" && Array.isArray(member)) {
    const icons = member.filter((icon) => isObject(icon) && isString(icon["src"]));
    return icons.map((icon: Json) => fitting(icon, ICON));
  }
  if (!isObject(member)) return member;
  if (key === "annotations") return present(member, key);
  if (key === "execution") return fitting(member, EXECUTION);
  return key === "inputSchema" || key === "outputSchema" ? fitting(member, SCHEMA) : member;
}

/** The object without members that are null, of the wrong type or empty annotations. */
function present(value: unknown, what: string): Json {
  if (!isObject(value)) throw bad(`${what} is not an object`);
  let kept = value;
  for (const [key, member] of Object.entries(value)) {
    const own = typeof member === "object" && member !== null ? tidied(key, member) : member;
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

/** Validates with `atob`, like the official client; it is the fastest way (0.5 ms for 1 MB). */
function base64(value: unknown, what: string): string {
  const text = string(value, what);
  try {
    atob(text);
  } catch {
    throw bad(`${what} is not base64`);
  }
  return text;
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
      // Text blocks have no mimeType in the protocol.
      const { mimeType: _, ...rest } = withoutEmpty(block, ["data"]);
      return { ...rest, type, text };
    }
    case "image":
    case "audio": {
      const data = base64(block["data"], `an ${type} block's data`);
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
    case "resource_link": {
      const uri = string(block["uri"], "a resource link's uri");
      return { ...withoutEmpty(block, ["mimeType"]), type, uri, name: nameOf(block, uri) };
    }
    default:
      throw bad("a content block has an unknown type");
  }
}

/** The members of `block` that have not moved into `resource`. */
function without(block: Json, resource: Json): Json {
  return Object.fromEntries(
    Object.entries(block).filter(
      ([key]) => key === "annotations" || key === "_meta" || !Object.hasOwn(resource, key),
    ),
  );
}

/** A resource's contents: flat, or with `text` or `blob` as an object of its own; `uri` where it has none. */
function contents(value: unknown, uri: string | undefined): ReadResourceResult["contents"][number] {
  const outer = present(value, "a resource's contents");
  const inner = [outer["text"], outer["blob"]].find(isObject);
  const found =
    inner === undefined
      ? outer
      : present({ ...outer, text: null, blob: null, ...inner }, "a resource's contents");
  const { type: _type, data, text, blob, uri: own, ...rest } = withoutEmpty(found, ["mimeType"]);
  const shared = { ...rest, uri: string(own || uri, "a resource's uri") };
  if (typeof text === "string" && !(text === "" && (blob || data))) return { ...shared, text };
  return { ...shared, blob: base64(blob ?? data, "a resource's blob") };
}

export function toolResult(output: Json): CallToolResult {
  const result = present(output, "the result");
  const { structuredContent: structured, content: given } = result;
  const blocks = given ?? (structured === undefined ? undefined : [inText(structured)]);
  return {
    ...result,
    content: array(blocks, "the result's content").map(content),
    ...(result["isError"] === undefined ? {} : { isError: isYes(result["isError"]) }),
  };
}

/** Structured content for clients that read text only; where it is large, it is not said twice. */
function inText(structured: unknown): Json {
  const text = JSON.stringify(structured);
  if (text.length <= limits.repeatedCharacters) return { type: "text", text };
  return {
    type: "text",
    text: "The result is in `structuredContent`: it is too long to be repeated here.",
  };
}

/** An error must not pass for a success: only what any language takes for no is no. */
const isYes = (value: unknown): boolean => Boolean(value) && value !== "false";

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
  const total = Math.max(Number(found["total"] ?? 0), values.length);
  return {
    ...rest,
    completion: {
      ...found,
      values: values
        .slice(0, limits.completionValues)
        .map((one) => string(one, "a completion's value")),
      ...(values.length > limits.completionValues ? { total, hasMore: true } : {}),
    },
  };
}

/** The identifying member of each kind of list entry. */
const KEYS = { tools: "name", resources: "uri", resourceTemplates: "uriTemplate", prompts: "name" };

/** Its name, or what else it is known by. */
const nameOf = ({ name }: Json, key: string): string =>
  typeof name === "string" && name !== "" ? name : key;

/** One list as a servlet gave it. */
export function list<K extends keyof Lists>(kind: K, value: unknown): Lists[K] {
  const entries = array(value ?? [], `the list of ${kind}`).map((one) => {
    const entry = withoutEmpty(present(one, `an entry of ${kind}`), [
      "description",
      "title",
      "mimeType",
    ]);
    const key = string(entry[KEYS[kind]], `the ${KEYS[kind]} of an entry of ${kind}`);
    entry["name"] = nameOf(entry, key);
    if (kind === "tools") entry["inputSchema"] = inputSchema(entry["inputSchema"]);
    if (isObject(entry["outputSchema"]))
      entry["outputSchema"] = withProperties(entry["outputSchema"]);
    if (kind === "prompts" && entry["arguments"] !== undefined) {
      entry["arguments"] = array(entry["arguments"], "a prompt's arguments")
        // One without a name cannot be given: the prompt is still of use with the others.
        .filter((argument) => isObject(argument) && isString(argument["name"]))
        .map((argument) => present(argument, "a prompt's argument"));
    }
    return entry;
  });
  // What an entry must have is checked above; the rest is as its servlet wrote it.
  return entries as unknown[] as Lists[K];
}

function inputSchema(value: unknown): Tool["inputSchema"] {
  if (value !== undefined && !isObject(value)) throw bad("a tool's inputSchema is not an object");
  return withProperties({ ...value, type: "object" }) as Tool["inputSchema"];
}

/** Some clients, and the APIs of some models, refuse an object schema that has no `properties`. */
const withProperties = (schema: Json): Json =>
  schema["type"] === "object" ? { ...schema, properties: schema["properties"] ?? {} } : schema;
