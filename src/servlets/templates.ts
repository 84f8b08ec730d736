import { limits } from "../limits.ts";
import { Pattern } from "../schema/pattern.ts";
import type { Steps } from "../schema/steps.ts";

/** Returns true if a URI matches the template. Throws `StepsExceeded`. */
export type TemplateMatcher = (uri: string, steps: Steps) => boolean;

/**
 * The matcher of a URI template; one that is too long matches nothing.
 * https://www.rfc-editor.org/rfc/rfc6570
 */
export function templateMatcher(template: string): TemplateMatcher {
  if (template.length > limits.templateCharacters) return () => false;
  const [start = "", ...rest] = template.split(/(\{[^{}]*\})/);
  const pattern = new Pattern(`^${rest.map(sourceOf).join("")}$`);
  return (uri, steps) => uri.startsWith(start) && pattern.test(uri.slice(start.length), steps);
}

/** A part of a template, an expression or not, as a regular expression. */
function sourceOf(part: string): string {
  if (!part.startsWith("{") || !part.endsWith("}"))
    return part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
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
