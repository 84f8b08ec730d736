import { Validator } from "@cfworker/json-schema";
import { Fault } from "../errors.ts";

/** Says what is wrong with a value, in words for whoever sent it; undefined where nothing is. */
export type Check = (value: unknown) => string | undefined;

/** What Ajv's standalone code exports for one schema. */
interface CompiledSchema {
  (value: unknown): boolean;
  errors?: { instancePath: string; message?: string; params?: Record<string, unknown> }[] | null;
}

/** A check that was compiled when the bundle was made. */
export function compiled(validate: CompiledSchema): Check {
  return (value) => {
    if (validate(value)) return undefined;
    const told = (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const detail = params?.["additionalProperty"] ?? params?.["allowedValues"];
      const which = detail === undefined ? "" : ` (${JSON.stringify(detail)})`;
      return `${place(instancePath)} ${message}${which}`;
    });
    return told.join("; ") || "it does not fit the schema";
  };
}

/**
 * A check that interprets its schema, for those that are known only at run time. It throws
 * `servlet_failed` where the schema is none.
 */
export function interpreted(schema: object): Check {
  let validator: Validator | undefined;
  const validated = (value: unknown) => {
    try {
      return (validator ??= new Validator(schema, "2020-12", false)).validate(value);
    } catch (cause) {
      throw new Fault("servlet_failed", "The servlet's schema for this is not valid.", { cause });
    }
  };
  return (value) => {
    const { valid, errors } = validated(value);
    if (valid) return undefined;
    const told = errors
      .filter(({ keyword }) => keyword !== "properties" && keyword !== "items")
      .map(({ instanceLocation, error }) => `${place(instanceLocation.slice(1))} ${error}`);
    return told.join("; ") || "it does not fit the schema";
  };
}

/** A JSON pointer as people write it: `/a/0` is `a.0`. */
function place(pointer: string): string {
  return pointer === "" ? "the value" : pointer.slice(1).replaceAll("/", ".");
}
