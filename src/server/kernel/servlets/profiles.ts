/** Profiles: named subsets of what the server offers, each with an endpoint of its own, `/mcp/NAME`. */
import { fits } from "../core/glob.ts";
import { Fault } from "../core/errors.ts";
import { isObject, type Json, type Tool } from "../core/model.ts";
import { percentDecoded } from "../core/text.ts";
import { checkOf, describeIssues } from "./checks.ts";
import {
  GET_RESULT,
  grants,
  isForSearch,
  OPERATOR_SERVLET,
  SERVER_SERVLET,
  type May,
} from "./scopes.ts";

/** A profile of `profiles.json`. Its patterns are `servlet:name`, as in scopes. */
export interface Profile {
  title?: string | undefined;
  description?: string | undefined;
  /** For models, in place of the server's instructions. */
  instructions?: string | undefined;
  /** Globs. All entries of these servlets are in the profile, except kinds for which it has patterns. */
  servlets?: readonly string[] | undefined;
  /**
   * With `search`, the tools of `servlets`, of which only `listed` are listed; the others are found by `search_tools`.
   */
  tools?: readonly string[] | "search" | undefined;
  listed?: readonly string[] | undefined;
  /** What tools list and read, for clients that have only tools. */
  as_tools?: readonly ("resources" | "prompts")[] | undefined;
  prompts?: readonly string[] | undefined;
  /** Patterns for templates, too. */
  resources?: readonly string[] | undefined;
  /** A skill is named by its folder. */
  skills?: readonly string[] | undefined;
  /** Arguments that the profile sets in every call of a tool, by the tool's pattern. */
  arguments?: Readonly<Record<string, Json>> | undefined;
}

/** Profiles by name; the one with the empty name configures how the whole server lists its tools. */
export type Profiles = Readonly<Record<string, Profile>>;

export const PROFILE_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Names that no profile may have: these paths below `/mcp` belong to the server. */
export const RESERVED_PROFILES: ReadonlySet<string> = new Set(["server-card"]);

/** The kinds of entries whose patterns a profile may name. */
export const PATTERN_KINDS = ["tools", "prompts", "resources", "skills"] as const;

/** The names of the profiles with their own endpoints. */
export const endpointsOf = (profiles: Profiles = {}): string[] =>
  Object.keys(profiles).filter((name) => name !== "");

/** The profile with this name; undefined for an unknown one. */
export const profileOf = (profiles: Profiles | undefined, name: string): Profile | undefined =>
  profiles !== undefined && Object.hasOwn(profiles, name) ? profiles[name] : undefined;

function patternsOf(
  { servlets = [], ...kinds }: Profile,
  kind: (typeof PATTERN_KINDS)[number],
): readonly string[] {
  const own = kinds[kind];
  return own === undefined || own === "search" ? servlets.map((one) => `${one}:*`) : own;
}

/** The server's own tools that are needed to call other tools. */
export const isBasic = (servlet: string, name: string): boolean =>
  isForSearch(servlet, name) || (servlet === SERVER_SERVLET && name === GET_RESULT);

/** True for a servlet that may have entries in the profile. */
const touches = (profile: Profile, servlet: string): boolean =>
  servlet === SERVER_SERVLET ||
  (servlet !== OPERATOR_SERVLET &&
    PATTERN_KINDS.flatMap((kind) => patternsOf(profile, kind)).some((pattern) =>
      fits(pattern.split(":", 1)[0]!, servlet),
    ));

/** The servlets that may have entries in the profile; none for an unknown profile. */
export const servedIn = <T extends { name: string }>(
  servlets: readonly T[],
  profile: Profile | undefined,
): T[] => (profile === undefined ? [] : servlets.filter(({ name }) => touches(profile, name)));

/**
 * The entries of a profile. It always includes the server's own tools, which are of use to its entries alone, and the
 * views of its servlets, which show results; it never includes the tools of operators.
 */
export function mayIn(profile: Profile | undefined): May {
  if (profile === undefined) return () => false;
  const patterns = Object.fromEntries(
    PATTERN_KINDS.map((kind) => [kind, patternsOf(profile, kind)]),
  );
  return (servlet, name, kind = "resources") => {
    if (servlet === OPERATOR_SERVLET) return false;
    if (kind === "views") return touches(profile, servlet);
    if (isBasic(servlet, name)) return true;
    if (servlet === SERVER_SERVLET && kind === "tools") return true;
    const names = kind === "skills" ? skillsWith(servlet, name) : [name];
    return names.some((one) => patterns[kind]!.some((pattern) => grants(pattern, servlet, one)));
  };
}

/** The names of the skills that contain a file: of its folder, and of enclosing folders. */
function skillsWith(servlet: string, uri: string): string[] {
  const path = decodeURIComponent(uri.slice("skill://".length));
  const own = servlet === SERVER_SERVLET ? path : path.slice(servlet.length + 1);
  const folders = own.split("/").slice(0, -1);
  return folders.map((_one, at) => folders.slice(0, at + 1).join("/"));
}

/** The values that a profile pins for a tool's arguments. */
export const pinsFor = (profile: Profile | undefined, servlet: string, tool: Tool): Json =>
  // A pattern such as `*:*` would match the arguments of `call_tool`, and leave it nothing to call.
  servlet === SERVER_SERVLET ? {} : valuesFor(profile?.arguments ?? {}, servlet, tool);

/**
 * The arguments that patterns pin for a tool: a pattern of its own name takes precedence over patterns with `*`, which
 * pin only arguments that it has.
 */
export function valuesFor(
  all: NonNullable<Profile["arguments"]>,
  servlet: string,
  tool: Tool,
): Json {
  const own = `${servlet}:${tool.name}`;
  const fitting = Object.entries(all).filter(
    ([pattern]) => pattern !== own && grants(pattern, servlet, tool.name),
  );
  const common = fitting
    .flatMap(([, values]) => Object.entries(values))
    .filter(([name]) => mayHave(tool, name));
  return { ...Object.fromEntries(common), ...(Object.hasOwn(all, own) && all[own]) };
}

/** Keywords by which a schema can have properties outside its `properties`. */
const APPLYING = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "dependentSchemas",
  "dependencies",
];

/** Keywords that may make the rest of a schema mean something else if a property is removed. */
const ENTANGLING = [
  ...APPLYING,
  "not",
  "dependentRequired",
  "minProperties",
  "maxProperties",
  "propertyNames",
  "unevaluatedProperties",
];

/** True for a tool with such an argument, even if only another part of its schema may have it. */
function mayHave({ inputSchema }: Tool, name: string): boolean {
  if (Object.hasOwn(inputSchema.properties ?? {}, name)) return true;
  const isApplied = APPLYING.some((one) => Object.hasOwn(inputSchema, one));
  return isApplied && JSON.stringify(inputSchema).includes(`${JSON.stringify(name)}:`);
}

/** The tool without its pinned arguments, or the reason they cannot be pinned. */
export function pinned(tool: Tool, values: Json): Tool | string {
  const { properties = {}, required, examples, ...rest } = tool.inputSchema;
  const names = Object.keys(values);
  const keyword = ENTANGLING.find((one) => Object.hasOwn(rest, one));
  if (keyword !== undefined)
    return `its inputSchema has ${keyword} at the top, on which an argument may depend`;
  const missing = names.find((name) => !Object.hasOwn(properties, name));
  if (missing !== undefined) return `it has no argument ${missing}`;
  const without = (from: Json): Json =>
    Object.fromEntries(Object.entries(from).filter(([name]) => !Object.hasOwn(values, name)));
  const inputSchema: Tool["inputSchema"] = {
    ...rest,
    properties: without(properties) as NonNullable<Tool["inputSchema"]["properties"]>,
    ...(required && { required: required.filter((name) => !Object.hasOwn(values, name)) }),
    ...(Array.isArray(examples) && {
      examples: examples.map((one: unknown) => (isObject(one) ? without(one) : one)),
    }),
    ...(isObject(rest["default"]) && { default: without(rest["default"]) }),
  };
  const pointed = names.find((name) => refersTo(inputSchema, name));
  if (pointed !== undefined) return `another part of its inputSchema refers to ${pointed}`;
  const check = checkOf({ ...tool.inputSchema, required: names }, { name: "inputSchema" });
  try {
    const issues = check(values);
    return issues === undefined ? { ...tool, inputSchema } : describeIssues(issues);
  } catch (error) {
    return Fault.from(error).message;
  }
}

/**
 * True if a reference in the schema may lead to this property: directly, by an anchor, a URL, or to the whole schema.
 */
function refersTo(schema: object, property: string): boolean {
  const pointer = `#/properties/${property.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const mayLead = (ref: string) =>
    !ref.startsWith("#/") || ref === pointer || ref.startsWith(`${pointer}/`);
  let found = false;
  JSON.stringify(schema, (key, value: unknown) => {
    const isReference = key === "$ref" || key === "$dynamicRef";
    if (isReference && typeof value === "string" && mayLead(percentDecoded(value))) found = true;
    return value;
  });
  return found;
}
