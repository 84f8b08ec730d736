/**
 * Results of servlets, made valid MCP. Plugins of other hosts were never validated:
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import { limits } from "../../limits.ts";
import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  Json,
  ReadResourceResult,
} from "../../model.ts";
import { content, contents } from "./content.ts";
import { array, bad, isNumber, present, string } from "./members.ts";

export function toolResult(output: Json): CallToolResult {
  const result = present(output, "the result");
  const { structuredContent: structured, content: given } = result;
  const blocks = given ?? (structured === undefined ? undefined : [inText(structured)]);
  return {
    ...result,
    content: array(blocks, "the result's content").map(content),
    ...(result["isError"] === undefined ? {} : { isError: isTrue(result["isError"]) }),
  };
}

/** Structured content as text, for clients that read text only; a large one is not repeated. */
function inText(structured: unknown): Json {
  const text = JSON.stringify(structured);
  if (text.length <= limits.repeatedCharacters) return { type: "text", text };
  return {
    type: "text",
    text: "The result is in `structuredContent`. It is too long to be repeated here.",
  };
}

/** Reads `isError`. An error must not pass for a success, so only values that every language reads as false are false. */
const isTrue = (value: unknown): boolean => Boolean(value) && value !== "false";

/** Reads `contents`, or the older `content`, whose blocks have no uri. */
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
