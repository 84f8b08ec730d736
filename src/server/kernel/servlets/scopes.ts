import { UPLOAD_FILE } from "../core/files.ts";
import { fits } from "../core/glob.ts";
import { limits } from "../core/limits.ts";
import { OPERATOR_SCOPE } from "../core/model.ts";

/**
 * The patterns of each scope: `servlet:name`, with the name of a tool or prompt or the URI of a resource. `*` stands
 * for any characters on its side of the first colon.
 */
export type Scopes = Readonly<Record<string, readonly string[]>>;

/** Kinds of entries. Views and the files of skills are resources that the server serves itself. */
export type EntryKind = "tools" | "prompts" | "resources" | "skills" | "views";

/** True if an entry of a servlet may be used, by its own name (for a resource: its URI). */
export type May = (servlet: string, name: string, kind?: EntryKind) => boolean;

/** The server's own servlets: one for all callers, one for those with the scope `operator`. */
export const SERVER_SERVLET = "server";
export const OPERATOR_SERVLET = "server-operator";

/** Names that no other servlet may have: grants of its tools would not be checked, or no caller could use them. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  SERVER_SERVLET,
  OPERATOR_SERVLET,
  // The prefix of profiles' scopes.
  "profile",
]);

/** The tool by which a client gets the result of a call that waited. */
export const GET_RESULT = "get_result";

/** The tool that waits for the next event of a type. */
export const WAIT_FOR_EVENT = "wait_for_event";

/** The tool by which a client reads a stored file in parts. */
export const READ_STORED_FILE = "read_stored_file";

/** The tools by which a model finds and calls other tools, where tools are searched. */
export const SEARCH_TOOL = "search_tools";
export const CALL_TOOL = "call_tool";

/** True for the tools that find and call other tools. */
export const isForSearch = (servlet: string, own: string): boolean =>
  servlet === SERVER_SERVLET && (own === SEARCH_TOOL || own === CALL_TOOL);

/** Tools of these servlets, whose names are reserved: clients would call the wrong one. */
export const RESERVED_TOOLS = [
  GET_RESULT,
  SEARCH_TOOL,
  CALL_TOOL,
  WAIT_FOR_EVENT,
  "list_resources",
  "read_resource",
  "list_prompts",
  "get_prompt",
  UPLOAD_FILE,
  READ_STORED_FILE,
  "list_servlets",
  "install_servlet",
  "uninstall_servlet",
] as const;

/** The grants of a caller without scopes: everything except operator tools. */
export const mayUnscoped: May = (servlet) => servlet !== OPERATOR_SERVLET;

export const patternsBy = (scopes: readonly string[], configured: Scopes): string[] =>
  scopes.flatMap((scope) => patternsOf(scope, configured));

/** The grants of these scopes, as configured; a scope may itself be a pattern. */
export function mayBy(scopes: readonly string[], configured: Scopes): May {
  const patterns = patternsBy(scopes, configured);
  return (servlet, name) =>
    servlet === SERVER_SERVLET ||
    (servlet === OPERATOR_SERVLET
      ? scopes.includes(OPERATOR_SCOPE)
      : patterns.some((pattern) => grants(pattern, servlet, name)));
}

/**
 * True if a pattern has this name of a servlet. Splits at the first colon only: URIs contain colons and may be chosen
 * by callers, so they must not match the servlet's part.
 */
export function grants(pattern: string, servlet: string, name: string): boolean {
  const colon = pattern.indexOf(":");
  if (colon < 0) return false;
  return fits(pattern.slice(0, colon), servlet) && fits(pattern.slice(colon + 1), name);
}

/** The first of these scopes that grants more than `own`; undefined if none does, as for an owner without scopes. */
export function beyondOwn(
  scopes: readonly string[],
  own: readonly string[] | undefined,
  configured: Scopes,
): string | undefined {
  if (own === undefined) return undefined;
  const patterns = patternsBy(own, configured);
  const isOwn = (wanted: string) => {
    if (wanted.startsWith(PROFILE))
      return grantsProfile(own, configured, wanted.slice(PROFILE.length));
    // A pattern that matches the text of another, asterisks included, grants everything that the other grants.
    const [servlet = "", name = ""] = wanted.split(/:(.*)/s);
    return patterns.some((pattern) => grants(pattern, servlet, name));
  };
  return scopes.find(
    (scope) => !own.includes(scope) && !patternsOf(scope, configured).every(isOwn),
  );
}

/**
 * The scopes that grant what both lists grant; undefined if neither limits anything. Of two patterns that only overlap,
 * neither is granted.
 */
export function commonScopes(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
  configured: Scopes,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) {
    // A missing list grants everything but the scope `operator`.
    return (one ?? other)?.filter((scope) => scope !== OPERATOR_SCOPE);
  }
  const within = (some: readonly string[], all: readonly string[]) =>
    some
      .flatMap((scope) => (all.includes(scope) ? [scope] : patternsOf(scope, configured)))
      .filter((scope) => beyondOwn([scope], all, configured) === undefined);
  return [...new Set([...within(one, other), ...within(other, one)])];
}

/** True if a scope grants anything: it is configured, or a pattern that matches one of the servlets or profiles. */
export function isScope(
  scope: string,
  configured: Scopes = {},
  { servlets, profiles }: { servlets: readonly string[]; profiles: readonly string[] },
): boolean {
  return (
    patternsOf(scope, configured).some((pattern) =>
      servlets.some((name) => fits(pattern.split(":")[0]!, name)),
    ) || profiles.some((name) => grantsProfile([scope], configured, name))
  );
}

const PROFILE = "profile:";

/** True if these scopes grant the profile. A pattern with `*` for the servlet does not: it refers to tools. */
export const grantsProfile = (
  scopes: readonly string[],
  configured: Scopes,
  profile: string,
): boolean =>
  patternsBy(scopes, configured).some(
    (pattern) => pattern.startsWith(PROFILE) && fits(pattern.slice(PROFILE.length), profile),
  );

/** A scope that grants this entry. */
export function scopeFor(servlet: string, name: string, configured: Scopes): string {
  const isEnough = ([, patterns]: [string, readonly string[]]) =>
    patterns.some((pattern) => grants(pattern, servlet, name));
  return Object.entries(configured).find(isEnough)?.[0] ?? `${servlet}:${name}`;
}

/** The patterns of a scope. A client may request its own pattern, of at most `limits.idCharacters`. */
function patternsOf(scope: string, configured: Scopes): readonly string[] {
  if (Object.hasOwn(configured, scope)) return configured[scope]!;
  return scope.includes(":") && scope.length <= limits.idCharacters ? [scope] : [];
}
