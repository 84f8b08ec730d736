import { fits } from "../glob.ts";
import { limits } from "../limits.ts";

/** Which servlets and tools a scope is for: each a pattern `servlet:tool`, in which `*` stands for anything. */
export type Scopes = Readonly<Record<string, readonly string[]>>;

/** May what a servlet offers be used, by its own name (of a resource: its URI)? */
export type May = (servlet: string, name: string) => boolean;

/** What these scopes are for, as the configuration says; a scope may be a pattern itself. */
export function mayBy(scopes: readonly string[], configured: Scopes): May {
  const patterns = scopes.flatMap((scope) => patternsOf(scope, configured));
  return (servlet, name) => patterns.some((pattern) => fits(pattern, `${servlet}:${name}`));
}

/** Is this scope for something, as the configuration or the names of servlets say? Where it knows no scopes, none is. */
export function isScope(
  scope: string,
  configured: Scopes | undefined,
  servlets: readonly string[],
): boolean {
  if (configured === undefined) return false;
  return patternsOf(scope, configured).some((pattern) =>
    servlets.some((name) => fits(pattern.split(":")[0]!, name)),
  );
}

/** A scope that would be enough. */
export function scopeFor(servlet: string, name: string, configured: Scopes): string {
  const what = `${servlet}:${name}`;
  const isFor = ([, patterns]: [string, readonly string[]]) =>
    patterns.some((pattern) => fits(pattern, what));
  return Object.entries(configured).find(isFor)?.[0] ?? what;
}

/** A client may name a pattern of its own: none that is needed is longer than `limits.idCharacters`. */
function patternsOf(scope: string, configured: Scopes): readonly string[] {
  if (Object.hasOwn(configured, scope)) return configured[scope]!;
  return scope.includes(":") && scope.length <= limits.idCharacters ? [scope] : [];
}
