import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Formats } from "../schema/keyword.ts";
import { StepsExceeded, Schema, SchemaError, type Issue } from "../schema/schema.ts";
import type { Steps } from "../schema/steps.ts";

/**
 * If a value has more parts than the steps divided by this, it is reported as too large, rather than its schema as too
 * complex.
 */
const CHECK_STEPS_PER_PART = 50;

/**
 * Returns the issues of a value; undefined if it is valid. `steps` is a budget shared with other checks.
 * Throws `servlet_failed` if the schema cannot be used.
 */
export type Check = (value: unknown, steps?: Steps) => readonly Issue[] | undefined;

/** Issues as one text. */
export const describeIssues = (issues: readonly Issue[]): string =>
  issues
    .map(({ path, message }) => {
      const place = path.length === 0 ? "the value" : `\`${path.join(".")}\``;
      return `${place} ${message}`;
    })
    .join("; ");

interface Use {
  /** The schema's name in errors. */
  name: string;
  /** The formats that values must have. */
  formats?: Formats;
  /** True for arguments, whose integers must have kept all their digits. */
  isInput?: boolean;
  /** An invalid schema accepts every value: the servlet itself still checks. */
  isLenient?: boolean;
}

const checks = new WeakMap<object, Check>();

/** The check of a schema, compiled at its first use and cached for the schema's lifetime. */
export const checkOf = (schema: object, use: Use): Check =>
  checks.getOrInsertComputed(schema, () => makeCheck(schema, use));

function makeCheck(
  schema: object,
  { name, formats = {}, isInput = false, isLenient = false }: Use,
): Check {
  let ready: Schema | undefined;
  return (value, steps) => {
    try {
      ready ??= new Schema(schema, { formats, isInput });
      return ready.issues(value, steps);
    } catch (error) {
      if (error instanceof SchemaError) {
        if (isLenient && !error.isUnsupported) return undefined;
        const text = `The servlet's ${name} cannot be used: ${error.message}.`;
        throw new Fault("servlet_failed", text);
      }
      if (!(error instanceof StepsExceeded)) throw error;
      const size = JSON.stringify(value)?.length ?? 0;
      if (size * CHECK_STEPS_PER_PART > limits.checkSteps) {
        return [{ path: [], message: `${error.message}: send a smaller one` }];
      }
      const text = `The servlet's ${name} is too complex: a value of ${size} characters ${error.message}. Simplify its references and combinations.`;
      throw new Fault("servlet_failed", text);
    }
  };
}
