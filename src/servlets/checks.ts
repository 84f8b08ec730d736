import { Validator } from "@cfworker/json-schema";
import { Fault } from "../errors.ts";

/** One thing that is wrong with a value. */
export interface Issue {
  /** Where: names and indices, from the outermost on. */
  path: readonly string[];
  /** In words for whoever sent it, after the place. They repeat names and the schema, never the value. */
  message: string;
  /** The member that is missing there, or is too much. */
  member?: string;
}

/** Says what is wrong with a value; undefined where nothing is. */
export type Check = (value: unknown) => readonly Issue[] | undefined;

/** Issues as one text. */
export const told = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `${path.join(".") || "the value"} ${message}`).join("; ");

/** What Ajv's standalone code exports for one schema. */
interface CompiledSchema {
  (value: unknown): boolean;
  errors?: { instancePath: string; message?: string; params?: Record<string, unknown> }[] | null;
}

/** A check that was compiled when the bundle was made. */
export function compiled(validate: CompiledSchema): Check {
  return (value) => {
    if (validate(value)) return undefined;
    const issues = (validate.errors ?? []).map(({ instancePath, message, params }): Issue => {
      const detail = params?.["additionalProperty"] ?? params?.["allowedValues"];
      const which = detail === undefined ? "" : ` (${JSON.stringify(detail)})`;
      const member = params?.["missingProperty"] ?? params?.["additionalProperty"];
      return {
        path: segments(instancePath),
        message: `${message}${which}`,
        ...(typeof member === "string" && { member }),
      };
    });
    return issues.length > 0 ? issues : UNFIT;
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
    const issues = errors
      .filter(({ keyword }) => keyword !== "properties" && keyword !== "items")
      .map(({ instanceLocation, keyword, error }): Issue => {
        const [, member] = MEMBERS.has(keyword) ? (/"([^"]+)"/.exec(error) ?? []) : [];
        const path = segments(instanceLocation.slice(1));
        return { path, message: error, ...(member !== undefined && { member }) };
      });
    return issues.length > 0 ? issues : UNFIT;
  };
}

const UNFIT: readonly Issue[] = [{ path: [], message: "does not fit the schema" }];

/** Keywords whose errors name a member. */
const MEMBERS = new Set(["required", "additionalProperties"]);

/** What a JSON pointer leads through: https://www.rfc-editor.org/rfc/rfc6901 */
const segments = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
