import { Refusal } from "../refusal.ts";

/**
 * Matches a group of Rust's regular expressions that has another meaning in JavaScript, in a pattern without escapes.
 */
const RUST_GROUP = /\(\?(?!:|<[A-Za-z_])/;
const RUST_CLASS = /\[(?:\^?\]|[^\]]*(?:\[|&&|--|~~))/;
const RUST_ESCAPE = /\\(?:[AzpPQEGaU<>]|[xu]\{|b\{)/;

/**
 * Converts a pattern of hyper-mcp's `skip_…` to one of `servlet.json`, which must match the whole name. hyper-mcp
 * adds `^` and `$` unless the pattern has one of them, and then searches for the pattern anywhere in the name.
 *
 * Throws a `Refusal` for syntax that JavaScript lacks: leaving the pattern out would expose what it hides.
 */
export function wholePattern(rust: string): string {
  const isAnchored = /^(?:\^|\\A)/.test(rust) || /(?:\$|\\z)$/.test(rust);
  const pattern = rust.replace(/^\\A/, "^").replace(/\\z$/, "$");
  const bare = pattern.replace(/\\./g, "x");
  if (RUST_ESCAPE.test(pattern) || RUST_GROUP.test(bare) || RUST_CLASS.test(bare)) {
    throw new Refusal(
      `the pattern ${rust} has syntax of Rust's regular expressions that JavaScript's lack: write it without`,
    );
  }
  const hasChoice = withoutGroups(bare.replace(/\[[^\]]*\]/g, "x")).includes("|");
  if (!isAnchored) return hasChoice ? anywhere(`^${pattern}$`) : pattern;
  return !hasChoice && /^\^.*\$$/.test(bare) ? pattern : anywhere(pattern);
}

const anywhere = (pattern: string) => `[^]*(?:${pattern})[^]*`;

function withoutGroups(pattern: string): string {
  const fewer = pattern.replace(/\([^()]*\)/g, "x");
  return fewer === pattern ? pattern : withoutGroups(fewer);
}
