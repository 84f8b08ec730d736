import { limits } from "../core/limits.ts";
import { Pattern } from "../schema/pattern.ts";
import type { Steps } from "../schema/steps.ts";

/** Returns true if a URI matches the template. Throws `StepsExceeded`. */
export type TemplateMatcher = (uri: string, steps: Steps) => boolean;

/**
 * The matcher of a URI template; an overlong template matches nothing.
 * https://www.rfc-editor.org/rfc/rfc6570
 */
export function templateMatcher(template: string): TemplateMatcher {
  if (template.length > limits.templateCharacters) return () => false;
  const [start = "", ...rest] = partsOf(template);
  const pattern = new Pattern(`^${rest.map(sourceOf).join("")}$`);
  return (uri, steps) => uri.startsWith(start) && pattern.test(uri.slice(start.length), steps);
}

const partsOf = (template: string): string[] => template.split(/(\{[^{}]*\})/);
const isExpression = (part: string) => part.startsWith("{") && part.endsWith("}");

/**
 * Negative if URIs that match both templates belong to the first: the one with the longer literal prefix, else with
 * more literal characters, else with fewer expressions that match slashes.
 */
export function compareTemplates(first: string, second: string): number {
  const ranks = [first, second].map((template) => {
    const parts = partsOf(template);
    const expressions = parts.filter(isExpression);
    const wide = expressions.filter((one) => /^.[+#/?&]/.test(one)).length;
    return [parts[0]!.length, template.length - expressions.join("").length, -wide];
  });
  const [one, other] = ranks as [number[], number[]];
  const at = one.findIndex((rank, index) => rank !== other[index]);
  return at < 0 ? 0 : other[at]! - one[at]!;
}

/** A short URI that matches the template. */
export const sampleOf = (template: string): string =>
  partsOf(template)
    .map((part) => {
      if (!isExpression(part)) return part;
      const [, sign = ""] = /^\{([#/?&.;]?)/.exec(part) ?? [];
      return `${sign}x`;
    })
    .join("");

/** A literal or an expression of a template, as a regular expression. */
function sourceOf(part: string): string {
  if (!isExpression(part)) return part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  switch (part[1]) {
    case "+":
      return ".+";
    case "#":
      return "(?:#.*)?";
    case "/":
      return "(?:/[^?#]*)?";
    case "?":
    case "&":
      return `(?:[${part[1]}][^#]*)?`;
    case ".":
    case ";":
      return `(?:[${part[1]}][^/?#]*)?`;
    default:
      return "[^/?#]+";
  }
}
