/** Schemas from authors of servers: of zod 3 or 4, raw shapes of either, or of another library. */
import { isObject } from "../../server/kernel/core/model.ts";
import type { JsonSchema, StandardSchema } from "../infer.ts";
import { convertWith, isStandardSchema } from "../schema.ts";
import { convert, objects } from "edge-servlets/zod-of-servlet";

convertWith(convert);

type Shape = Record<string, unknown>;

/** A schema of zod 3. */
interface OldSchema {
  _def: Record<string, unknown>;
  safeParseAsync(value: unknown): Promise<{
    success: boolean;
    data?: unknown;
    error?: { issues: { message: string; path: PropertyKey[] }[] };
  }>;
}

const isOld = (schema: unknown): schema is OldSchema =>
  isObject(schema) && "_def" in schema && !("_zod" in schema);

const isSchema = (value: unknown): boolean =>
  isStandardSchema(value) || (isObject(value) && ("_zod" in value || "_def" in value));

/** True for an object whose members are schemas, and for an empty object. */
export function isShape(value: unknown): value is Shape {
  if (!isObject(value) || isSchema(value)) return false;
  const members = Object.values(value);
  return members.length === 0 || members.some(isSchema);
}

/**
 * The author's schema or shape as a Standard Schema with a conversion to JSON Schema; a JSON Schema is returned unchanged.
 * Throws an `Error` for another value; `what` names it there.
 */
export function schemaOf(given: unknown, what: string): StandardSchema | JsonSchema | undefined {
  if (given === undefined || given === null) return undefined;
  const schema = isShape(given) ? objectOf(given, what) : given;
  if (isOld(schema)) return standardOf(schema);
  if (isStandardSchema(schema)) return schema;
  if (isObject(schema) && (typeof schema["type"] === "string" || "$ref" in schema)) return schema;
  throw new Error(`${what} is neither a schema of zod nor an object of such: ${typeof given}.`);
}

function objectOf(shape: Shape, what: string): unknown {
  const members = Object.values(shape);
  const old = members.filter(isOld).length;
  if (old > 0 && old < members.length) {
    throw new Error(`${what} mixes schemas of zod 3 and of zod 4.`);
  }
  return old > 0 ? objects.old(shape) : objects.modern(shape);
}

/** A schema of zod 3 as a Standard Schema, which its early releases do not support. */
function standardOf(schema: OldSchema): StandardSchema {
  const standard = {
    version: 1,
    vendor: "zod",
    async validate(value: unknown) {
      const { success, data, error } = await schema.safeParseAsync(value);
      return success ? { value: data } : { issues: error!.issues };
    },
  };
  const made = { "~standard": standard, old: schema };
  return made as unknown as StandardSchema;
}

/** The members of zod's object schema; undefined for any other schema. */
export function shapeOf(schema: unknown): Shape | undefined {
  const given = isObject(schema) && isObject(schema["old"]) ? schema["old"] : schema;
  if (!isObject(given)) return undefined;
  const { shape } = given;
  const found = typeof shape === "function" ? (shape as () => unknown)() : shape;
  if (isObject(found)) return found;
  const modern = given["_zod"] as { def?: { shape?: Shape } } | undefined;
  return modern?.def?.shape;
}

interface Parts {
  _zod?: { def: { type: string; innerType?: unknown }; optin?: string };
  _def?: { typeName?: string; innerType?: unknown; description?: string };
  description?: string;
  isOptional?(): boolean;
}

/** The list entry of a shape's member as a prompt argument. */
export function argumentOf(member: unknown): { description?: string; required: boolean } {
  const { _zod: modern, _def: old, description = old?.description, isOptional } = member as Parts;
  const may = modern ? modern.optin !== undefined : (isOptional?.call(member) ?? false);
  return { ...(description !== undefined && { description }), required: !may };
}

/** The schema inside an optional schema; another schema is returned unchanged. */
export function innerOf(member: unknown): unknown {
  const { _zod: modern, _def: old } = member as Parts;
  if (modern?.def.type === "optional") return modern.def.innerType;
  return old?.typeName === "ZodOptional" ? old.innerType : member;
}
