/** The JSON Schema keywords that look at one value: types, bounds, sizes, members and equality. */
import { limits } from "../core/limits.ts";
import { isObject } from "../core/model.ts";
import {
  countOperand,
  every,
  list,
  numberOperand,
  objectOperand,
  textOperand,
  textListOperand,
  type KeywordContext,
} from "./keyword.ts";
import type { Keyword, Maker } from "./keyword.ts";
import { brief, type Run } from "./run.ts";
import { equalItems, isEqual, memberNames, characterCount, typeOf } from "./values.ts";

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};

/** A value's type in words. */
function described(value: unknown): string {
  if (value === undefined) return "but is missing";
  if (value === Infinity || value === -Infinity) return "but is too large";
  const isFraction = typeof value === "number" && !Number.isInteger(value);
  return `not ${isFraction ? "a fraction" : TYPES[typeOf(value)]!}`;
}

function hasType(value: unknown, type: string): boolean {
  const actual = typeOf(value);
  // 1e999 is parsed as infinity, which JSON cannot express: it would be passed on as null.
  if (actual === "number" && !Number.isFinite(value)) return false;
  return actual === type || (type === "integer" && Number.isInteger(value));
}

/** True for an integer whose JSON may have had other digits. */
const isRounded = (value: unknown): boolean =>
  typeof value === "number" && !Number.isSafeInteger(value);

const ROUNDED = `must be between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, as larger numbers lose their last digits`;

/**
 * True if one decimal is a multiple of the other: 0.07 of 0.01, though the nearest binary numbers are not. A quotient
 * that is not whole may differ from an integer by the precision of the value's last digit.
 */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  if (value % factor === 0 || Number.isInteger(quotient)) return true;
  const away = Math.abs(Math.round(quotient) * factor - value);
  return away <= 2 * Number.EPSILON * Math.abs(value) && away < factor / 1000;
}

export const asChoice = (values: readonly unknown[]): string =>
  brief(list(values.map((value) => brief(JSON.stringify(value)))));

/** A keyword about numbers. */
const ofNumbers =
  (words: string, fits: (value: number, operand: number) => boolean): Maker =>
  (operand, context) => {
    const limit = numberOperand(operand, context);
    return (value, run) =>
      typeof value !== "number" || fits(value, limit) || run.fail(`must be ${words} ${limit}`);
  };

/** A keyword about a size. `sizeOf` returns undefined for values that the keyword ignores. */
const ofSizes =
  (
    words: readonly [before: string, one: string, many: string],
    sizeOf: (value: unknown, run: Run) => number | undefined,
    fits: (size: number, operand: number) => boolean,
  ): Maker =>
  (operand, context) => {
    const limit = countOperand(operand, context);
    const message = `must have ${words[0]} ${limit} ${limit === 1 ? words[1] : words[2]}`;
    return (value, run) => {
      const size = sizeOf(value, run);
      return size === undefined || fits(size, limit) || run.fail(message);
    };
  };

const characters = (value: unknown, { steps }: Run): number | undefined =>
  typeof value === "string" ? characterCount(value, steps) : undefined;
const items = (value: unknown): number | undefined =>
  Array.isArray(value) ? value.length : undefined;
const members = (value: unknown, { steps }: Run): number | undefined => {
  if (!isObject(value)) return undefined;
  return memberNames(value, steps).length;
};

const atLeast = (size: number, limit: number): boolean => size >= limit;
const atMost = (size: number, limit: number): boolean => size <= limit;

/** Requires members, always or beside another one (`because`). */
export function requires(operand: unknown, context: KeywordContext, because?: string): Keyword {
  const names = textListOperand(operand, context);
  const message = because === undefined ? "is required" : `is required beside \`${because}\``;
  return (value, run) => {
    if (!isObject(value)) return true;
    run.steps.take(names.length);
    return every(names, run, (name) => Object.hasOwn(value, name) || run.fail(message, name));
  };
}

/** Runs the check of each of these members that an object has. */
export const whereMembers =
  (checks: readonly (readonly [name: string, check: Keyword])[]): Keyword =>
  (value, run, start) => {
    if (!isObject(value)) return true;
    run.steps.take(checks.length);
    return every(
      checks,
      run,
      ([name, check]) => !Object.hasOwn(value, name) || check(value, run, start),
    );
  };

/**
 * The keywords that contain no schemas.
 * https://json-schema.org/draft/2020-12/json-schema-validation#section-6
 */
export const ASSERTIONS: Readonly<Record<string, Maker>> = {
  type(operand, context) {
    const types = [
      ...new Set(typeof operand === "string" ? [operand] : textListOperand(operand, context)),
    ];
    for (const type of types) {
      if (!Object.hasOwn(TYPES, type)) context.fail(`must not be ${JSON.stringify(type)}`);
    }
    const expected = list(types.map((type) => TYPES[type]!));
    const check: Keyword = (value, run) =>
      types.some((type) => hasType(value, type)) ||
      run.fail(`must be ${expected}, ${described(value)}`);
    if (!context.isInput || !types.includes("integer") || types.includes("number")) return check;
    return (value, run, start) =>
      check(value, run, start) && (!isRounded(value) || run.fail(ROUNDED));
  },
  enum(operand, { fail }) {
    if (!Array.isArray(operand)) return fail("must be an array");
    const isPart = (one: unknown) => typeof one === "object" && one !== null;
    const simple = new Set<unknown>(operand.filter((one) => !isPart(one)));
    const parts = operand.filter(isPart);
    const message = `must be ${asChoice(operand)}`;
    return (value, run) =>
      simple.has(value) ||
      (isPart(value) && parts.some((one) => isEqual(one, value, run.steps))) ||
      run.fail(message);
  },
  const: (operand) => (value, run) =>
    isEqual(operand, value, run.steps) || run.fail(`must be ${asChoice([operand])}`),

  multipleOf: (operand, context) =>
    numberOperand(operand, context) > 0
      ? ofNumbers("a multiple of", isMultiple)(operand, context)
      : context.fail("must be greater than 0"),
  maximum: ofNumbers("at most", (value, limit) => value <= limit),
  exclusiveMaximum: ofNumbers("less than", (value, limit) => value < limit),
  minimum: ofNumbers("at least", (value, limit) => value >= limit),
  exclusiveMinimum: ofNumbers("greater than", (value, limit) => value > limit),

  maxLength: ofSizes(["at most", "character", "characters"], characters, atMost),
  minLength: ofSizes(["at least", "character", "characters"], characters, atLeast),
  pattern(operand, context) {
    const source = textOperand(operand, context);
    const pattern = context.pattern(source);
    return (value, run) =>
      typeof value !== "string" ||
      pattern.test(value, run.steps) ||
      run.fail(`must match the pattern ${brief(source)}`);
  },
  format(operand, context) {
    const format = textOperand(operand, context);
    if (!Object.hasOwn(context.formats, format)) return undefined;
    const hasFormat = context.formats[format]!;
    return (value, run) => {
      if (typeof value !== "string") return true;
      run.steps.take(Math.min(value.length, limits.formatCharacters));
      return hasFormat(value) || run.fail(`must have the format ${format}`);
    };
  },

  maxItems: ofSizes(["at most", "item", "items"], items, atMost),
  minItems: ofSizes(["at least", "item", "items"], items, atLeast),
  uniqueItems(operand, { fail }) {
    if (typeof operand !== "boolean") return fail("must be a boolean");
    if (!operand) return undefined;
    return (value, run) => {
      const equal = Array.isArray(value) ? equalItems(value, run.steps) : undefined;
      if (equal === undefined) return true;
      return run.fail(`must not have equal items: ${equal.first} and ${equal.second} are equal`);
    };
  },
  maxProperties: ofSizes(["at most", "member", "members"], members, atMost),
  minProperties: ofSizes(["at least", "member", "members"], members, atLeast),
  required: (operand, context) => requires(operand, context),
  dependentRequired(operand, context) {
    const all = Object.entries(objectOperand(operand, context)).map(
      ([key, names]) => [key, requires(names, context, key)] as const,
    );
    return whereMembers(all);
  },
};
