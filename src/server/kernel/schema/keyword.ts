import { isObject, type Json } from "../core/model.ts";
import type { Pattern } from "./pattern.ts";
import type { SchemaResource, ReferenceTarget } from "./references.ts";
import type { Evaluate, Run } from "./run.ts";

/** Checks one keyword. `start` is the number of marks before the first keyword of this schema. */
export type Keyword = (value: unknown, run: Run, start: number) => boolean;

/** Returns true if a text has a format. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

/** The context of a keyword while its schema is compiled. */
export interface KeywordContext {
  /** The keyword, and the schema that it is in. */
  name: string;
  schema: Json;
  /** Formats that values must have; all others are annotations. */
  formats: Formats;
  /** True if values were parsed from JSON: integers that may have lost digits there are rejected. */
  isInput: boolean;
  /** Throws a `SchemaError` that names the keyword. */
  fail(why: string): never;
  /** Makes the check of a schema at these keys, relative to the schema with the keyword. */
  evaluator(schema: unknown, ...keys: string[]): Evaluate;
  pattern(source: string): Pattern;
  /** The target of a reference, and the check of the schema there. */
  target(reference: string): ReferenceTarget & { evaluate: Evaluate };
  /** The checks of schemas with this `$dynamicAnchor`, by their resource. */
  dynamic(anchor: string): ReadonlyMap<SchemaResource, Evaluate>;
}

/** Makes the check of a keyword from its value; undefined if it asserts nothing. */
export type Maker = (operand: unknown, context: KeywordContext) => Keyword | undefined;

export function numberOperand(operand: unknown, { fail }: KeywordContext): number {
  return typeof operand === "number" ? operand : fail("must be a number");
}

export function countOperand(operand: unknown, { fail }: KeywordContext): number {
  return typeof operand === "number" && Number.isInteger(operand) && operand >= 0
    ? operand
    : fail("must be a whole number that is not negative");
}

export function textOperand(operand: unknown, { fail }: KeywordContext): string {
  return typeof operand === "string" ? operand : fail("must be a string");
}

export function textListOperand(operand: unknown, { fail }: KeywordContext): readonly string[] {
  const isList = Array.isArray(operand) && operand.every((one) => typeof one === "string");
  return isList ? operand : fail("must be an array of strings");
}

export function objectOperand(operand: unknown, { fail }: KeywordContext): Json {
  return isObject(operand) ? operand : fail("must be an object");
}

/** The checks of a list of schemas. */
export function evaluators(
  operand: unknown,
  { name, evaluator, fail }: KeywordContext,
): Evaluate[] {
  if (!Array.isArray(operand)) return fail("must be an array of schemas");
  return operand.map((one, at) => evaluator(one, name, String(at)));
}

/** The checks of a keyword's schemas, by name. */
export function namedEvaluators(keyword: string, context: KeywordContext): [string, Evaluate][] {
  const named = objectOperand(context.schema[keyword] ?? {}, context);
  return Object.entries(named).map(([key, schema]) => [
    key,
    context.evaluator(schema, keyword, key),
  ]);
}

/** Checks all items of a list, or up to the first failure if the run is quiet. */
export const every = <T>(all: readonly T[], run: Run, check: (one: T) => boolean): boolean =>
  everyFrom(0, all.length, run, (at) => check(all[at]!));

/** Checks the indexes from `start` to before `end`, or up to the first failure if the run is quiet. */
export function everyFrom(
  start: number,
  end: number,
  run: Run,
  check: (at: number) => boolean,
): boolean {
  let fits = true;
  for (let at = start; at < end; at++) {
    if (check(at)) continue;
    fits = false;
    if (run.isQuiet) break;
  }
  return fits;
}

/** Words as one text: `a, b or c`. */
export const list = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
