/** Which servlets and tools a scope is for: each a pattern `servlet:tool`, in which `*` stands for anything. */
export type Scopes = Readonly<Record<string, readonly string[]>>;

/** May what a servlet offers be used, by its own name (of a resource: its URI)? */
export type May = (servlet: string, name: string) => boolean;

/** What these scopes are for, as the configuration says; a scope may be a pattern itself. */
export function mayBy(scopes: readonly string[], configured: Scopes): May {
  const patterns = scopes
    .flatMap((scope) => configured[scope] ?? (scope.includes(":") ? [scope] : []))
    .map(matching);
  return (servlet, name) => patterns.some((pattern) => pattern.test(`${servlet}:${name}`));
}

/** A scope that would be enough. */
export function scopeFor(servlet: string, name: string, configured: Scopes): string {
  const what = `${servlet}:${name}`;
  const fits = ([, patterns]: [string, readonly string[]]) =>
    patterns.some((pattern) => matching(pattern).test(what));
  return Object.entries(configured).find(fits)?.[0] ?? what;
}

const matching = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`, "s");
