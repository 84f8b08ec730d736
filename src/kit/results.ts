/** Converts the return values of handlers to MCP results. */
import { isObject } from "../server/kernel/core/model.ts";
import type { StandardSchema } from "./infer.ts";
import { json, membersOf } from "./json.ts";
import { parsed } from "./schema.ts";

type Json = Record<string, unknown>;

/** Types of content blocks, and the member that each must have. */
const BLOCKS: Readonly<Record<string, string>> = {
  text: "text",
  image: "data",
  audio: "data",
  resource: "resource",
  resource_link: "uri",
};

const isBlock = (value: unknown): value is Json =>
  isObject(value) && value[BLOCKS[String(value["type"])] ?? ""] !== undefined;

const isContent = (value: unknown): boolean => typeof value === "string" || isBlock(value);

const MEMBERS = new Set(["content", "structuredContent", "isError", "_meta"]);

/** True for a result without content: an error must not become a success with a member `isError`. */
const isOutcome = (value: Json): boolean =>
  typeof value["isError"] === "boolean" || value["content"] === null;

/** True for a complete result; false for structured content that happens to have a member `content`. */
function isResult(
  value: unknown,
  hasSchema: boolean,
): value is Json & { content?: unknown[] | null } {
  if (!isObject(value)) return false;
  const { content = null } = value;
  if (content === null && ("structuredContent" in value || (!hasSchema && isOutcome(value))))
    return Object.keys(value).every((key) => MEMBERS.has(key));
  if (!Array.isArray(content)) return false;
  if ("structuredContent" in value || "isError" in value) return true;
  return hasSchema ? content.length > 0 && content.every(isBlock) : content.every(isContent);
}

const unfinished = (value: unknown): value is Json =>
  isObject(value) && value["resultType"] === "input_required";

/** Calls `then` with the value: at once, or when the promise resolves. */
export function after(value: unknown, then: (value: unknown) => unknown): unknown {
  return isThenable(value) ? value.then(then) : then(value);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "then" in value &&
    typeof value.then === "function"
  );
}

const base64 = (value: unknown): unknown =>
  value instanceof Uint8Array ? value.toBase64() : value;

function contents(value: unknown, uri: unknown, mimeType: unknown): Json {
  const frame = { uri, ...(mimeType !== undefined && { mimeType }) };
  if (typeof value === "string") return { ...frame, text: value };
  if (value instanceof Uint8Array) return { ...frame, blob: value.toBase64() };
  if (!isObject(value) || (value["text"] === undefined && value["blob"] === undefined)) {
    throw new Error(
      "A resource must return a string, a Uint8Array, or contents with `text` or `blob`.",
    );
  }
  const { blob, ...rest } = value;
  return { ...frame, ...rest, ...(blob !== undefined && { blob: base64(blob) }) };
}

function block(value: unknown): Json {
  if (typeof value === "string") return { type: "text", text: value };
  if (!isBlock(value)) {
    throw new Error(
      `A block of content needs a "type": ${Object.keys(BLOCKS).join(", ")}; this is ${isObject(value) ? `an object with ${Object.keys(value).join(", ") || "nothing in it"}` : String(value)}.`,
    );
  }
  if (value["data"] instanceof Uint8Array) return { ...value, data: base64(value["data"]) };
  const { resource } = value;
  return isObject(resource) && resource["blob"] instanceof Uint8Array
    ? { ...value, resource: contents(resource, resource["uri"], undefined) }
    : value;
}

const text = (value: string): Json => ({ content: [{ type: "text", text: value }] });

export const failed = (message: string): string =>
  JSON.stringify({ ...text(message), isError: true });

/** A tool's output schema if the kit checks it; true if the host checks it; false if there is none. */
export type OutputRule = StandardSchema | boolean;

/** A tool's result as JSON, or a promise of it, from its handler's return value. */
export function toolResult(output: OutputRule, name: string, value: unknown): unknown {
  // Most tools return text: the fastest path.
  if (output === false && typeof value === "string") {
    return `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;
  }
  const what = `The return value of the tool "${name}"`;
  if (unfinished(value)) return json(value, what);
  if (isResult(value, output !== false)) {
    const { content, structuredContent, ...rest } = value;
    const result = { ...rest, content: (content ?? []).map(block) };
    if (structuredContent === undefined) return json(result, what);
    return after(checked(output, name, structuredContent), (structured) =>
      json({ ...result, structuredContent: structured }, what),
    );
  }
  if (output !== false) {
    return after(checked(output, name, value), (structured) => structuredText(structured, what));
  }
  if (value === undefined) {
    __host.log(3, `The tool "${name}" returned nothing. Return null, if there is nothing to say.`);
  }
  if (value === undefined || value === null) return '{"content":[]}';
  if (isBlock(value)) return json({ content: [block(value)] }, what);
  if (Array.isArray(value) && value.every(isContent)) {
    return json({ content: value.map(block) }, what);
  }
  if (typeof value === "object") {
    // A Set of texts is content, like an array. Most objects are plain, and `instanceof` costs more than this comparison.
    const isPlain = value.constructor === Object;
    if (!isPlain && value instanceof Set) return toolResult(output, name, membersOf(value));
    // The JSON of a value with `toJSON`, such as a Date, need not be an object.
    const isOwn = "toJSON" in value && typeof value.toJSON === "function";
    if (!isOwn) return structuredText(value, what);
  }
  return json(text(json(value, what)), what);
}

function checked(output: OutputRule, name: string, value: unknown): unknown {
  return parsed(
    output,
    value,
    `The tool "${name}" returned a value that does not match its output schema`,
  );
}

/** Structured content, and the same as text for clients without structured content. */
function structuredText(value: unknown, what: string): string {
  const written = json(value, what);
  return `{"content":[{"type":"text","text":${JSON.stringify(written)}}],"structuredContent":${written}}`;
}

/** A resource's result as JSON, from the return value of `read`. */
export function readResult(value: unknown, uri: string, mimeType: unknown): string {
  const what = `The return value of the resource ${uri}`;
  if (unfinished(value)) return json(value, what);
  const whole = isObject(value) && Array.isArray(value["contents"]) ? value : { contents: value };
  const all: unknown[] = Array.isArray(whole["contents"]) ? whole["contents"] : [whole["contents"]];
  return json({ ...whole, contents: all.map((one) => contents(one, uri, mimeType)) }, what);
}

/** A prompt's result as JSON, from the return value of `get`. */
export function promptResult(value: unknown, name: string, description: unknown): string {
  const what = `The return value of the prompt "${name}"`;
  if (unfinished(value)) return json(value, what);
  const given = typeof value === "string" ? [{ role: "user", content: value }] : value;
  const whole: Json = isObject(given) ? given : { messages: given };
  if (!Array.isArray(whole["messages"])) {
    throw new Error(
      `The prompt "${name}" returned neither text nor messages. Return a string, or messages.`,
    );
  }
  const messages = whole["messages"].map((message: Json) => ({
    ...message,
    content: block(message["content"]),
  }));
  return json({ ...(description !== undefined && { description }), ...whole, messages }, what);
}
