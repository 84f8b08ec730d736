/** Schemas from servlet authors: converts them to JSON Schema for lists, and checks values. */
import { CHECKED_BY_SERVLET, isObject } from "../server/kernel/core/model.ts";
import type { StandardIssue, JsonSchema, StandardSchema } from "./infer.ts";

type Direction = "input" | "output";

/** Converts schemas without a conversion of their own to JSON Schema: those of zod/mini. */
type Converter = (schema: StandardSchema, io: Direction, override: Override) => JsonSchema;

/** Changes a JSON Schema that zod has written. https://zod.dev/json-schema#override */
type Override = (written: { zodSchema: unknown; jsonSchema: object }) => void;

let converter: Converter | undefined;

export function convertWith(convert: Converter): void {
  converter = convert;
}

/** True for a schema of a library that supports Standard Schema; some schemas are functions. */
export function isStandardSchema(schema: unknown): schema is StandardSchema {
  const may = isObject(schema) || typeof schema === "function";
  return may && isObject((schema as Partial<StandardSchema>)["~standard"]);
}

/** The schema as JSON Schema. Throws an error that says how to correct the schema; `what` names it there. */
export function jsonSchemaOf(schema: unknown, io: Direction, what: string): JsonSchema {
  if (!isStandardSchema(schema)) {
    if (isObject(schema)) return schema;
    throw new Error(`${what} is neither a zod schema nor a JSON Schema.`);
  }
  const { vendor, jsonSchema } = schema["~standard"];
  try {
    const override: Override = (written) => {
      leaveOutImplied(written.jsonSchema as Record<string, unknown>);
      if (io === "input") leaveToServlet(written);
    };
    const options = { target: "draft-2020-12", libraryOptions: { override } };
    const found = jsonSchema?.[io](options) ?? converter?.(schema, io, override);
    if (found) {
      const { $schema: _, ...rest } = found;
      return rest;
    }
  } catch (error) {
    throw new Error(
      `${what} cannot be expressed as JSON Schema: ${error instanceof Error ? error.message : String(error)}. ` +
        "Use types that JSON has, or give a JSON Schema.",
      { cause: error },
    );
  }
  throw new Error(
    `${what} is a schema of ${vendor} that gives no JSON Schema. ` +
      'Import zod as "zod" or "zod/mini", or give a JSON Schema.',
  );
}

/** The parts of zod's schemas that are read here. */
interface ZodParts {
  _zod: {
    def: { type?: string; coerce?: boolean; in?: ZodParts; shape?: Record<string, ZodParts> };
  };
}

/**
 * Removes keywords that zod adds to the author's and no model needs: the bounds of safe integers, and the pattern of a format.
 */
function leaveOutImplied(written: Record<string, unknown>): void {
  if (written["minimum"] === Number.MIN_SAFE_INTEGER) delete written["minimum"];
  if (written["maximum"] === Number.MAX_SAFE_INTEGER) delete written["maximum"];
  if (written["format"] !== undefined) delete written["pattern"];
}

/** Marks schemas that change a value before the check, for the servlet to check: `z.coerce`, `z.preprocess` and `.catch`. */
const leaveToServlet: Override = ({ zodSchema, jsonSchema }) => {
  const schema = zodSchema as ZodParts;
  const written = jsonSchema as Record<string, unknown>;
  if (schema._zod.def.coerce === true || makesUp(schema)) written[CHECKED_BY_SERVLET] = true;
  const { shape = {} } = schema._zod.def;
  const { required } = written;
  if (!Array.isArray(required)) return;
  const needed = required.filter((name: string) => !fitsNothing(shape[name]));
  if (needed.length === 0) delete written["required"];
  else written["required"] = needed;
};

/** True for a schema that may give a value for `undefined`. */
const makesUp = ({ _zod: { def } }: ZodParts): boolean =>
  def.type === "catch" || (def.type === "pipe" && def.in?._zod.def.type === "transform");

function fitsNothing(schema: ZodParts | undefined): boolean {
  if (schema === undefined || !makesUp(schema)) return false;
  try {
    const result = (schema as unknown as StandardSchema)["~standard"].validate(undefined);
    return !(result instanceof Promise) && result.issues === undefined;
  } catch {
    // The author's function expects a value.
    return false;
  }
}

/** A schema as JSON Schema. Throws an `Error` if it does not describe an object. */
export function objectSchemaOf(schema: unknown, io: Direction, what: string): JsonSchema {
  const found = jsonSchemaOf(schema, io, what);
  if (found["type"] === "object") return found;
  if (isOfObjects(found)) return { type: "object", ...found };
  throw new Error(
    `${what} does not describe an object: at its root it needs type "object" (in zod: z.object({ … }), or a union of such).`,
  );
}

/** True for a schema that only objects match: of an object, a union of objects, or an intersection with an object. */
const isOfObjects = (schema: unknown): boolean =>
  isObject(schema) &&
  (schema["type"] === "object" ||
    [schema["oneOf"], schema["anyOf"]].some(
      (all) => Array.isArray(all) && all.length > 0 && all.every(isOfObjects),
    ) ||
    (Array.isArray(schema["allOf"]) && schema["allOf"].some(isOfObjects)));

/**
 * An error for the tool's caller: its message becomes the result, and nothing is logged.
 *
 * @example
 * if (args["city"] === "Atlantis") throw new ToolError("There is no weather in Atlantis. Name a city.");
 */
export class ToolError extends Error {
  override name = "ToolError";
}

/** The value after the schema's defaults and transforms. Throws a `ToolError` that names the wrong fields. */
export function parsed(
  schema: unknown,
  value: unknown,
  what: string,
): unknown /* or a promise of it */ {
  if (!isStandardSchema(schema)) return value;
  const validate = (one: unknown) => schema["~standard"].validate(one);
  return after(validate(value), (result) =>
    // zod takes inherited properties, such as `constructor`, for members.
    result.issues?.some(isOfInherited)
      ? after(validate(ownOnly(value)), (again) => valueOf(again, what))
      : valueOf(result, what),
  );
}

type Result = Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>;

const after = (result: Result | Promise<Result>, then: (settled: Result) => unknown): unknown =>
  result instanceof Promise ? result.then(then) : then(result);

function valueOf(result: Result, what: string): unknown {
  if (!result.issues) return result.value;
  throw new ToolError(`${what}: ${result.issues.map(issueText).join("; ")}`);
}

const stepOf = (step: unknown): string => String(isObject(step) ? step["key"] : step);

const isOfInherited = ({ path = [] }: StandardIssue): boolean =>
  path.some((step) => stepOf(step) in Object.prototype);

/** A copy of the value in which plain objects have no prototype. */
function ownOnly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ownOnly);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const own = Object.create(null) as Record<string, unknown>;
  for (const [key, member] of Object.entries(value)) own[key] = ownOnly(member);
  return own;
}

function issueText({ path = [], message, ...more }: StandardIssue): string {
  const place = path.map(stepOf).join(".");
  const said = message === "Invalid input" ? message + detail(more) : message;
  return place === "" ? said : `${place}: ${said}`;
}

/** Details of an issue of zod/mini, which has no messages of its own. */
function detail(issue: Record<string, unknown>): string {
  for (const key of ["expected", "values", "format", "minimum", "maximum", "keys"]) {
    if (issue[key] !== undefined) return `: ${key} ${JSON.stringify(issue[key])}`;
  }
  return "";
}

/**
 * Uses the schema once, at build time, so that calls need not initialize it: zod compiles an object schema at its first parse.
 */
export function warm(schema: unknown): void {
  if (!isStandardSchema(schema)) return;
  try {
    const result = schema["~standard"].validate({});
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // The author's refinements may not expect an empty object.
  }
}
