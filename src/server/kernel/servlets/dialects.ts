import { hyperV1 } from "./hyper/v1.ts";
import { hyperV2 } from "./hyper/v2.ts";
import type { Dialect } from "./servlet.ts";

/** The dialects that servlets speak, by the names that the manifest uses. */
export const dialects = {
  "hyper-v2": hyperV2,
  "hyper-v1": hyperV1,
  "mcp-run": hyperV1,
} satisfies Record<string, Dialect>;

export type DialectName = keyof typeof dialects;
export const dialectNames = Object.keys(dialects) as DialectName[];

/** The dialect of a plugin with these exports; undefined if it is not a servlet. */
export function dialectOf(exports: readonly string[]): DialectName | undefined {
  const has = (name: string) => exports.includes(name);
  // First: newer plugins also export names of the older interface, with another input.
  if (has("call_tool") || has("list_tools") || has("receive_webhook")) return "hyper-v2";
  if (!has("call") || !has("describe")) return undefined;
  return has("list_resources") || has("read_resource") ? "mcp-run" : "hyper-v1";
}
