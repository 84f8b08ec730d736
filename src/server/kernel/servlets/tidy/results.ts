/**
 * Results of servlets, made valid MCP. Plugins of other hosts were never validated:
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import { limits } from "../../core/limits.ts";
import type {
  CallToolResult,
  CompleteResult,
  McpContentBlock,
  GetPromptResult,
  Json,
  ReadResourceResult,
} from "../../core/model.ts";
import { brief } from "../../schema/run.ts";
import { content, contents } from "./content.ts";
import { array, bad, isNumber, present, string } from "./members.ts";

/** Values in one completion: the protocol's own limit. */
const COMPLETION_VALUES = 100;

/** A tool's result. Structured content is repeated as text if no block has text: many clients read nothing else. */
export function tidyToolResult(output: Json): CallToolResult {
  const result = present(output, "the result");
  const { structuredContent: structured, content: given, isError } = result;
  const blocks =
    given === undefined ? noBlocks(result) : array(given, "the result's content").map(content);
  const isRead = structured === undefined || blocks.some((one) => one.type === "text" && one.text);
  return {
    ...result,
    content: isRead ? blocks : [...blocks, inText(structured)],
    ...(isError === undefined ? {} : { isError: isTrue(isError) }),
  };
}

const KNOWN = new Set(["content", "structuredContent", "isError", "_meta"]);

/** No content, for a result without other members; a result with others is not what its author intended. */
function noBlocks(result: Json): [] {
  const other = Object.keys(result).find((key) => !KNOWN.has(key));
  if (other === undefined) return [];
  throw bad(
    `the result has \`${brief(other)}\` and no content. Return \`content\`, a list of blocks such as {"type": "text", "text": "…"}`,
  );
}

/** The text beside structured content that is too long to repeat. */
export const NOT_REPEATED =
  "The result is in `structuredContent`. It is too long to be repeated here.";

function inText(structured: unknown): McpContentBlock {
  const text = JSON.stringify(structured);
  return { type: "text", text: text.length <= limits.repeatedCharacters ? text : NOT_REPEATED };
}

/**
 * Reads `isError`. An error must not pass for a success, so only values that every language reads as false are false.
 */
const isTrue = (value: unknown): boolean => Boolean(value) && value !== "false";

/** Reads `contents`, or the older `content`, whose blocks have no uri. */
export function tidyReadResult(output: Json, uri: string): ReadResourceResult {
  const { contents: newer, content: older, ...rest } = present(output, "the result");
  const all = array(newer ?? older, "the result's contents");
  if (!isNumber(rest["ttlMs"])) delete rest["ttlMs"];
  if (rest["cacheScope"] !== "public" && rest["cacheScope"] !== "private")
    delete rest["cacheScope"];
  return { ...rest, contents: all.map((one) => contents(one, uri)) };
}

export function tidyPromptResult(output: Json): GetPromptResult {
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
      values: values.slice(0, COMPLETION_VALUES).map((one) => string(one, "a completion's value")),
      ...(values.length > COMPLETION_VALUES ? { total, hasMore: true } : {}),
    },
  };
}
