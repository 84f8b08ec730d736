/** Which arguments of a call do pages show? No secrets, and beginnings. */
import { limits } from "../core/limits.ts";
import { isObject } from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";
import { printableLine, shortened } from "../core/text.ts";
import { NAMED_SCHEMA_KEYWORDS, References, SCHEMA_KEYWORDS } from "../schema/references.ts";
import type { Entry } from "../servlets/registry.ts";
import { inputOf } from "./call-ref.ts";

/** A call as lists show it. */
export interface AboutCall {
  servlet: string;
  /** Its first arguments: `environment: production, version: 1.2.0`. */
  arguments: string;
}

/** Arguments on a page and in a list, and characters of each in a list. */
const SHOWN = 50;
const LISTED = 3;
const LISTED_CHARACTERS = 40;

const HIDDEN = "(hidden)";

/** Names of arguments that may hold a secret, whatever their schema says. */
const SECRET =
  /pass(word|phrase|wd|code)|^(pass|pwd|pin|otp|cvv|cvc)$|secret|token|(api|access|private)[-_]?key|credential|authorization|bearer|cookie/i;

/** Parts of addresses: who they are for, and the parameters. */
const ADDRESS = /(:\/\/)[^\s/?#@]*@|([?&;#])([^\s=&;?#]*)=[^\s&;#]*/g;

/** A text without what its addresses may have of secrets. */
const withoutCredentials = (text: string): string =>
  text.replace(ADDRESS, (all, scheme?: string, mark?: string, name?: string) =>
    scheme !== undefined
      ? `${scheme}${HIDDEN}@`
      : SECRET.test(name!)
        ? `${mark}${name}=${HIDDEN}`
        : all,
  );

/** Schemas of one schema that are looked through. */
const SCHEMAS = 100_000;

/**
 * Names of the properties that a schema declares as secrets, at any depth. The empty name stands for all: for properties
 * whose names the schema leaves open, and where there are too many to look at.
 */
const secretsOf = oncePer((root: object): ReadonlySet<string> => {
  const found = new Set<string>();
  const references = new References(root);
  const seen = new Map<object, Set<string>>();
  const rest: [schema: unknown, name: string][] = [[root, ""]];
  let left = SCHEMAS;
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [schema, name] = next;
    if (!isObject(schema)) continue;
    const names = seen.getOrInsertComputed(schema, () => new Set());
    if (names.has(name)) continue;
    names.add(name);
    if (left-- === 0) return new Set([""]);
    const { format, writeOnly, $ref } = schema;
    if (format === "password" || writeOnly === true) found.add(name);
    if (typeof $ref === "string")
      rest.push([references.resolve($ref, references.homeOf(schema))?.schema, name]);
    for (const [key, value] of Object.entries(schema)) {
      if (SCHEMA_KEYWORDS.has(key)) for (const one of [value].flat()) rest.push([one, name]);
      else if (NAMED_SCHEMA_KEYWORDS.has(key) && isObject(value))
        for (const [own, one] of Object.entries(value))
          rest.push([one, key === "properties" ? own : name]);
    }
  }
  return found;
});

type Shown = Pick<Entry, "tool"> | undefined;

/** Tells which arguments are hidden from people. Numbers and booleans never are. */
function hides(entry: Shown): (name: string, value: unknown) => boolean {
  const declared = entry?.tool ? secretsOf(entry.tool.tool.inputSchema) : undefined;
  return (name, value) =>
    declared?.has(name) === true ||
    declared?.has("") === true ||
    (SECRET.test(name) && typeof value !== "number" && typeof value !== "boolean");
}

/** The beginnings of arguments, as text. */
export function shownArguments(args: unknown, entry?: Shown): Record<string, string> {
  const isHidden = hides(entry);
  const all = isObject(args) ? Object.entries(args).slice(0, SHOWN) : [];
  return Object.fromEntries(
    all.map(([name, value]) => {
      if (isHidden(name, value)) return [name, HIDDEN];
      const text =
        typeof value === "string" ? withoutCredentials(value) : withoutSecrets(value, isHidden);
      return [name, shortened(text, limits.pageCharacters)];
    }),
  );
}

/** A value as JSON, without what looks like a secret. */
export const withoutSecrets = (value: unknown, isHidden = hides(undefined)): string =>
  JSON.stringify(value, (name, one: unknown) => {
    if (isHidden(name, one)) return HIDDEN;
    return typeof one === "string" ? withoutCredentials(one) : one;
  }) ?? "";

/** A value in a few words; a list of plain values has its first ones, and any other their number. */
function briefly(value: unknown): string {
  if (isObject(value)) return "{…}";
  if (!Array.isArray(value)) return withoutCredentials(String(value));
  const first = value.slice(0, LISTED);
  if (value.length === 0) return "none";
  if (first.some((one) => typeof one === "object" && one !== null))
    return `${value.length} ${value.length === 1 ? "item" : "items"}`;
  const more = value.length > first.length ? ["…"] : [];
  return [...first.map(briefly), ...more].join(" | ");
}

/** The words for a call in lists. Its task keeps them as long as it exists. */
export function aboutOf(entry: Pick<Entry, "ref" | "servlet" | "tool">): AboutCall {
  const { ref, servlet } = entry;
  const isHidden = hides(entry);
  const input = inputOf(ref);
  const all = isObject(input) ? Object.entries(input) : [];
  const words = all.slice(0, LISTED).map(([name, value]) => {
    const text = isHidden(name, value) ? HIDDEN : shortened(briefly(value), LISTED_CHARACTERS);
    return `${shortened(name, LISTED_CHARACTERS)}: ${text}`;
  });
  const more = all.length > words.length ? ["…"] : [];
  return {
    servlet: servlet?.name ?? "",
    arguments: printableLine([...words, ...more].join(", ")),
  };
}
