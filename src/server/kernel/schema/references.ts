import { isObject, type Json } from "../core/model.ts";

/** Keywords whose value is a schema, or a list of them. */
export const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose value has schemas by name. */
export const NAMED_SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** A schema with its own URI: https://json-schema.org/draft/2020-12/json-schema-core#name-schema-resources */
export interface SchemaResource {
  uri: string;
  root: unknown;
  /** Schemas by `$anchor` and `$dynamicAnchor`, and those by the latter alone. */
  anchors: Map<string, unknown>;
  dynamicAnchors: Map<string, unknown>;
}

export interface ReferenceTarget {
  schema: unknown;
  resource: SchemaResource;
  /** The anchor's name, if the reference is an anchor. */
  anchor?: string;
}

/** Resolves references within one schema; nothing is fetched. */
export class References {
  readonly root: SchemaResource;
  readonly resources = new Map<string, SchemaResource>();
  readonly #homes = new Map<object, SchemaResource>();

  constructor(schema: unknown) {
    this.root = this.#resource("schema:/", schema);
    this.#index(schema, this.root);
  }

  /** Returns the resource that a schema belongs to. */
  homeOf(schema: object): SchemaResource {
    return this.#homes.get(schema) ?? this.root;
  }

  /** The target of a reference; undefined if it is not in this schema. */
  resolve(reference: string, { uri }: SchemaResource): ReferenceTarget | undefined {
    const { place, fragment = "" } = parts(reference, uri) ?? {};
    const resource = place === undefined ? undefined : this.resources.get(place);
    if (resource === undefined) return undefined;
    if (fragment === "") return { schema: resource.root, resource };
    if (fragment.startsWith("/")) return this.#point(resource, fragment);
    if (!resource.anchors.has(fragment)) return undefined;
    return { schema: resource.anchors.get(fragment), resource, anchor: fragment };
  }

  #resource(uri: string, root: unknown): SchemaResource {
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    this.resources.set(uri, resource);
    return resource;
  }

  /** Records the ids and anchors of a schema and its subschemas. Not recursive, because schemas may be deep. */
  #index(schema: unknown, home: SchemaResource): void {
    const rest: [schema: unknown, home: SchemaResource][] = [[schema, home]];
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const [one, around] = next;
      if (!isObject(one) || this.#homes.has(one)) continue;
      const resource = this.#homeIn(one, around);
      this.#homes.set(one, resource);
      for (const key of ["$anchor", "$dynamicAnchor"]) {
        const name = one[key];
        if (typeof name !== "string") continue;
        resource.anchors.set(name, one);
        if (key === "$dynamicAnchor") resource.dynamicAnchors.set(name, one);
      }
      for (const [key, value] of Object.entries(one)) {
        if (SCHEMA_KEYWORDS.has(key)) {
          for (const inner of [value].flat()) rest.push([inner, resource]);
        } else if (isNamed(key) && isObject(value)) {
          for (const inner of Object.values(value)) rest.push([inner, resource]);
        }
      }
    }
  }

  /** The resource that a schema is, or is part of. Draft 7 has anchors in `$id`. */
  #homeIn(schema: Json, around: SchemaResource): SchemaResource {
    const id = schema["$id"];
    if (typeof id !== "string") return around;
    const { place, fragment = "" } = parts(id, around.uri) ?? {};
    if (fragment !== "") around.anchors.set(fragment, schema);
    if (place === undefined || place === around.uri) return around;
    if (schema !== this.root.root) return this.#resource(place, schema);
    this.root.uri = place;
    this.resources.set(place, this.root);
    return this.root;
  }

  /** https://www.rfc-editor.org/rfc/rfc6901#section-6 */
  #point(resource: SchemaResource, pointer: string): ReferenceTarget | undefined {
    let schema = resource.root;
    let home = resource;
    for (const segment of pointer.split("/").slice(1)) {
      const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return;
      schema = (schema as Json)[key];
      if (isObject(schema)) home = this.#homes.get(schema) ?? home;
    }
    // It may be in an unindexed place, such as an unknown keyword.
    this.#index(schema, home);
    return { schema, resource: home };
  }
}

const isNamed = (key: string): boolean =>
  NAMED_SCHEMA_KEYWORDS.has(key) || key === "$defs" || key === "definitions";

/** The absolute URI of a reference and its fragment; undefined if it is not a URI. */
function parts(reference: string, base: string): { place: string; fragment: string } | undefined {
  try {
    const url = new URL(reference, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    return { place: url.href, fragment };
  } catch {
    return undefined;
  }
}
