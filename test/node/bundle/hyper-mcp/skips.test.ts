import { describe, expect, test } from "vitest";
import { wholePattern } from "../../../../src/tools/bundle/hyper-mcp/skips.ts";
import { wholeMatch } from "../../../../src/server/kernel/servlets/catalog.ts";

/** Names that hyper-mcp hides by a pattern, and names that it offers. */
describe("a pattern of Rust", () => {
  test.each([
    ["debug_tool", ["debug_tool"], ["debug_tool2", "a_debug_tool"]],
    ["temp_.*", ["temp_", "temp_a"], ["my_temp_a"]],
    ["test_(unit|integration)", ["test_unit", "test_integration"], ["test_", "integration"]],
    ["[a|b]x", ["ax", "|x"], ["cx"]],
    // Only the ends that it puts ^ and $ at hold for a choice without a group.
    ["a|b", ["a", "b", "ax", "xb"], ["xa", "bx"]],
    ["^system_.*", ["system_", "system_a"], ["my_system_a"]],
    ["^admin", ["admin", "admin_a"], ["my_admin"]],
    [".*_internal$", ["a_internal"], ["a_internal_b"]],
    ["^exact_only$", ["exact_only"], ["exact_only_not"]],
    ["\\Aab\\z", ["ab"], ["abc", "cab"]],
    ["file\\.exe", ["file.exe"], ["fileXexe"]],
    ["cost\\$", ["cost$", "cost$s"], ["cost"]],
    ["(?<n>x)y", ["xy"], ["y"]],
  ])("%s", (rust, hidden, offered) => {
    const skips = wholeMatch([wholePattern(rust)]);
    expect(hidden.filter((name) => !skips(name))).toEqual([]);
    expect(offered.filter(skips)).toEqual([]);
  });

  test.each([
    "(?i)debug",
    "(?P<n>x)",
    "\\p{L}+",
    "[[:alpha:]]+",
    "[a-z&&[^b]]",
    "\\x{61}",
    "a\\zb",
  ])("%s is refused: JavaScript has no such syntax", (rust) =>
    expect(() => wholePattern(rust)).toThrow(/syntax of Rust's/),
  );
});
