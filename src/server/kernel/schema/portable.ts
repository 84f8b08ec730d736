/** Rewrites schemas into a form that clients and model APIs accept. */
import { limits } from "../core/limits.ts";
import { CHECKED_BY_SERVLET, isObject, type Json } from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";
import { mapValues } from "../core/values.ts";
import { Unmergeable, merged } from "./merge.ts";
import {
  NAMED_SCHEMA_KEYWORDS,
  References,
  SCHEMA_KEYWORDS,
  type SchemaResource,
  type ReferenceTarget,
} from "./references.ts";
import { Steps, StepsExceeded } from "./steps.ts";

/**
 * A schema's text may grow by this factor when references are inlined, and by `INLINED_CHARACTERS` more: a long shared
 * text is written again each time.
 */
const INLINED_GROWTH = 4;
const INLINED_CHARACTERS = 4096;

/**
 * An equivalent schema in 2020-12 without a reference at its root, without `allOf` where its parts can be merged,
 * without draft 7 keywords, without `true` as a schema, without `$id` names (clients that know a name refuse another
 * schema of that name), and without anything its metaschema rejects although no value depends on it. Returns the schema
 * itself if nothing needs to change, or if that would take too many steps.
 */
export const portable: (schema: Json) => Json = oncePer((schema: Json) => {
  try {
    if (schema["$ref"] === undefined && !isSuspect(schema, "")) return schema;
    const writer = new Writer(schema);
    const written = writer.whole();
    return writer.isChanged ? written : schema;
  } catch (error) {
    if (REASONS.some((reason) => error instanceof reason)) return schema;
    throw error;
  }
});

/** Thrown if the schema cannot be rewritten. */
class Unwritable extends Error {}

/** Why a schema stays as it is; one that is too deep for the stack throws a `RangeError`. */
const REASONS = [Unwritable, Unmergeable, StepsExceeded, RangeError];

/** Members that are often `true`, but are not schemas. */
const FLAGS = new Set([
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "uniqueItems",
  "const",
  "default",
  "deprecated",
  "nullable",
  "readOnly",
  "writeOnly",
  "x-mcp-header",
]);
const SUSPECT = new Set(["additionalItems", "allOf", "definitions", "dependencies"]);

/** False if no part of a schema can need a change: most schemas are read no further. */
function isSuspect(part: unknown, name: string): boolean {
  if (part === true) return !FLAGS.has(name);
  if (Array.isArray(part)) return name === "items" || part.some((one) => isSuspect(one, name));
  if (!isObject(part)) return false;
  if (isArrayType(part["type"]) && !isObject(part["items"])) return true;
  for (const [key, value] of Object.entries(part)) {
    const isNamed = NAMED_SCHEMA_KEYWORDS.has(key) && isObject(value);
    const parts = isNamed ? Object.values(value) : [value];
    if (SUSPECT.has(key) || parts.some((one) => isSuspect(one, isNamed ? "" : key))) return true;
    if ((key === "$schema" && isOld(value)) || OWN_NAMES.has(key)) return true;
    if (isIdle(key, value) || (key === "required" && isRepeating(value))) return true;
  }
  return false;
}

const isArrayType = (type: unknown): boolean => [type].flat().includes("array");

const isOld = (dialect: unknown): boolean =>
  typeof dialect === "string" && !/2020-12/.test(dialect);

/** What all items of a tuple have in common, for clients that do not support tuples: one schema, or `{}`. */
function commonOf(parts: readonly unknown[]): Json {
  const [first, ...others] = parts.map((part) => {
    const { title: _, description: __, default: ___, ...rest } = isObject(part) ? part : {};
    return rest;
  });
  const text = JSON.stringify(first);
  return others.every((one) => JSON.stringify(one) === text) ? first! : {};
}

/** Keywords that name a schema; `id` in draft 4. */
const OWN_NAMES = new Set(["$id", "id"]);

const isRepeating = (list: unknown): list is unknown[] =>
  Array.isArray(list) && new Set(list).size < list.length;

/** Annotations, which affect no validation, with an example value of their type. */
const ANNOTATIONS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...["title", "description", "$comment"].map((key) => [key, ""] as const),
  ...["deprecated", "readOnly", "writeOnly"].map((key) => [key, true] as const),
]);

/**
 * True for a keyword without meaning for clients: the server's own, or an annotation with a value of the wrong type.
 * Names of properties are not keywords.
 */
const isIdle = (key: string, value: unknown): boolean =>
  key === CHECKED_BY_SERVLET ||
  (key === "propertyNames"
    ? isObject(value) &&
      Object.keys(value).every((one) => one === "type" && value[one] === "string")
    : ANNOTATIONS.has(key)
      ? typeof value !== typeof ANNOTATIONS.get(key)
      : key === "examples" && !Array.isArray(value));

/** Keywords that are rewritten, or needed only by references: references lead to `$defs` of the root. */
const DROPPED = new Set([
  "$defs",
  "$ref",
  "$schema",
  "additionalItems",
  "definitions",
  "dependencies",
  "items",
  // If a part is written twice, its anchor would be duplicated.
  "$anchor",
  ...OWN_NAMES,
]);
/** Keywords whose references depend on the path to the schema. */
const DYNAMIC = ["$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

class Writer {
  isChanged = false;
  readonly #root: Json;
  readonly #references: References;
  readonly #steps = new Steps(limits.inlinedParts);
  readonly #names = new Map<unknown, string>();
  readonly #targets = new Map<string, ReferenceTarget>();
  /** Written definitions by name; undefined while they are being written. */
  readonly #definitions = new Map<string, unknown>();
  readonly #characters: number;
  /** True if the schema uses `unevaluatedItems`: then it matters which items `items` evaluates. */
  readonly #marksItems: boolean;

  constructor(root: Json) {
    this.#root = root;
    this.#references = new References(root);
    const text = JSON.stringify(root);
    this.#characters = text.length;
    this.#marksItems = text.includes('"unevaluatedItems"');
  }

  whole(): Json {
    let written = this.#schema(this.#root) as Json;
    while (typeof written["$ref"] === "string") {
      written = this.#resolved(written);
      this.isChanged = true;
    }
    const { $schema: dialect } = this.#root;
    const definitions = this.#definitionsFor(written);
    return {
      ...(dialect !== undefined && !isOld(dialect) && { $schema: dialect }),
      ...written,
      ...(definitions.size > 0 && { $defs: Object.fromEntries(definitions) }),
    };
  }

  #schema(given: unknown): unknown {
    this.#steps.take(1);
    if (given === true) {
      this.isChanged = true;
      return {};
    }
    if (given === false) return false;
    if (!isObject(given) || DYNAMIC.some((key) => key in given)) throw new Unwritable();
    const written: Json = Object.fromEntries(
      Object.entries(given)
        .filter(([key, value]) => !DROPPED.has(key) && !isIdle(key, value))
        .map(([key, value]) => [key, this.#member(key, value)]),
    );
    this.isChanged ||=
      "definitions" in given ||
      isOld(given["$schema"]) ||
      Object.entries(given).some(([key, value]) => OWN_NAMES.has(key) || isIdle(key, value));
    if (isRepeating(written["required"])) {
      written["required"] = [...new Set(written["required"])];
      this.isChanged = true;
    }
    this.#writeItems(given, written);
    this.#writeDependencies(given, written);
    if (given["$ref"] !== undefined)
      written["$ref"] = this.#pointer(given["$ref"], this.#references.homeOf(given));
    return "allOf" in written ? this.#withoutAllOf(written) : written;
  }

  #member(key: string, value: unknown): unknown {
    const isSetting = typeof value === "boolean" && FLAGS.has(key);
    if (SCHEMA_KEYWORDS.has(key) && !isSetting) {
      return Array.isArray(value) ? value.map((one) => this.#schema(one)) : this.#schema(value);
    }
    if (!NAMED_SCHEMA_KEYWORDS.has(key)) return value;
    return this.#named(value);
  }

  #named(value: unknown): Json {
    if (!isObject(value)) throw new Unwritable();
    return mapValues(value, (one) => this.#schema(one));
  }

  /** Draft 7 has a list in `items`, and the schema of the remaining items in `additionalItems`. */
  #writeItems(given: Json, written: Json): void {
    const { items, additionalItems: rest, type, prefixItems } = given;
    const isTuple = Array.isArray(items);
    if (isTuple && prefixItems !== undefined) throw new Unwritable();
    if (isTuple && items.length > 0) {
      written["prefixItems"] = items.map((one) => this.#schema(one));
    }
    const others = isTuple ? rest : items;
    if (others !== undefined) written["items"] = this.#schema(others);
    this.isChanged ||= isTuple || rest !== undefined;
    if (isArrayType(type) && !isObject(written["items"])) this.#writeCommonItems(written);
  }

  /**
   * VS Code and some APIs reject an array, even a tuple, without a schema in `items`: adds one that changes nothing.
   */
  #writeCommonItems(written: Json): void {
    const { prefixItems = [], items, maxItems } = written;
    if (!Array.isArray(prefixItems)) throw new Unwritable();
    const most = typeof maxItems === "number" ? maxItems : Infinity;
    if (items === false) written["maxItems"] = Math.min(most, prefixItems.length);
    const isClosed = items === false || most <= prefixItems.length;
    if (!isClosed && this.#marksItems) return;
    written["items"] = isClosed && prefixItems.length > 0 ? commonOf(prefixItems) : {};
    this.isChanged = true;
  }

  /** Draft 7 has both kinds in `dependencies`. */
  #writeDependencies({ dependencies }: Json, written: Json): void {
    if (dependencies === undefined) return;
    if (!isObject(dependencies)) throw new Unwritable();
    if ("dependentRequired" in written || "dependentSchemas" in written) throw new Unwritable();
    const [required, schemas] = [true, false].map((isList) =>
      Object.fromEntries(
        Object.entries(dependencies).filter(([, one]) => Array.isArray(one) === isList),
      ),
    );
    if (Object.keys(required!).length > 0) written["dependentRequired"] = required;
    if (Object.keys(schemas!).length > 0) {
      written["dependentSchemas"] = this.#named(schemas);
    }
    this.isChanged = true;
  }

  /** The schema with the parts of its `allOf` merged into it, if possible. */
  #withoutAllOf(written: Json): Json {
    const { allOf: parts, $ref: reference, ...own } = written;
    if (!Array.isArray(parts)) throw new Unwritable();
    const [first] = parts as unknown[];
    try {
      if (parts.length === 1 && reference === undefined && isPointer(first)) {
        this.isChanged = true;
        return { ...own, ...first };
      }
      const all = [...(reference === undefined ? [] : [{ $ref: reference }]), ...parts].map(
        (part) => (isObject(part) && "$ref" in part ? this.#resolved(part) : part),
      );
      if (all.some(isChoice)) return written;
      const whole = merged([own, ...all], this.#steps);
      this.isChanged = true;
      return whole;
    } catch (error) {
      if (error instanceof Unmergeable) return written;
      throw error;
    }
  }

  /** A schema merged with the target of its `$ref`. Throws `Unmergeable`. */
  #resolved({ $ref: reference, ...own }: Json): Json {
    this.#steps.take(1);
    return merged(
      [own, this.#definition(String(reference).slice(DEFINITIONS.length))],
      this.#steps,
    );
  }

  /** A written definition. Throws `Unmergeable` for one that is still being written, and for the root. */
  #definition(name: string): unknown {
    if (!this.#definitions.has(name)) {
      const target = this.#targets.get(name);
      if (target === undefined) throw new Unmergeable();
      this.#definitions.set(name, undefined);
      this.#definitions.set(name, this.#schema(target.schema));
    }
    const definition = this.#definitions.get(name);
    if (definition === undefined) throw new Unmergeable();
    return definition;
  }

  /** A reference as a pointer into the `$defs` of the root. */
  #pointer(reference: unknown, resource: SchemaResource): string {
    if (typeof reference !== "string") throw new Unwritable();
    const target = this.#references.resolve(reference, resource);
    if (target === undefined) throw new Unwritable();
    const { schema } = target;
    if (schema === this.#root) return "#";
    const key = isObject(schema) ? schema : `${target.resource.uri} ${reference}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      const last = /[^/#]*$/.exec(reference)?.[0].replace(/[^A-Za-z0-9_.-]+/g, "_") || "schema";
      name = last;
      for (let at = 2; this.#targets.has(name); at++) {
        this.#steps.take(1);
        name = `${last}_${at}`;
      }
      this.#names.set(key, name);
      this.#targets.set(name, target);
    }
    return DEFINITIONS + name;
  }

  /** The definitions that a written schema refers to, directly or indirectly. */
  #definitionsFor(written: Json): Map<string, unknown> {
    const found = new Map<string, unknown>();
    const rest: unknown[] = [written];
    // A part used in several places is one object, but is repeated in the text.
    const parts = new Steps(limits.inlinedParts);
    const characters = new Steps(INLINED_GROWTH * this.#characters + INLINED_CHARACTERS);
    while (rest.length > 0) {
      const one = rest.pop();
      if (typeof one !== "object" || one === null) continue;
      parts.take(1);
      for (const [key, value] of Object.entries(one)) {
        characters.take(key.length + (typeof value === "string" ? value.length : 1));
        rest.push(value);
        const name = key === "$ref" && typeof value === "string" && value.slice(DEFINITIONS.length);
        if (!name || found.has(name) || !this.#targets.has(name)) continue;
        const definition = this.#definition(name);
        found.set(name, definition);
        rest.push(definition);
      }
    }
    return found;
  }
}

const DEFINITIONS = "#/$defs/";

const isPointer = (part: unknown): part is Json =>
  isObject(part) && "$ref" in part && Object.keys(part).length === 1;
/** True for a schema with keywords that clients reject at the root anyway. */
const isChoice = (part: unknown): boolean =>
  isObject(part) && ["allOf", "anyOf", "oneOf", "not"].some((key) => key in part);
