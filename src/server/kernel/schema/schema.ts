/** Compiles a JSON Schema, and checks values against it in bounded time. */
import { limits } from "../core/limits.ts";
import { CHECKED_BY_SERVLET, isObject, type Json } from "../core/model.ts";
import { APPLICATORS } from "./applicators.ts";
import { ASSERTIONS } from "./assertions.ts";
import type { KeywordContext, Keyword, Maker } from "./keyword.ts";
import { PatternError } from "./pattern-syntax.ts";
import { Pattern } from "./pattern.ts";
import { References, type SchemaResource } from "./references.ts";
import { brief, Run, type Evaluate, type Issue } from "./run.ts";
import { Steps } from "./steps.ts";

export type { Issue } from "./run.ts";
export { StepsExceeded } from "./steps.ts";

const KEYWORDS: readonly [string, Maker][] = Object.entries({ ...ASSERTIONS, ...APPLICATORS });

/** A compiled keyword. */
interface Ready {
  check: Keyword;
  /** True for `unevaluatedItems` and `unevaluatedProperties`, which come after all others. */
  isLate: boolean;
}

/** Thrown if a schema is invalid, or cannot be checked in linear time. The message names the keyword. */
export class SchemaError extends Error {
  /** True if the schema is valid, but not supported here. */
  readonly isUnsupported: boolean;

  constructor(message: string, isUnsupported = false) {
    super(message);
    this.isUnsupported = isUnsupported;
  }
}

/**
 * A compiled JSON Schema. A check takes time linear in the value, and at most `limits.checkSteps` steps. Accepts
 * 2020-12 and draft 7, and mixtures of their keywords. References are resolved within the schema; nothing is fetched.
 * https://json-schema.org/draft/2020-12/json-schema-validation
 *
 * Written by hand although Ajv and others exist: none bounds its steps, and Workers have no `eval`.
 */
export class Schema {
  readonly #evaluate: Evaluate;
  readonly #root: SchemaResource;
  readonly #options: Pick<KeywordContext, "formats" | "isInput">;
  readonly #references: References;
  readonly #evaluators = new Map<unknown, Evaluate>();
  /** Schemas whose keywords have not been read yet; not recursive, because schemas may be deep. */
  readonly #unread: (() => void)[] = [];
  /** True if a keyword depends on what other keywords have evaluated. */
  #isMarking = false;
  #patternSizes = 0;
  readonly #patterns = new Map<string, Pattern>();
  /** By `$dynamicAnchor`. */
  readonly #dynamics = new Map<string, Map<SchemaResource, Evaluate>>();

  /** Throws a `SchemaError`. The options are as in `KeywordContext`; by default there are no formats. */
  constructor(
    schema: unknown,
    { formats = {}, isInput = false }: Partial<Pick<KeywordContext, "formats" | "isInput">> = {},
  ) {
    this.#options = { formats, isInput };
    this.#references = new References(schema);
    this.#root = this.#references.root;
    this.#evaluate = this.#evaluator(schema, []);
    for (let read = this.#unread.pop(); read !== undefined; read = this.#unread.pop()) read();
  }

  /** States of all patterns in the schema. */
  get patternStates(): number {
    return this.#patternSizes;
  }

  /** The issues of a value; undefined if it is valid. Throws `StepsExceeded`. */
  issues(value: unknown, steps = new Steps(limits.checkSteps)): readonly Issue[] | undefined {
    const run = new Run(steps, this.#isMarking);
    run.scope.push(this.#root);
    return this.#evaluate(value, run) ? undefined : run.issues;
  }

  #evaluator(schema: unknown, place: readonly string[]): Evaluate {
    if (schema === true) return anything;
    if (schema === false) return nothing;
    const known = this.#evaluators.get(schema);
    if (known !== undefined) return known;
    if (!isObject(schema)) throw new SchemaError(`${named(place)} must be an object or a boolean`);
    if (schema[CHECKED_BY_SERVLET] === true) return anything;
    const keywords: Ready[] = [];
    const evaluate = evaluator(keywords, this.#references.homeOf(schema));
    this.#evaluators.set(schema, evaluate);
    this.#unread.push(() => this.#read(schema, place, keywords));
    return evaluate;
  }

  /** Fills in the keywords of a schema. */
  #read(schema: Json, place: readonly string[], keywords: Ready[]): void {
    const resource = this.#references.homeOf(schema);
    for (const [name, make] of KEYWORDS) {
      if (!Object.hasOwn(schema, name)) continue;
      const fail = (why: string, isUnsupported = false): never => {
        throw new SchemaError(`${named([...place, name])} ${why}`, isUnsupported);
      };
      const context: KeywordContext = {
        name,
        schema,
        ...this.#options,
        fail,
        evaluator: (inner, ...keys) => this.#evaluator(inner, [...place, ...keys]),
        pattern: (source) => this.#pattern(source, fail),
        target: (reference) => {
          const found =
            this.#references.resolve(reference, resource) ??
            fail(`leads to ${brief(reference)}, which is not in the schema; nothing is fetched`);
          return { ...found, evaluate: this.#evaluator(found.schema, [reference]) };
        },
        dynamic: (anchor) => this.#dynamic(anchor),
      };
      const check = make(schema[name], context);
      const isLate = name.startsWith("unevaluated");
      if (isLate) this.#isMarking = true;
      if (check !== undefined) keywords.push({ check, isLate });
    }
  }

  #dynamic(anchor: string): ReadonlyMap<SchemaResource, Evaluate> {
    let found = this.#dynamics.get(anchor);
    if (found === undefined) {
      found = new Map();
      this.#dynamics.set(anchor, found);
      for (const resource of this.#references.resources.values()) {
        const schema = resource.dynamicAnchors.get(anchor);
        if (schema !== undefined) found.set(resource, this.#evaluator(schema, [anchor]));
      }
    }
    return found;
  }

  #pattern(source: string, fail: (why: string, isUnsupported?: boolean) => never): Pattern {
    let pattern = this.#patterns.get(source);
    if (pattern !== undefined) return pattern;
    try {
      pattern = new Pattern(source);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      return fail(error.message, error.isUnsupported);
    }
    this.#patterns.set(source, pattern);
    this.#patternSizes += pattern.size;
    if (this.#patternSizes <= limits.patternSizes) return pattern;
    return fail(`is too much: all patterns need more than ${limits.patternSizes} states`, true);
  }
}

function anything(_value: unknown, { steps }: Run): boolean {
  steps.take(1);
  return true;
}

const nothing: Evaluate = (_value, run) => run.fail("is not allowed");

function evaluator(keywords: readonly Ready[], resource: SchemaResource): Evaluate {
  return (value, run) => {
    const { scope } = run;
    const isEntered = scope.at(-1) !== resource;
    if (isEntered) scope.push(resource);
    run.enter(1 + keywords.length);
    const start = run.marks.length;
    let fits = true;
    for (const { check, isLate } of keywords) {
      // Unevaluated parts are known only if all other keywords have passed.
      if ((isLate && !fits) || check(value, run, start)) continue;
      fits = false;
      if (run.isQuiet) break;
    }
    if (!fits) run.marks.length = start;
    run.leave();
    if (isEntered) scope.pop();
    return fits;
  };
}

const named = (place: readonly string[]): string =>
  place.length === 0 ? "the schema" : `\`${place.join(".")}\``;
