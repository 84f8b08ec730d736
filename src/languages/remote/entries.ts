/** Which entries of another MCP server's lists can be served, and in which shape `remote.json` has them. */
import * as z from "zod";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { shortened, textIn } from "../../server/kernel/core/text.ts";

/** Characters of a description. */
const MOST_DESCRIPTION = 8000;
/** Levels of an entry: the bundle step, the interpreter and clients go through schemas by recursion. */
const MOST_LEVELS = 64;

// A member that is not valid is left out where the entry can be served without it.
const words = z.optional(z.string()).catch(undefined);
const hint = z.optional(z.boolean()).catch(undefined);
const described = {
  title: words,
  description: words.transform((given) => given && shortened(given, MOST_DESCRIPTION)),
};

/** A JSON Schema, which zod does not copy: the copy would lack members such as `__proto__`. */
const jsonSchema = (error: string, isFit: (given: Json) => boolean = isObject) =>
  z.custom<Json>((given) => isObject(given) && isFit(given), error);

/** A name that can be shown. */
const shownName = (error: string) =>
  z.string(error).regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,200}$/u, error);

/** Views are not passed on, and resources of the other schemes are this server's. */
const URI = /^(?!(?:ui|event|stored-file|skill):)[a-z][a-z\d+.-]*:\S+$/i;
const uri = z.string().regex(URI, "its URI has no scheme, or one of this server");

const TOOL = z.object({
  name: z
    .string()
    .regex(
      /^[\w.-]{1,100}$/,
      "its name has other characters than letters, digits, _, - and ., or is too long",
    ),
  ...described,
  inputSchema: jsonSchema(
    "its input schema does not describe an object",
    ({ type }) => type === "object",
  ).refine(
    (given) => !hasWrongHeaders(given),
    "its schema repeats arguments in headers (x-mcp-header) that cannot be",
  ),
  outputSchema: z.optional(jsonSchema("its output schema is not an object")),
  annotations: z
    .optional(
      z.object({
        title: words,
        readOnlyHint: hint,
        destructiveHint: hint,
        idempotentHint: hint,
        openWorldHint: hint,
      }),
    )
    .catch(undefined),
  execution: z.optional(
    z.object(
      {
        taskSupport: z.optional(
          z.enum(
            ["optional", "required", "forbidden"],
            "it must be run in a way that is not known",
          ),
        ),
      },
      "its execution is not an object",
    ),
  ),
});

const contents = { name: words, ...described, mimeType: words };
const RESOURCE = z
  .object({ uri, ...contents, size: z.optional(z.number()).catch(undefined) })
  .transform((one) => ({ ...one, name: one.name ?? one.uri }));
const TEMPLATE = z
  .object({ uriTemplate: uri, ...contents })
  .transform((one) => ({ ...one, name: one.name ?? one.uriTemplate }));

const NO_LIST = "its arguments are not a list of names";
const PROMPT = z.object({
  name: shownName("its name is empty or too long, or has characters that cannot be shown"),
  ...described,
  arguments: z.optional(
    z.array(z.object({ name: shownName(NO_LIST), ...described, required: hint }, NO_LIST), NO_LIST),
  ),
});

/** The tools that can be served. These functions add the other entries to `left`, with reasons. */
export const toolsIn = (entries: readonly Json[], left: string[]) =>
  // Ids of Open Tool Calling have no dots in names.
  served(entries, TOOL, left, (tool) => tool.name.replaceAll(".", "_"));

export const resourcesIn = (entries: readonly Json[], left: string[]) =>
  served(entries, RESOURCE, left, (resource) => resource.uri);

export const templatesIn = (entries: readonly Json[], left: string[]) =>
  served(entries, TEMPLATE, left, (template) => template.uriTemplate);

export const promptsIn = (entries: readonly Json[], left: string[]) =>
  served(entries, PROMPT, left, (prompt) => prompt.name);

/** The entries of this shape, one for each key. */
function served<T>(
  entries: readonly Json[],
  shape: z.ZodType<T>,
  left: string[],
  keyOf: (entry: T) => string,
): T[] {
  const found = new Map<string, T>();
  const leftOut = (entry: Json): string | undefined => {
    if (isDeeper(entry, MOST_LEVELS)) return `it is nested more than ${MOST_LEVELS} levels deep`;
    // Some servers write null for a member that they do not have.
    const given = Object.entries(entry).filter(([, value]) => value !== null);
    const { data, error } = shape.safeParse(Object.fromEntries(given));
    if (data === undefined) return error?.issues[0]?.message;
    const key = keyOf(data);
    if (found.has(key)) return `${key} is there already`;
    found.set(key, data);
    return undefined;
  };
  for (const entry of entries) {
    const why = leftOut(entry);
    const named = [entry["uri"], entry["uriTemplate"], entry["name"]].map(textIn).find(Boolean);
    if (why !== undefined) left.push(`${JSON.stringify(shortened(named ?? "", 80))}: ${why}`);
  }
  return [...found.values()];
}

/** True if a value has more levels of objects and lists than this. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)));

/**
 * True if arguments would be repeated in headers that have no name, the same name, or no simple value.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
 */
export function hasWrongHeaders(schema: Json): boolean {
  const names = new Set<string>();
  const isWrong = (one: unknown): boolean => {
    if (!isObject(one) || !isObject(one["properties"])) return false;
    return Object.values(one["properties"]).some((property) => {
      if (!isObject(property)) return false;
      const { "x-mcp-header": name, type } = property;
      if (name !== undefined) {
        const text = textIn(name).toLowerCase();
        const isFit = /^[!#$%&'*+.^_`|~\w-]+$/.test(text) && !names.has(text);
        if (!isFit || !["string", "integer", "boolean"].includes(String(type))) return true;
        names.add(text);
      }
      return isWrong(property);
    });
  };
  return isWrong(schema);
}
